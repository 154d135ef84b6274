from haystack import tracing
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.components.generators.utils import print_streaming_chunk
from haystack.dataclasses import ChatMessage
from haystack.tools import tool

import asked

if asked.HAS_TELEMETRY:
    try:
        from haystack_integrations.tracing.opentelemetry import OpenTelemetryTracer
    except ImportError:
        from haystack.tracing import OpenTelemetryTracer
    tracing.enable_tracing(OpenTelemetryTracer(asked.provider().get_tracer("agent")))
    tracing.tracer.is_content_tracing_enabled = True


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return asked.weather(city)


def ask(question):
    agent = Agent(chat_generator=OpenAIChatGenerator(model="gpt-5-mini"), tools=[get_weather], system_prompt="Answer about weather.",
                  streaming_callback=print_streaming_chunk if asked.IS_STREAMED else None)
    return agent.run(messages=[ChatMessage.from_user(question)])["messages"][-1].text

asked.answer(ask)
