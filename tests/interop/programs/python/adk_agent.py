"""An agent with one tool, on Google's ADK, without a line of telemetry: ADK has its own, for OpenTelemetry's launcher."""

import asyncio
import sys

from google.adk.agents import Agent
from google.adk.runners import InMemoryRunner
from google.genai import types


def get_weather(city: str) -> dict:
    """The weather of a city."""
    if city == "Rome":
        raise RuntimeError("the weather service is down")
    return {"result": f"{city}: 7 C"}


async def main():
    agent = Agent(name="weather", model="gemini-3-flash", instruction="Answer about weather.", tools=[get_weather])
    runner = InMemoryRunner(agent=agent, app_name="weather")
    session = await runner.session_service.create_session(app_name="weather", user_id="someone")
    message = types.Content(role="user", parts=[types.Part(text=sys.argv[1])])
    async for event in runner.run_async(user_id="someone", session_id=session.id, new_message=message):
        if event.is_final_response() and event.content and event.content.parts:
            print(event.content.parts[0].text)


asyncio.run(main())
