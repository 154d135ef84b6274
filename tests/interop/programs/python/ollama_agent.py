"""A hand-written loop around Ollama's client, without telemetry. `--stream` takes the answers as streams."""

import sys

import ollama
from weather import get_weather

TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "The weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}}]


def ask(messages, stream):
    """One model call: the text, and the tools to call."""
    asked = {"model": "qwen3", "messages": messages, "tools": TOOLS}
    if not stream:
        message = ollama.chat(**asked).message
        return message.content or "", message.tool_calls or []
    text, calls = "", []
    for chunk in ollama.chat(**asked, stream=True):
        text += chunk.message.content or ""
        calls += chunk.message.tool_calls or []
    return text, calls


def main():
    messages = [{"role": "system", "content": "Answer about weather."}, {"role": "user", "content": sys.argv[1]}]
    while True:
        text, calls = ask(messages, "--stream" in sys.argv)
        if not calls:
            return print(text)
        asked = [{"function": {"name": call.function.name, "arguments": dict(call.function.arguments)}} for call in calls]
        messages.append({"role": "assistant", "content": text, "tool_calls": asked})
        for call in calls:
            messages.append({"role": "tool", "tool_name": call.function.name, "content": get_weather(**call.function.arguments)})


main()
