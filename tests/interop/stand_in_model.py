"""A stand-in for the model vendors: the wire formats of OpenAI, Anthropic, Gemini and Ollama, deterministic and on loopback.

It plays one part: a weather assistant. Asked for the weather of a city, with tools on offer, it asks for the tool, once for
each city named; given the tool's result, it answers with it; without tools it answers at once. What it does is chosen by
words in the last message of the user, so that a program needs no other switch:

    "Oslo", "Paris"    which cities it asks the tool about (several cities: parallel calls)
    "run `echo 7`"     asks the shell tool of a coding agent to run that
    "fail 404"         that HTTP error instead of an answer; also 429, 500, 503
    "fail once 429"    that error for the first attempt of this conversation, then the answer
    "cached"           the usage reports cached and reasoning tokens

Agents that ask for tools in the words of their prompts are answered in these words: see `prompted_agents.py`.

The tokens are made from the number of the call, so that every call has its own: call 1 has 101 input and 11 output tokens,
call 2 has 102 and 12. Every request that was served is a line of the log (`--log FILE`), in the order of the answers:
what a test compares a recorded run with.

    python3 stand_in_model.py --port-file port --log served.jsonl
"""

import argparse
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import prompted_agents

CITIES = ["Oslo", "Paris", "Rome", "Bergen"]
WORDS_A_CHUNK = 2
# The shell tools of coding agents, and how each takes its command.
SHELLS = {
    "Bash": lambda command: {"command": command, "description": "Run a command"},
    "run_shell_command": lambda command: {"command": command},
    "exec_command": lambda command: {"cmd": command},
    "shell_command": lambda command: {"command": command},
    "shell": lambda command: {"command": ["bash", "-c", command]},
}
ERRORS = {
    400: ("invalid_request_error", "the request is not valid"),
    404: ("not_found_error", "the model does not exist"),
    429: ("rate_limit_error", "too many requests"),
    500: ("api_error", "the server had an error"),
    503: ("overloaded_error", "the server is overloaded"),
}


class Plan:
    """What the stand-in will answer to one request, whatever the wire format."""

    def __init__(self, call, text=None, calls=(), usage=None, error=None, prompted=()):
        self.call = call
        self.text = text
        self.calls = list(calls)
        # Tools that the text asks for.
        self.prompted = list(prompted)
        self.usage = usage
        self.error = error


class Conversation:
    """A request as all formats have it: who spoke last, what the user asked, what tools returned."""

    def __init__(self, model, stream, tool_names):
        self.model = model
        self.stream = stream
        self.tool_names = tool_names
        self.instructions = ""
        self.question = ""
        self.results = []

    def user(self, text):
        """A message of the user: the results before it belong to earlier questions. smolagents sends results as one."""
        if text.startswith("Observation:"):
            self.results.append(text.partition(":")[2].removeprefix("\nExecution logs:").partition("Last output")[0].strip())
        elif text.strip():
            self.question = text
            self.results = []

    def result(self, text):
        """A tool's result; one that hands over to another agent has none to answer with."""
        if not text.startswith('{"assistant"'):
            self.results.append(text)


