"""A hand-written loop around the Responses API of the OpenAI client, without telemetry. `--stream` takes the answers as streams."""

import json
import sys

from openai import OpenAI
from weather import get_weather

client = OpenAI(max_retries=0)
TOOLS = [{
    "type": "function", "name": "get_weather", "description": "The weather of a city.", "strict": False,
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}]


def ask(items, stream):
    """One model call: the response."""
    asked = {"model": "gpt-5-mini", "instructions": "Answer about weather.", "input": items, "tools": TOOLS}
    if not stream:
        return client.responses.create(**asked)
    with client.responses.stream(**asked) as events:
        for _ in events:
            pass
        return events.get_final_response()


def main():
    items = [{"role": "user", "content": sys.argv[1]}]
    while True:
        response = ask(items, "--stream" in sys.argv)
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return print(response.output_text)
        for call in calls:
            items.append({"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments})
        for call in calls:
            result = get_weather(**json.loads(call.arguments))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})


main()
