import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient

import asked

if asked.HAS_TELEMETRY:
    asked.provider()


async def get_weather(city: str) -> str:
    """The weather of a city."""
    return asked.weather(city)


async def ask(question):
    model = OpenAIChatCompletionClient(model="gpt-4o-mini")
    agent = AssistantAgent("weather", model, tools=[get_weather], system_message="Answer about weather.", reflect_on_tool_use=True,
                           model_client_stream=asked.IS_STREAMED)
    return (await agent.run(task=question)).messages[-1].to_text()

asked.answer(lambda question: asyncio.run(ask(question)))
