from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool

import asked

if asked.HAS_TELEMETRY:
    from openinference.instrumentation.crewai import CrewAIInstrumentor
    from openinference.instrumentation.openai import OpenAIInstrumentor
    provider = asked.provider()
    CrewAIInstrumentor().instrument(tracer_provider=provider)
    OpenAIInstrumentor().instrument(tracer_provider=provider)


@tool("get_weather")
def get_weather(city: str) -> str:
    """The weather of a city."""
    return asked.weather(city)


def ask(question):
    model = LLM(model="openai/gpt-5-mini", stream=asked.IS_STREAMED)
    agent = Agent(role="weather", goal="Answer about weather.", backstory="Weather.", tools=[get_weather], llm=model)
    task = Task(description=question, expected_output="The weather.", agent=agent)
    return Crew(agents=[agent], tasks=[task]).kickoff().raw

asked.answer(ask)
