import asyncio

import dspy

import asked

if asked.HAS_TELEMETRY:
    from openinference.instrumentation.dspy import DSPyInstrumentor
    from openinference.instrumentation.litellm import LiteLLMInstrumentor
    provider = asked.provider()
    DSPyInstrumentor().instrument(tracer_provider=provider)
    LiteLLMInstrumentor().instrument(tracer_provider=provider)


def get_weather(city: str) -> str:
    """The weather of a city."""
    return asked.weather(city)


agent = dspy.ReAct("question -> answer", tools=[get_weather], max_iters=5)
dspy.configure(lm=dspy.LM("openai/gpt-5-mini", temperature=1.0, max_tokens=16000, cache=False))


async def ask(question):
    if not asked.IS_STREAMED:
        return (await agent.acall(question=question)).answer
    async for piece in dspy.streamify(agent, async_streaming=True)(question=question):
        if isinstance(piece, dspy.Prediction):
            return piece.answer

asked.answer(lambda question: asyncio.run(ask(question)))
