"""An agent with one tool, on LangChain and LangGraph, instrumented by OpenInference."""

import sys

from langchain.agents import create_agent
from langchain.tools import tool
from langchain_openai import ChatOpenAI
from openinference.instrumentation.langchain import LangChainInstrumentor

import telemetry

LangChainInstrumentor().instrument(tracer_provider=telemetry.provider("weather-langgraph"))


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    if city == "Rome":
        raise RuntimeError("the weather service is down")
    return f"{city}: 7 C"


model = ChatOpenAI(model="gpt-5-mini", max_retries=0)
agent = create_agent(model, [get_weather], system_prompt="Answer about weather.", name="weather")
print(agent.invoke({"messages": [("user", sys.argv[1])]})["messages"][-1].content)
