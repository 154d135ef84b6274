from agno.agent import Agent
from agno.models.openai import OpenAIChat

import asked

if asked.HAS_TELEMETRY:
    from openinference.instrumentation.agno import AgnoInstrumentor
    AgnoInstrumentor().instrument(tracer_provider=asked.provider())


def get_weather(city: str) -> str:
    """The weather of a city."""
    return asked.weather(city)


def ask(question):
    agent = Agent(name="weather", model=OpenAIChat(id="gpt-5-mini"), instructions="Answer about weather.", tools=[get_weather], telemetry=False)
    if not asked.IS_STREAMED:
        return agent.run(question).content
    return "".join(str(piece.content or "") for piece in agent.run(question, stream=True))

asked.answer(ask)
