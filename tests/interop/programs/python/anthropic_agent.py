"""A hand-written loop around the Anthropic client, without telemetry. `--stream` takes the answers as streams."""

import sys

from anthropic import Anthropic
from weather import get_weather

client = Anthropic(max_retries=0)
TOOLS = [{
    "name": "get_weather", "description": "The weather of a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}]


def ask(messages, stream):
    """One model call: the message."""
    asked = {"model": "claude-sonnet-5", "max_tokens": 500, "system": "Answer about weather.", "messages": messages, "tools": TOOLS}
    if not stream:
        return client.messages.create(**asked)
    with client.messages.stream(**asked) as events:
        for _ in events:
            pass
        return events.get_final_message()


def main():
    messages = [{"role": "user", "content": sys.argv[1]}]
    while True:
        message = ask(messages, "--stream" in sys.argv)
        messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in message.content]})
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return print("".join(block.text for block in message.content if block.type == "text"))
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": get_weather(**call.input)} for call in calls]
        messages.append({"role": "user", "content": results})


main()