def text_of(content):
    """The text of a message's content: a string, or a list of parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return " ".join(part if isinstance(part, str) else str(part.get("text") or part.get("content") or "") for part in content)
    return json.dumps(content)


class StandIn:
    """The state that all requests share: the number of the next call, and the log."""

    def __init__(self, log):
        self.lock = threading.Lock()
        self.served = 0
        self.failed_once = set()
        self.log = log

    def plan(self, conversation):
        with self.lock:
            self.served += 1
            call = self.served
            once = re.search(r"fail once (\d{3})", conversation.question)
            always = re.search(r"fail (\d{3})", conversation.question)
            if once and conversation.question not in self.failed_once:
                self.failed_once.add(conversation.question)
                return Plan(call, error=int(once.group(1)))
        if always:
            return Plan(call, error=int(always.group(1)))
        usage = {"input": 100 + call, "output": 10 + call, "cached": 0, "reasoning": 0}
        if "cached" in conversation.question:
            usage.update(cached=64, reasoning=4)
        tool = next((name for name in conversation.tool_names if "weather" in name.lower()), None)
        cities = [city for city in CITIES if city in conversation.question]
        prompted = prompted_agents.answer(conversation.instructions, conversation.question, conversation.results, cities)
        if prompted:
            return Plan(call, text=prompted[0], prompted=prompted[1], usage=usage)
        if conversation.results and "final_answer" in conversation.tool_names:
            answer = {"answer": "It is: " + "; ".join(conversation.results)}
            return Plan(call, calls=[{"id": f"call_{call}_0", "name": "final_answer", "arguments": answer}], usage=usage)
        if conversation.results:
            return Plan(call, text="It is: " + "; ".join(conversation.results), usage=usage)
        shell = next((name for name in conversation.tool_names if name in SHELLS), None)
        command = re.search(r"run `([^`]+)`", conversation.question)
        if shell and command:
            return Plan(call, calls=[{"id": f"call_{call}_0", "name": shell, "arguments": SHELLS[shell](command.group(1))}], usage=usage)
        if tool and cities:
            # Hand-overs to another agent take no arguments.
            calls = [{"id": f"call_{call}_{index}", "name": tool, "arguments": {} if tool.startswith("transfer_to_") else {"city": city}}
                     for index, city in enumerate(cities)]
            return Plan(call, calls=calls, usage=usage)
        return Plan(call, text="Ask me about the weather of a city.", usage=usage)

    def write(self, line):
        with self.lock:
            if self.log:
                with open(self.log, "a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")


def chunks(text):
    """A text as a stream delivers it."""
    words = re.findall(r"\S+\s*", text)
    return ["".join(words[i:i + WORDS_A_CHUNK]) for i in range(0, len(words), WORDS_A_CHUNK)]


class OpenAiChat:
    """POST /v1/chat/completions."""

    api = "openai.chat"

    @staticmethod
    def read(body, _path):
        tools = [tool.get("function", {}).get("name", "") for tool in body.get("tools") or []]
        conversation = Conversation(body.get("model"), bool(body.get("stream")), tools)
        for message in body.get("messages", []):
            if message.get("role") == "user":
                conversation.user(text_of(message.get("content")))
            elif message.get("role") == "tool":
                conversation.result(text_of(message.get("content")))
            elif message.get("role") in ("system", "developer"):
                conversation.instructions += text_of(message.get("content"))
        return conversation

    @staticmethod
    def usage(plan):
        usage = plan.usage
        return {
            "prompt_tokens": usage["input"], "completion_tokens": usage["output"], "total_tokens": usage["input"] + usage["output"],
            "prompt_tokens_details": {"cached_tokens": usage["cached"], "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": usage["reasoning"], "audio_tokens": 0},
        }

    @staticmethod
    def calls(plan):
        return [{"id": call["id"], "type": "function",
                 "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])}} for call in plan.calls]

    @classmethod
    def whole(cls, plan, model):
        message = {"role": "assistant", "content": plan.text, "refusal": None}
        if plan.calls:
            message["tool_calls"] = cls.calls(plan)
        return {
            "id": f"chatcmpl-{plan.call}", "object": "chat.completion", "created": 1760000000, "model": f"{model}-2026-01-01",
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls" if plan.calls else "stop"}],
            "usage": cls.usage(plan), "service_tier": "default",
        }

    @classmethod
    def stream(cls, plan, model, body):
        head = {"id": f"chatcmpl-{plan.call}", "object": "chat.completion.chunk", "created": 1760000000, "model": f"{model}-2026-01-01"}
        with_usage = (body.get("stream_options") or {}).get("include_usage")

        def event(delta, finish=None):
            chunk = dict(head, choices=[{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}])
            if with_usage:
                chunk["usage"] = None
            return chunk

        yield None, event({"role": "assistant", "content": None if plan.calls else ""})
        for index, call in enumerate(cls.calls(plan)):
            arguments = call["function"]["arguments"]
            half = len(arguments) // 2
            first = {"name": call["function"]["name"], "arguments": ""}
            yield None, event({"tool_calls": [{"index": index, "id": call["id"], "type": "function", "function": first}]})
            for piece in (arguments[:half], arguments[half:]):
                yield None, event({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        for piece in chunks(plan.text or ""):
            yield None, event({"content": piece})
        yield None, event({}, "tool_calls" if plan.calls else "stop")
        if with_usage:
            yield None, dict(head, choices=[], usage=cls.usage(plan))
        yield None, "[DONE]"

    @staticmethod
    def error(code):
        kind, message = ERRORS[code]
        return {"error": {"message": message, "type": kind, "param": None, "code": kind}}


class OpenAiResponses:
    """POST /v1/responses."""

    api = "openai.responses"

    @staticmethod
    def read(body, _path):
        tools = [tool.get("name", "") for tool in body.get("tools") or []]
        conversation = Conversation(body.get("model"), bool(body.get("stream")), tools)
        sent = body.get("input")
        for item in [{"role": "user", "content": sent}] if isinstance(sent, str) else sent or []:
            if item.get("type") == "function_call_output":
                conversation.result(text_of(item.get("output")))
            elif item.get("role") == "user":
                conversation.user(text_of(item.get("content")))
        return conversation

    @staticmethod
    def items(plan):
        if plan.calls:
            return [{"type": "function_call", "id": f"fc_{call['id']}", "call_id": call["id"], "name": call["name"],
                     "arguments": json.dumps(call["arguments"]), "status": "completed"} for call in plan.calls]
        text = {"type": "output_text", "text": plan.text, "annotations": []}
        return [{"type": "message", "id": f"msg_{plan.call}", "role": "assistant", "status": "completed", "content": [text]}]

    @classmethod
    def whole(cls, plan, model, status="completed"):
        usage = plan.usage
        done = status == "completed"
        return {
            "id": f"resp_{plan.call}", "object": "response", "created_at": 1760000000, "status": status, "error": None,
            "incomplete_details": None, "instructions": None, "max_output_tokens": None, "metadata": {}, "model": f"{model}-2026-01-01",
            "output": cls.items(plan) if done else [], "parallel_tool_calls": True, "previous_response_id": None,
            "reasoning": {"effort": None, "summary": None}, "store": False, "temperature": 1.0, "text": {"format": {"type": "text"}},
            "tool_choice": "auto", "tools": [], "top_p": 1.0, "truncation": "disabled", "user": None,
            "usage": {
                "input_tokens": usage["input"],
                "input_tokens_details": {"cached_tokens": usage["cached"], "cache_write_tokens": 0},
                "output_tokens": usage["output"], "output_tokens_details": {"reasoning_tokens": usage["reasoning"]},
                "total_tokens": usage["input"] + usage["output"],
            } if done else None,
        }

    @classmethod
    def stream(cls, plan, model, _body):
        number = 0

        def event(kind, **fields):
            nonlocal number
            number += 1
            return kind, {"type": kind, "sequence_number": number - 1, **fields}

        begun = cls.whole(plan, model, "in_progress")
        yield event("response.created", response=begun)
        yield event("response.in_progress", response=begun)
        for index, item in enumerate(cls.items(plan)):
            if item["type"] == "function_call":
                yield event("response.output_item.added", output_index=index, item=dict(item, arguments="", status="in_progress"))
                arguments = item["arguments"]
                half = len(arguments) // 2
                for piece in (arguments[:half], arguments[half:]):
                    yield event("response.function_call_arguments.delta", item_id=item["id"], output_index=index, delta=piece)
                yield event("response.function_call_arguments.done", item_id=item["id"], output_index=index, name=item["name"], arguments=arguments)
            else:
                place = {"item_id": item["id"], "output_index": index, "content_index": 0}
                empty = {"type": "output_text", "text": "", "annotations": []}
                yield event("response.output_item.added", output_index=index, item=dict(item, content=[], status="in_progress"))
                yield event("response.content_part.added", **place, part=empty)
                for piece in chunks(plan.text):
                    yield event("response.output_text.delta", **place, delta=piece, logprobs=[])
                yield event("response.output_text.done", **place, text=plan.text, logprobs=[])
                yield event("response.content_part.done", **place, part=item["content"][0])
            yield event("response.output_item.done", output_index=index, item=item)
        yield event("response.completed", response=cls.whole(plan, model))

    error = staticmethod(OpenAiChat.error)


class AnthropicMessages:
    """POST /v1/messages."""

    api = "anthropic.messages"

    @staticmethod
    def read(body, _path):
        tools = [tool.get("name", "") for tool in body.get("tools") or []]
        conversation = Conversation(body.get("model"), bool(body.get("stream")), tools)
        for message in body.get("messages", []):
            if message.get("role") != "user":
                continue
            content = message.get("content")
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            conversation.user(" ".join(part.get("text", "") for part in parts if part.get("type") == "text"))
            for part in parts:
                if part.get("type") == "tool_result":
                    conversation.result(text_of(part.get("content")))
        return conversation

    @staticmethod
    def usage(plan):
        usage = plan.usage
        return {
            # This vendor counts cached tokens beside the input.
            "input_tokens": usage["input"] - usage["cached"], "cache_read_input_tokens": usage["cached"],
            "cache_creation_input_tokens": 0, "output_tokens": usage["output"], "service_tier": "standard",
        }

    @staticmethod
    def blocks(plan):
        if plan.calls:
            return [{"type": "tool_use", "id": "toolu_" + call["id"], "name": call["name"], "input": call["arguments"]} for call in plan.calls]
        return [{"type": "text", "text": plan.text}]

    @classmethod
    def whole(cls, plan, model):
        return {
            "id": f"msg_{plan.call}", "type": "message", "role": "assistant", "model": model, "content": cls.blocks(plan),
            "stop_reason": "tool_use" if plan.calls else "end_turn", "stop_sequence": None, "usage": cls.usage(plan),
        }

    @classmethod
    def stream(cls, plan, model, _body):
        whole = cls.whole(plan, model)
        usage = dict(whole["usage"], output_tokens=1)
        yield "message_start", {"type": "message_start", "message": dict(whole, content=[], stop_reason=None, usage=usage)}
        yield "ping", {"type": "ping"}
        for index, block in enumerate(whole["content"]):
            if block["type"] == "tool_use":
                yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": dict(block, input={})}
                arguments = json.dumps(block["input"])
                half = len(arguments) // 2
                for piece in ("", arguments[:half], arguments[half:]):
                    delta = {"type": "input_json_delta", "partial_json": piece}
                    yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
            else:
                yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}
                for piece in chunks(block["text"]):
                    delta = {"type": "text_delta", "text": piece}
                    yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
            yield "content_block_stop", {"type": "content_block_stop", "index": index}
        end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield "message_delta", {"type": "message_delta", "delta": end, "usage": {"output_tokens": whole["usage"]["output_tokens"]}}
        yield "message_stop", {"type": "message_stop"}

    @staticmethod
    def error(code):
        kind, message = ERRORS[code]
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


class Gemini:
    """POST /v1beta/models/MODEL:generateContent and :streamGenerateContent."""

    api = "gemini"

    @staticmethod
    def read(body, path):
        model = re.search(r"/models/([^:/]+):", path).group(1)
        declared = [declaration for tool in body.get("tools") or []
                    for declaration in tool.get("functionDeclarations") or tool.get("function_declarations") or []]
        conversation = Conversation(model, ":stream" in path, [declaration.get("name", "") for declaration in declared])
        for message in body.get("contents", []):
            if message.get("role") == "model":
                continue
            conversation.user(" ".join(part["text"] for part in message.get("parts", []) if part.get("text")))
            for part in message.get("parts", []):
                # Clients spell it both ways, as the API takes both.
                answer = part.get("functionResponse") or part.get("function_response")
                if answer:
                    response = answer.get("response", {})
                    conversation.result(text_of(response.get("result", response)))
        return conversation

    @staticmethod
    def whole(plan, model):
        usage = plan.usage
        parts = [{"functionCall": {"id": call["id"], "name": call["name"], "args": call["arguments"]}} for call in plan.calls]
        return {
            "candidates": [{"content": {"role": "model", "parts": parts or [{"text": plan.text}]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {
                # The output of this vendor leaves the thoughts out.
                "promptTokenCount": usage["input"], "candidatesTokenCount": usage["output"] - usage["reasoning"],
                "thoughtsTokenCount": usage["reasoning"], "cachedContentTokenCount": usage["cached"],
                "totalTokenCount": usage["input"] + usage["output"],
            },
            "modelVersion": f"{model}-001", "responseId": f"gemini-{plan.call}",
        }

    @classmethod
    def stream(cls, plan, model, _body):
        whole = cls.whole(plan, model)
        pieces = [None] if plan.calls else chunks(plan.text)
        for index, piece in enumerate(pieces):
            event = json.loads(json.dumps(whole))
            if piece is not None:
                event["candidates"][0]["content"]["parts"] = [{"text": piece}]
            if index + 1 < len(pieces):
                del event["candidates"][0]["finishReason"]
            yield None, event

    @staticmethod
    def error(code):
        kind, message = ERRORS[code]
        return {"error": {"code": code, "message": message, "status": kind.upper()}}


class OllamaChat:
    """POST /api/chat: streams lines of JSON unless `stream` is false."""

    api = "ollama.chat"

    @staticmethod
    def read(body, path):
        conversation = OpenAiChat.read(body, path)
        conversation.stream = body.get("stream", True)
        return conversation

    @staticmethod
    def line(plan, model, content, done):
        message = {"role": "assistant", "content": content}
        if plan.calls:
            message["tool_calls"] = [{"function": {"name": call["name"], "arguments": call["arguments"]}} for call in plan.calls]
        line = {"model": model, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": done}
        if done:
            line.update(done_reason="stop", total_duration=5_000_000, load_duration=1_000_000, prompt_eval_count=plan.usage["input"],
                        prompt_eval_duration=1_000_000, eval_count=plan.usage["output"], eval_duration=3_000_000)
        return line

    @classmethod
    def whole(cls, plan, model):
        return cls.line(plan, model, plan.text or "", True)

    @classmethod
    def stream(cls, plan, model, _body):
        for piece in chunks(plan.text or ""):
            yield None, cls.line(plan, model, piece, False)
        yield None, cls.line(plan, model, "", True)

    @staticmethod
    def error(code):
        return {"error": ERRORS[code][1]}


FORMATS = [
    (re.compile(r"/chat/completions$"), OpenAiChat),
    (re.compile(r"/responses$"), OpenAiResponses),
    (re.compile(r"/messages$"), AnthropicMessages),
    (re.compile(r"/models/[^/]+:(generateContent|streamGenerateContent)$"), Gemini),
    (re.compile(r"/api/chat$"), OllamaChat),
]


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):  # the name is that of the standard library
        path = urlsplit(self.path).path
        body = self.body()
        if path.endswith("/messages/count_tokens"):
            return self.reply(200, {"input_tokens": 100})
        spoken = next((spoken for pattern, spoken in FORMATS if pattern.search(path)), None)
        if spoken is None:
            return self.reply(404, OpenAiChat.error(404))
        conversation = spoken.read(body, path)
        plan = self.server.stand_in.plan(conversation)
        line = {"call": plan.call, "api": spoken.api, "model": conversation.model, "stream": conversation.stream,
                "question": conversation.question, "status": plan.error or 200, "text": plan.text,
                "tool_calls": [{"name": call["name"], "arguments": call["arguments"]} for call in plan.calls], "prompted": plan.prompted}
        if plan.usage and not plan.error:
            line.update(input_tokens=plan.usage["input"], output_tokens=plan.usage["output"])
        # Logged before the answer: whoever has the answer finds the line.
        self.server.stand_in.write(line)
        if plan.error:
            return self.reply(plan.error, spoken.error(plan.error), plan.call)
        # So that an order of calls in time is an order of their times.
        time.sleep(0.005)
        if not conversation.stream:
            return self.reply(200, spoken.whole(plan, conversation.model), plan.call)
        return self.stream(spoken.stream(plan, conversation.model, body), plan.call, as_lines=spoken is OllamaChat)

    def do_GET(self):  # the name is that of the standard library
        """The lists of models, which some programs ask for first."""
        self.reply(200, {"object": "list", "data": [], "models": []})

    def do_HEAD(self):  # the name is that of the standard library
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            pieces = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            raw = b"".join(pieces)
        else:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            return json.loads(raw or b"{}")
        except ValueError:
            return {}

    def name_request(self, call):
        """The ID of the request, under the names that vendors give it: clients report it."""
        for name in ("x-request-id", "request-id"):
            self.send_header(name, f"req_{call}")

    def reply(self, status, value, call=0):
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if status == 429:
            # As providers do; LangChain for JavaScript takes a 429 without it for capacity that is used up, and does not ask again.
            self.send_header("Retry-After", "1")
        self.name_request(call)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def stream(self, events, call, as_lines):
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson" if as_lines else "text/event-stream")
        self.name_request(call)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for name, value in events:
            text = value if isinstance(value, str) else json.dumps(value)
            if as_lines:
                raw = text + "\n"
            else:
                raw = (f"event: {name}\n" if name else "") + f"data: {text}\n\n"
            encoded = raw.encode()
            self.wfile.write(f"{len(encoded):x}\r\n".encode() + encoded + b"\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        """Prints nothing."""


def start(log=None, port=0):
    """Starts the stand-in in threads of this process; the server, whose `server_port` is its port."""
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    server.stand_in = StandIn(log)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0, help="the port to listen on; 0 takes a free one")
    parser.add_argument("--port-file", help="a file that receives the port once the server listens")
    parser.add_argument("--log", help="a file that receives a line of JSON for each model call")
    arguments = parser.parse_args()
    server = start(arguments.log, arguments.port)
    if arguments.port_file:
        with open(arguments.port_file, "w", encoding="utf-8") as file:
            file.write(str(server.server_port))
    print(f"stand-in model on http://127.0.0.1:{server.server_port}", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
