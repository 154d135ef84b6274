import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai import OpenAI

import asked

if asked.HAS_TELEMETRY:
    from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
    LlamaIndexInstrumentor().instrument(tracer_provider=asked.provider())


def get_weather(city: str) -> str:
    """The weather of a city."""
    return asked.weather(city)


async def ask(question):
    agent = FunctionAgent(name="weather", description="Weather.", system_prompt="Answer about weather.", tools=[get_weather],
                          llm=OpenAI(model="gpt-4o-mini", api_base=asked.os.environ["OPENAI_BASE_URL"]), streaming=asked.IS_STREAMED)
    return await agent.run(question)

asked.answer(lambda question: asyncio.run(ask(question)))
