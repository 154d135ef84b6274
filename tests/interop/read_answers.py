"""What the answer of a model API says, read independently of tracer: streamed or not, as the vendors document it.

Only what the conformance test compares: the text, the tools that are called, the model, the tokens, whether the answer came to its end.
"""

import json
from dataclasses import dataclass, field

# How the path of each API ends that the proxy reads; `docs/record-any-agent.md` names them.
PATHS = {
    "/chat/completions": "chat", "/completions": "completions", "/responses": "responses", "/embeddings": "embeddings",
    "/messages": "messages", ":generateContent": "gemini", ":streamGenerateContent": "gemini", "/api/chat": "ollama",
    "/api/generate": "ollama",
}


@dataclass
class Answer:
    """What was answered. Nothing where the answer does not say it."""

    text: str = ""
    calls: list = field(default_factory=list)
    model: str = None
    input_tokens: int = None
    output_tokens: int = None
    total_tokens: int = None
    cached_tokens: int = None
    reasoning_tokens: int = None
    error: bool = False
    # By the API's own sign; a document is whole.
    ended: bool = False
    streamed: bool = False


def api_of(method, path):
    """The API that a request calls, or nothing."""
    path = path.rstrip("/")
    found = [api for ending, api in PATHS.items() if path.endswith(ending)]
    return found[0] if method == "POST" and found else None


def values(body):
    """The JSON values of a body, whether it is a stream, and whether it said `[DONE]`."""
    text = body.decode("utf-8", errors="replace").removeprefix("\ufeff")
    try:
        document = json.loads(text)
        return (document, True, False) if isinstance(document, list) else ([document], False, False)
    except ValueError:
        pass
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not any(line.startswith("data:") for line in lines):
        return [parsed for parsed in map(parse, lines) if parsed is not None], True, False
    data, events = [], []
    for line in [*lines, ""]:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            events.append("\n".join(data))
            data = []
    done = any(event.strip() == "[DONE]" for event in events)
    return [parsed for parsed in map(parse, events) if parsed is not None], True, done


