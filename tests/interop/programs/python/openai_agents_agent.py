"""An agent with one tool, on the OpenAI Agents SDK, instrumented by OpenInference."""

import sys

from agents import Agent, Runner, function_tool
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

import telemetry

OpenAIAgentsInstrumentor().instrument(tracer_provider=telemetry.provider("weather-openai-agents"))


@function_tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    if city == "Rome":
        raise RuntimeError("the weather service is down")
    return f"{city}: 7 C"


agent = Agent(name="weather", instructions="Answer about weather.", model="gpt-5-mini", tools=[get_weather])
print(Runner.run_sync(agent, sys.argv[1]).final_output)
