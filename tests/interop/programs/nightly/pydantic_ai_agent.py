import asyncio

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel

import asked

if asked.HAS_TELEMETRY:
    asked.provider()
    Agent.instrument_all()


async def ask(question):
    agent = Agent(OpenAIChatModel("gpt-5-mini"), name="weather", system_prompt="Answer about weather.")

    @agent.tool_plain
    def get_weather(city: str) -> str:
        """The weather of a city."""
        return asked.weather(city)

    if not asked.IS_STREAMED:
        return (await agent.run(question)).output
    async with agent.run_stream(question) as run:
        return await run.get_output()

asked.answer(lambda question: asyncio.run(ask(question)))
