from smolagents import CodeAgent, OpenAIServerModel, tool

import asked

if asked.HAS_TELEMETRY:
    from openinference.instrumentation.smolagents import SmolagentsInstrumentor
    SmolagentsInstrumentor().instrument(tracer_provider=asked.provider())


@tool
def get_weather(city: str) -> str:
    """The weather of a city.

    Args:
        city: The city.
    """
    return asked.weather(city)


def ask(question):
    model = OpenAIServerModel("gpt-5-mini", api_base=asked.os.environ["OPENAI_BASE_URL"])
    agent = CodeAgent(tools=[get_weather], model=model, name="weather", max_steps=3, stream_outputs=asked.IS_STREAMED, verbosity_level=0)
    return agent.run(question)

asked.answer(ask)
