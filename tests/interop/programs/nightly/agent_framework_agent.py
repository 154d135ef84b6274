import asyncio

import agent_framework
from agent_framework import openai, observability

import asked

if asked.HAS_TELEMETRY:
    asked.provider()
    observability.enable_instrumentation(enable_sensitive_data=True)


def get_weather(city: str) -> str:
    """The weather of a city."""
    return asked.weather(city)


async def ask(question):
    agent = agent_framework.Agent(openai.OpenAIChatClient(model="gpt-5-mini"), "Answer about weather.", name="weather", tools=[get_weather])
    if not asked.IS_STREAMED:
        return (await agent.run(question)).text
    return "".join([piece.text or "" async for piece in agent.run(question, stream=True)])

asked.answer(lambda question: asyncio.run(ask(question)))
