import instructor
from pydantic import BaseModel

import asked

if asked.HAS_TELEMETRY:
    from openinference.instrumentation.instructor import InstructorInstrumentor
    from openinference.instrumentation.openai import OpenAIInstrumentor
    provider = asked.provider()
    InstructorInstrumentor().instrument(tracer_provider=provider)
    OpenAIInstrumentor().instrument(tracer_provider=provider)


class get_weather(BaseModel):
    """The place whose weather is asked for."""

    city: str


def ask(question):
    client = instructor.from_provider("openai/gpt-5-mini")
    asking = {"messages": [{"role": "user", "content": question}]}
    if not asked.IS_STREAMED:
        return asked.weather(client.create(response_model=get_weather, **asking).city)
    return [asked.weather(place.city) for place in client.create_iterable(response_model=get_weather, **asking)]

asked.answer(ask)