def parse(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def tool_arguments(value):
    """What a tool is given: JSON text as what it holds, nothing and an empty text as an empty object."""
    parsed = parse(value) if isinstance(value, str) else value
    return parsed if parsed is not None else value or {}


def read_answer(api, body):
    """What a body says."""
    chunks, streamed, done = values(body)
    answer = Answer(streamed=streamed, ended=not streamed or done)
    chunks = [chunk for chunk in chunks if isinstance(chunk, dict)]
    usage = READERS[api](answer, chunks)
    answer.cached_tokens, answer.reasoning_tokens = within(usage, CACHED), within(usage, REASONING)
    answer.error = answer.error or any(chunk.get("error") for chunk in chunks)
    return answer


def last(chunks, key):
    """The last chunk's value that says something."""
    found = [chunk[key] for chunk in chunks if chunk.get(key)]
    return found[-1] if found else None



# What every vendor calls two shares of the tokens, wherever it has them.
CACHED = ("cached_tokens", "cache_read_input_tokens", "cachedContentTokenCount", "prompt_cache_hit_tokens")
REASONING = ("reasoning_tokens", "thinking_tokens", "thoughtsTokenCount")


def within(usage, names):
    """The number with one of these names, at any depth."""
    found = [usage[name] for name in names if usage.get(name) is not None]
    found += [within(inner, names) for inner in usage.values() if isinstance(inner, dict)]
    return next((number for number in found if number is not None), None)


def read_choices(answer, chunks):
    streamed = answer.streamed
    texts, calls, finished = {}, {}, {}
    for chunk in chunks:
        for choice in chunk.get("choices") or []:
            number = choice.get("index") or 0
            finished[number] = finished.get(number) or choice.get("finish_reason")
            texts.setdefault(number, []).append(choice.get("text") or "")
            # Perplexity's documents have an empty `delta` beside the message, its streams both.
            message = (choice.get("delta") if streamed else choice.get("message")) or choice.get("message") or {}
            content = message.get("content") or ""
            if isinstance(content, list):
                content = "".join(part.get("text") or "" for part in content if part.get("type") == "text")
            texts[number].append(content)
            for place, call in enumerate(message.get("tool_calls") or []):
                index = call.get("index", place)
                known = [key for key in calls if key[:2] == (number, index)]
                fits = [key for key in known if not call.get("id") or calls[key]["id"] in (None, call["id"])]
                key = fits[-1] if fits else (number, index, len(known))
                state = calls.setdefault(key, {"id": None, "name": None, "arguments": ""})
                function = call.get("function") or call.get("custom") or {}
                state["id"] = call.get("id") or state["id"]
                state["name"] = function.get("name") or state["name"]
                given = function.get("arguments", function.get("input")) or ""
                state["arguments"] += given if isinstance(given, str) else json.dumps(given)
    answer.text = "".join("".join(texts[number]) for number in sorted(texts))
    answer.calls = [(calls[key]["name"], tool_arguments(calls[key]["arguments"])) for key in sorted(calls)]
    answer.model = last(chunks, "model")
    answer.ended = answer.ended or bool(finished) and all(finished.values())
    usage = last(chunks, "usage") or (last(chunks, "x_groq") or {}).get("usage") or {}
    answer.input_tokens, answer.output_tokens = usage.get("prompt_tokens"), usage.get("completion_tokens")
    answer.total_tokens = usage.get("total_tokens")
    return usage


def read_responses(answer, chunks):
    terminal = [chunk for chunk in chunks if chunk.get("type") in ("response.completed", "response.incomplete", "response.failed")]
    answer.error = any(chunk.get("type") == "error" for chunk in chunks)
    document = terminal[-1]["response"] if terminal else last(chunks, "response") or (chunks[-1] if chunks else {})
    items = document.get("output") or []
    # From the deltas where there are some: another way than taking the last event's word.
    deltas = [chunk.get("delta") or "" for chunk in chunks if chunk.get("type") == "response.output_text.delta"]
    parts = [part for item in items if item.get("type") == "message" for part in item.get("content") or []]
    answer.text = "".join(deltas) or "".join(part.get("text") or "" for part in parts)
    if not items:
        items = [chunk["item"] for chunk in chunks if chunk.get("type") == "response.output_item.done"]
    answer.calls = [(item.get("name"), tool_arguments(item.get("arguments"))) for item in items if item.get("type") == "function_call"]
    answer.error = answer.error or bool(document.get("error"))
    answer.ended = answer.ended or bool(terminal) or answer.error
    answer.model = document.get("model")
    usage = document.get("usage") or {}
    answer.input_tokens, answer.output_tokens = usage.get("input_tokens"), usage.get("output_tokens")
    answer.total_tokens = usage.get("total_tokens")
    return usage


def read_messages(answer, chunks):
    blocks, usage, document = {}, {}, {}
    for chunk in chunks:
        kind, block = chunk.get("type"), blocks.get(chunk.get("index"))
        if kind == "message":
            document = chunk
            blocks = dict(enumerate(chunk.get("content") or []))
            usage = chunk.get("usage") or {}
        elif kind == "message_start":
            document = chunk["message"]
            usage |= {key: value for key, value in (document.get("usage") or {}).items() if value is not None}
        elif kind == "content_block_start":
            blocks[chunk["index"]] = dict(chunk["content_block"])
        elif kind == "content_block_delta" and chunk["delta"].get("type") == "text_delta":
            block["text"] = (block.get("text") or "") + chunk["delta"]["text"]
        elif kind == "content_block_delta" and chunk["delta"].get("type") == "input_json_delta":
            block["partial"] = block.get("partial", "") + chunk["delta"]["partial_json"]
        elif kind == "message_delta":
            usage |= {key: value for key, value in (chunk.get("usage") or {}).items() if value is not None}
        elif kind in ("message_stop", "error"):
            answer.ended = True
    ordered = [blocks[index] for index in sorted(blocks)]
    answer.text = "".join(block.get("text") or "" for block in ordered if block.get("type") == "text")
    answer.calls = [(block["name"], tool_arguments(block.get("partial") or block.get("input")))
                    for block in ordered if block.get("type") in ("tool_use", "server_tool_use")]
    answer.model = document.get("model")
    if usage.get("input_tokens") is not None:
        # Anthropic counts what the cache gave and took beside the input.
        answer.input_tokens = sum(usage.get(key) or 0 for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"))
    answer.output_tokens = usage.get("output_tokens")
    return usage


def read_gemini(answer, chunks):
    chunks = [chunk.get("response", chunk) for chunk in chunks]
    parts, finished = {}, {}
    for chunk in chunks:
        for candidate in chunk.get("candidates") or []:
            number = candidate.get("index") or 0
            finished[number] = finished.get(number) or candidate.get("finishReason")
            parts.setdefault(number, []).extend((candidate.get("content") or {}).get("parts") or [])
    ordered = [part for number in sorted(parts) for part in parts[number]]
    answer.text = "".join(part.get("text") or "" for part in ordered if not part.get("thought"))
    answer.calls = [(part["functionCall"].get("name"), tool_arguments(part["functionCall"].get("args"))) for part in ordered if "functionCall" in part]
    answer.model = last(chunks, "modelVersion")
    blocked = any((chunk.get("promptFeedback") or {}).get("blockReason") for chunk in chunks)
    answer.ended = answer.ended or blocked or bool(finished) and all(finished.values())
    usage = last(chunks, "usageMetadata") or {}
    # Gemini counts thoughts beside the answer, and what its own tools read beside the prompt.
    if usage.get("promptTokenCount") is not None:
        answer.input_tokens = usage["promptTokenCount"] + (usage.get("toolUsePromptTokenCount") or 0)
    if usage.get("candidatesTokenCount") is not None or usage.get("thoughtsTokenCount") is not None:
        answer.output_tokens = (usage.get("candidatesTokenCount") or 0) + (usage.get("thoughtsTokenCount") or 0)
    answer.total_tokens = usage.get("totalTokenCount")
    return usage


def read_ollama(answer, chunks):
    messages = [chunk.get("message") or {} for chunk in chunks]
    answer.text = "".join((message.get("content") or "") + (chunk.get("response") or "") for message, chunk in zip(messages, chunks))
    answer.calls = [(call["function"]["name"], tool_arguments(call["function"].get("arguments")))
                    for message in messages for call in message.get("tool_calls") or []]
    answer.model = last(chunks, "model")
    answer.ended = answer.ended or any(chunk.get("done") for chunk in chunks)
    answer.input_tokens, answer.output_tokens = last(chunks, "prompt_eval_count"), last(chunks, "eval_count")
    return {}


READERS = {
    "chat": read_choices, "completions": read_choices, "embeddings": read_choices, "responses": read_responses, "messages": read_messages,
    "gemini": read_gemini, "ollama": read_ollama,
}
