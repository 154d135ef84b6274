import os

import asked

if asked.HAS_TELEMETRY:
    asked.provider()
    os.environ["SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE"] = "true"

from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function


class Weather:
    @kernel_function
    def get_weather(self, city: str) -> str:
        """The weather of a city."""
        return asked.weather(city)


async def ask(question):
    agent = ChatCompletionAgent(service=OpenAIChatCompletion("gpt-5-mini"), name="weather", instructions="Answer about weather.",
                                plugins=[Weather()])
    if not asked.IS_STREAMED:
        return (await agent.get_response(question)).content
    return "".join([str(piece.content) async for piece in agent.invoke_stream(question)])

asked.answer(ask)
