from strands import Agent, tool
from strands.models.openai import OpenAIModel

import asked

if asked.HAS_TELEMETRY:
    asked.provider()


@tool
def get_weather(city: str) -> str:
    """The weather of a city.

    Args:
        city: The city.
    """
    return asked.weather(city)


def ask(question):
    model = OpenAIModel(client_args={"api_key": "local"}, model_id="gpt-5-mini")
    return Agent(name="weather", model=model, tools=[get_weather], system_prompt="Answer about weather.", callback_handler=None)(question)

asked.answer(ask)
