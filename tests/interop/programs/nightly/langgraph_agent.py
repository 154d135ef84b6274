from langchain.agents import create_agent
from langchain.tools import tool
from langchain_openai import ChatOpenAI

import asked

if asked.HAS_TELEMETRY:
    from openinference.instrumentation.langchain import LangChainInstrumentor
    LangChainInstrumentor().instrument(tracer_provider=asked.provider())


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return asked.weather(city)


def ask(question):
    model = ChatOpenAI(model="gpt-5-mini", streaming=asked.IS_STREAMED)
    agent = create_agent(model, [get_weather], system_prompt="Answer about weather.", name="weather")
    return agent.invoke({"messages": [("user", question)]})["messages"][-1].content

asked.answer(ask)
