"""An agent with one tool, on pydantic-ai with its own OpenTelemetry instrumentation."""

import sys

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel

import telemetry

telemetry.provider("weather-pydantic-ai")
Agent.instrument_all()
agent = Agent(OpenAIChatModel("gpt-5-mini"), name="weather", system_prompt="Answer about weather.", retries=0)


@agent.tool_plain
def get_weather(city: str) -> str:
    """The weather of a city."""
    if city == "Rome":
        raise RuntimeError("the weather service is down")
    return f"{city}: 7 C"


print(agent.run_sync(sys.argv[1]).output)
