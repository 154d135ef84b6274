"""An agent of LangChain, without telemetry. `--stream` takes the answers as streams."""

import sys

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from weather import get_weather


def main():
    model = ChatOpenAI(model="gpt-5-mini", max_retries=0, stream_usage=True, streaming="--stream" in sys.argv)
    agent = create_agent(model, tools=[get_weather], system_prompt="Answer about weather.")
    question = {"messages": [{"role": "user", "content": sys.argv[1]}]}
    if "--stream" not in sys.argv:
        return print(agent.invoke(question)["messages"][-1].content)
    for piece, _ in agent.stream(question, stream_mode="messages"):
        if piece.type == "AIMessageChunk" and isinstance(piece.content, str):
            print(piece.content, end="", flush=True)
    print()


main()
