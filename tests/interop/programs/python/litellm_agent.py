"""A hand-written loop around LiteLLM, which speaks the API of each vendor, without telemetry.

The first word of the question that names a vendor chooses the model. `--stream` takes the answers as streams."""

import json
import os
import sys

import litellm
from weather import get_weather

TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "The weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}}]
MODEL = os.environ.get("LITELLM_MODEL", "openai/gpt-5-mini")


def ask(messages, stream):
    """One model call: the message."""
    asked = {"model": MODEL, "messages": messages, "tools": TOOLS, "max_retries": 0}
    if not stream:
        return litellm.completion(**asked).choices[0].message
    chunks = list(litellm.completion(**asked, stream=True, stream_options={"include_usage": True}))
    return litellm.stream_chunk_builder(chunks).choices[0].message


def main():
    messages = [{"role": "system", "content": "Answer about weather."}, {"role": "user", "content": sys.argv[1]}]
    while True:
        message = ask(messages, "--stream" in sys.argv)
        if not message.tool_calls:
            return print(message.content)
        messages.append(message.model_dump())
        for call in message.tool_calls:
            result = get_weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


main()
