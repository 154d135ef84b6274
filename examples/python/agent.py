"""An agent in Python that knows nothing of tracer: its standard library alone, a model, and a tool.

    OPENAI_API_KEY=... tracer record -- python3 agent.py "What do 3 parcels at 12.50 EUR cost?"
    tracer replay parcels.jsonl -- python3 agent.py "What do 3 parcels at 12.50 EUR cost?"
"""

import json
import os
import sys
import urllib.request

BASE_URL = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
MODEL = os.environ.get("OPENAI_MODEL", "gpt-5-mini")


def multiply(count, price):
    return f"{count * price:.2f}"


TOOLS = {"multiply": multiply}
DEFINITIONS = [
    {
        "type": "function",
        "function": {
            "name": "multiply",
            "parameters": {"type": "object", "properties": {"count": {"type": "number"}, "price": {"type": "number"}}},
        },
    }
]


def ask(messages):
    """One call of the model, by the API of chat completions."""
    body = json.dumps({"model": MODEL, "messages": messages, "tools": DEFINITIONS}).encode()
    headers = {"Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{BASE_URL}/chat/completions", body, headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]


def answer(question, max_turns=10):
    """The loop: ask the model, run the tools that it asks for, send their results back, until it answers."""
    messages = [{"role": "user", "content": question}]
    for _ in range(max_turns):
        message = ask(messages)
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        for call in message["tool_calls"]:
            function = call["function"]
            result = TOOLS[function["name"]](**json.loads(function["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    sys.exit("error: no answer")


print(answer(sys.argv[1]))
