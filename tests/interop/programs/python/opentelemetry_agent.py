"""A hand-written loop around the OpenAI client, with OpenTelemetry's own instrumentation of that client.

`--stream` takes the answers as streams.
"""

import json
import sys

from openai import OpenAI
from opentelemetry import trace
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

import telemetry

OpenAIInstrumentor().instrument(tracer_provider=telemetry.provider("weather-opentelemetry"))
client = OpenAI(max_retries=0)
TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "The weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}}]


def get_weather(city):
    if city == "Rome":
        raise RuntimeError("the weather service is down")
    return f"{city}: 7 C"


def ask(messages, stream):
    """One model call: the assistant's message as a plain object."""
    if not stream:
        answer = client.chat.completions.create(model="gpt-5-mini", messages=messages, tools=TOOLS)
        return answer.choices[0].message.model_dump(exclude_none=True)
    text, calls = "", {}
    events = client.chat.completions.create(
        model="gpt-5-mini", messages=messages, tools=TOOLS, stream=True, stream_options={"include_usage": True})
    for event in events:
        for choice in event.choices:
            text += choice.delta.content or ""
            for piece in choice.delta.tool_calls or []:
                call = calls.setdefault(piece.index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
                call["id"] += piece.id or ""
                call["function"]["name"] += piece.function.name or ""
                call["function"]["arguments"] += piece.function.arguments or ""
    message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = list(calls.values())
    return message


def main():
    stream = "--stream" in sys.argv
    messages = [{"role": "system", "content": "Answer about weather."}, {"role": "user", "content": sys.argv[1]}]
    with trace.get_tracer("weather").start_as_current_span("answer"):
        while True:
            message = ask(messages, stream)
            messages.append(message)
            if not message.get("tool_calls"):
                return print(message["content"])
            for call in message["tool_calls"]:
                result = get_weather(**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


main()
