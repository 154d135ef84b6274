"""Public material that nobody here wrote: messages, telemetry and recorded calls of models, from checkouts that are never copied here.

    python3 tests/interop/conformance.py --tracer target/debug/tracer --genai GENAI --otel-tui TUI --rig RIG --cagent CAGENT --datadog AGENT --maida MAIDA

Each folder is a checkout, and each is optional: open-telemetry/semantic-conventions-genai (or a folder of its docs/gen-ai/non-normative), ymtdzzz/otel-tui,
0xPlaygrounds/rig, docker/cagent, DataDog/dd-apm-test-agent, maida-ai/maida. Valid messages must be understood and invalid ones survive; telemetry without an
agent is no run; recorded answers pass the proxy byte for byte, and what is recorded of them is what they say. Wants PyYAML.
"""

import argparse
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from pathlib import Path

import yaml

from cassettes import CONNECTION_HEADERS, read_cassettes
from read_answers import api_of, read_answer, tool_arguments

# The attribute of each schema of messages, and the operation of the span that has it.
ATTRIBUTES = {
    "gen-ai-input-messages.json": ("gen_ai.input.messages", "chat"),
    "gen-ai-output-messages.json": ("gen_ai.output.messages", "chat"),
    "gen-ai-system-instructions.json": ("gen_ai.system_instructions", "chat"),
    "gen-ai-tool-definitions.json": ("gen_ai.tool.definitions", "chat"),
    "gen-ai-tool-call-arguments.json": ("gen_ai.tool.call.arguments", "execute_tool"),
    "gen-ai-tool-call-result.json": ("gen_ai.tool.call.result", "execute_tool"),
    "gen-ai-retrieval-documents.json": ("gen_ai.retrieval.documents", "retrieval"),
    "gen-ai-memory-records.json": ("gen_ai.memory.records", "search_memory"),
}
# The sizes of the pieces that an answer is sent in: no frame ends where a piece does.
PIECES = (1, 5, 2, 13, 3, 8, 21, 997)
START = 1_754_656_800_000_000_000
AGENT, SPAN = "53995c3f42cd8ad8", "00f067aa0ba902b7"


class Tracer:
    """The command, on a data directory of its own."""

    def __init__(self, program, folder):
        self.program, self.data = str(Path(program).resolve()), folder
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "TRACER_"))}
        self.environment |= {"TRACER_DATA_DIR": str(folder), "HOME": str(folder.parent)}

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], env=self.environment, cwd=self.data.parent, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, f"tracer {arguments}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def import_file(self, path, *options):
        return json.loads(self.run("import", "--json", *options, path))

    def validate(self, run):
        result = json.loads(self.run("validate-trace", "--json", self.data / "runs" / run))
        assert result["valid"], f"run {run}: {result}"


class Viewer:
    """The page's API, which shows what tracer understands."""

    def __init__(self, tracer):
        self.tracer = tracer

    def __enter__(self):
        self.process = subprocess.Popen([self.tracer.program, "view", "--port", "0", "--no-browser", "--json"], env=self.tracer.environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        address = json.loads(self.process.stdout.readline())["url"]
        self.base = address.split("/r/")[0].rstrip("/")
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=30)

    def get(self, path):
        with urllib.request.urlopen(f"{self.base}/api/runs/{path}", timeout=60) as answer:
            return json.load(answer)


def any_value(value):
    """A value as OTLP's JSON has it."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": key_values(value)}}
    return {"stringValue": value} if value is not None else {}


def key_values(attributes):
    return [{"key": key, "value": any_value(value)} for key, value in attributes.items()]


def trace_id(*words):
    return sha256(" ".join(words).encode()).hexdigest()[:32]


# Messages of the GenAI conventions


class MessageCase:
    """A value of an attribute of the GenAI conventions, and whether its schema allows it."""

    def __init__(self, name, schema, document, valid):
        self.name, self.document, self.valid = name, document, valid
        self.attribute, self.operation = ATTRIBUTES[schema]

    def request(self, structured):
        """A span with it, in one of an agent: the attribute as structured values, or as JSON text."""
        value = self.document if structured else json.dumps(self.document)
        attributes = {"gen_ai.operation.name": self.operation, "gen_ai.provider.name": "openai", self.attribute: value}
        attributes |= {"gen_ai.tool.name": "get_weather"} if self.operation == "execute_tool" else {"gen_ai.request.model": "gpt-4"}
        times = {"startTimeUnixNano": str(START), "endTimeUnixNano": str(START + 1_000_000_000)}
        trace = {"traceId": trace_id(self.name, str(structured))}
        agent = {**trace, **times, "spanId": AGENT, "name": "invoke_agent", "attributes": key_values({"gen_ai.operation.name": "invoke_agent"})}
        span = {**trace, **times, "spanId": SPAN, "parentSpanId": AGENT, "name": f"{self.operation} x", "kind": 3, "attributes": key_values(attributes)}
        return {"resourceSpans": [{"scopeSpans": [{"spans": [agent, span]}]}]}


def message_cases(folder):
    """The cases of the conventions' own tests, and the examples of its pages, all of which are valid."""
    for path in sorted(folder.rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        if re.search(r"^schema: gen-ai-", text, re.MULTILINE):
            case = yaml.safe_load(text)
            assert case["schema"] in ATTRIBUTES, f"{path}: which attribute has {case['schema']}?"
            yield MessageCase(path.stem, case["schema"], case["document"], not case.get("errors"))
    schemas = {attribute: schema for schema, (attribute, _) in ATTRIBUTES.items()}
    schemas |= {"Multimodal inputs example": "gen-ai-input-messages.json", "Multimodal output example": "gen-ai-output-messages.json"}
    for path in sorted(folder.rglob("examples-llm-calls.md")):
        page = path.read_text(encoding="utf-8")
        blocks = re.findall(r'(?:<span id="[^"]*">`([\w.]+)` value</span>|### ([^\n]+))\n\n```jsonc?\n(.*?)```', page, re.DOTALL)
        for number, (attribute, heading, block) in enumerate(blocks):
            schema = schemas.get(attribute or heading)
            if schema:
                document = json.loads(re.sub(r"^\s*//.*$", "", block, flags=re.MULTILINE))
                yield MessageCase(f"{path.stem} {number}", schema, document, True)


def leaves(value):
    """All texts and numbers in a value, texts of JSON read."""
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def check_message_case(case, structured, viewer):
    run = trace_id(case.name, str(structured))
    what = f"{case.name}, {'structured' if structured else 'as text'}"
    stored = viewer.get(f"{run}/spans")
    span = next((span for span in stored["spans"] if span["span_id"] == SPAN), None)
    assert span is not None, f"{what}: the span is not there"
    value = span["attributes"].get(case.attribute)
    assert value is not None, f"{what}: {case.attribute} is not stored: {span}"
    assert value == case.document or json.loads(value) == case.document, f"{what}: stored {value!r}"
    record = next(event for event in stored["events"] if event["event_id"] == SPAN)
    kind = {"chat": "LLM_CALL", "execute_tool": "TOOL_CALL"}.get(case.operation, "UNKNOWN")
    assert record["event_type"] == kind, f"{what}: a {record['event_type']}"
    step = viewer.get(f"{run}/steps/{SPAN}")
    transcript = viewer.get(f"{run}/transcript")
    if not case.valid:
        return
    if kind == "TOOL_CALL":
        field = "args" if case.attribute.endswith("arguments") else "result"
        assert record["payload"][field] == case.document, f"{what}: {record['payload']}"
    elif case.attribute == "gen_ai.tool.definitions":
        offered = [tool["name"] for tool in step["llm"]["tools_offered"]]
        assert offered == [tool["name"] for tool in case.document], f"{what}: offers {offered}"
    elif kind == "LLM_CALL":
        shown = step["llm"]["response" if case.attribute == "gen_ai.output.messages" else "messages"]
        expected = case.document
        if case.attribute == "gen_ai.system_instructions":
            expected = [{"role": "system", "parts": expected}]
        check_messages(what, expected, shown)
        assert transcript["turns"], f"{what}: the transcript is empty"


SHOWN_AS = {"text": "text", "reasoning": "thinking", "redacted_thinking": "thinking", "tool_call": "call", "server_tool_call": "call",
            "tool_call_response": "result", "server_tool_call_response": "result", "blob": "media", "file": "media", "uri": "media"}


def check_messages(what, expected, shown):
    """Roles, texts, calls and results, each where it belongs."""
    roles = [message["role"] for message in shown]
    assert roles == [message["role"] for message in expected], f"{what}: roles {roles}"
    for message, got in zip(expected, shown):
        wanted, parts = message["parts"], got["parts"]
        assert len(parts) == len(wanted), f"{what}: {len(parts)} parts instead of {len(wanted)}: {parts}"
        for part, shown_part in zip(wanted, parts):
            # A part whose content was left out is shown as it is, and so is what no type fits.
            kind = SHOWN_AS.get(part["type"]) if len(part) > 1 and (part["type"] != "blob" or "content" in part) else None
            if kind is None:
                assert shown_part["value"] == part, f"{what}: {part} is shown as {shown_part}"
                continue
            assert shown_part["type"] == kind, f"{what}: {part['type']} is shown as {shown_part}"
            if part["type"] in ("text", "reasoning"):
                assert shown_part["text"] == part["content"], f"{what}: {shown_part}"
            if part["type"] == "tool_call":
                shown_call = (shown_part["name"], shown_part["value"])
                assert shown_call == (part["name"], part["arguments"]), f"{what}: {shown_part}"
            if part["type"] == "tool_call_response":
                assert part["response"] in (shown_part.get("value"), shown_part.get("text")), f"{what}: {shown_part}"
            if part["type"].startswith("server_tool_call"):
                inner = part.get(part["type"])
                missing = [leaf for key, value in inner.items() if key != "type" for leaf in leaves(value)
                           if json.dumps(leaf)[1:-1] not in json.dumps(shown_part)]
                assert not missing, f"{what}: {missing} is not shown: {shown_part}"


def check_genai(arguments, folder):
    """Each case twice: as structured values, and as JSON text."""
    tracer = Tracer(arguments.tracer, folder / "data")
    cases = list(message_cases(Path(arguments.genai)))
    assert cases, f"{arguments.genai}: no cases"
    for number, case in enumerate(cases):
        for structured in (True, False):
            path = folder / f"{number}-{structured}.json"
            path.write_text(json.dumps(case.request(structured)), encoding="utf-8")
            done = tracer.import_file(path, "--all-traces")
            assert done["runs"] == [trace_id(case.name, str(structured))], f"{case.name}: {done}"
            tracer.validate(done["runs"][0])
    wrong = []
    with Viewer(tracer) as viewer:
        for case in cases:
            for structured in (True, False):
                attempt(wrong, check_message_case, case, structured, viewer)
    valid = sum(case.valid for case in cases)
    print(f"GenAI messages: {valid} valid cases understood, {len(cases) - valid} invalid ones survive, each as values and as text; {len(wrong)} wrong")
    return wrong


def attempt(wrong, check, *arguments):
    """Notes what a check finds, so that all of it is known at once."""
    try:
        check(*arguments)
    except AssertionError as error:
        wrong.append(str(error))


# Telemetry


def records_of(tracer, run):
    return json.loads(tracer.run("export", run, "--out", "-"))["events"]


def check_otel_tui(arguments, folder):
    """A demo shop without an agent: no run by default, and with --all-traces runs without model calls and tools."""
    lines = Path(arguments.otel_tui) / "test_data.json"
    spans = Counter()
    for line in lines.read_text(encoding="utf-8").splitlines():
        for resource in json.loads(line).get("resourceSpans") or []:
            for scope in resource["scopeSpans"]:
                spans.update(span["traceId"] for span in scope["spans"])
    tracer = Tracer(arguments.tracer, folder / "data")
    done = tracer.import_file(lines)
    assert done["runs"] == [], f"otel-tui: {len(done['runs'])} runs of a shop without an agent"
    assert done["files"][0]["unreadable"] == 0, f"otel-tui: {done['files']}"
    everything = Tracer(arguments.tracer, folder / "everything")
    done = everything.import_file(lines, "--all-traces")
    assert set(spans) <= set(done["runs"]), f"otel-tui: {len(spans)} traces, {len(done['runs'])} runs"
    for run in done["runs"]:
        everything.validate(run)
        records = records_of(everything, run)
        kinds = {record["event_type"] for record in records}
        assert not kinds & {"LLM_CALL", "TOOL_CALL"}, f"otel-tui: {run} has {kinds}"
        stored = {record["event_id"] for record in records if record["event_type"] not in ("RUN_START", "RUN_END", "ERROR")}
        assert len(stored) >= spans[run] - 1, f"otel-tui: {run} has {len(stored)} of {spans[run]} spans"
    again = everything.import_file(lines, "--all-traces")
    assert (again["files"][0]["runs"], again["files"][0]["spans"]) == (0, 0), f"otel-tui: imported twice: {again['files']}"
    print(f"otel-tui: {sum(spans.values())} spans in {len(spans)} traces: no run; with --all-traces {len(done['runs'])} valid ones, no model call, no tool call")
    return []


def maida_request(folder):
    """maida keeps telemetry decoded; this is what was decoded."""
    spans, logs = [], []
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            resource = {"attributes": key_values((entry.get("resource") or {}).get("attributes") or {"service.name": "claude-code"})}
            scope = {"name": (entry.get("scope") or {}).get("name") or ""}
            if "span" in entry:
                span = entry["span"]
                code = {"UNSET": 0, "OK": 1, "ERROR": 2}[span["status_code"]]
                spans.append({"resource": resource, "scopeSpans": [{"scope": scope, "spans": [{
                    "traceId": span["trace_id"], "spanId": span["span_id"], "parentSpanId": span["parent_span_id"] or "", "name": span["name"],
                    "kind": span["kind"], "startTimeUnixNano": str(span.get("start_time_unix_nano", START)),
                    "endTimeUnixNano": str(span.get("end_time_unix_nano", START)), "attributes": key_values(span["attributes"]), "status": {"code": code}}]}]})
            else:
                record = entry["record"]
                logs.append({"resource": resource, "scopeLogs": [{"scope": scope, "logRecords": [{
                    "timeUnixNano": str(record["time_unix_nano"]), "eventName": record["event_name"], "body": any_value(record.get("body")),
                    "traceId": record["trace_id"], "spanId": record["span_id"], "attributes": key_values(record["attributes"])}]}]})
    requests = [{"resourceSpans": spans}] if spans else []
    return requests + ([{"resourceLogs": logs}] if logs else [])


def check_maida(arguments, folder):
    """Claude Code's telemetry, with and without spans: each call counts once."""
    root = Path(arguments.maida) / "tests" / "fixtures" / "traces" / "claude-code"
    fixtures = sorted(path.parent for path in root.rglob("manifest.json"))
    assert fixtures, f"{root}: no fixtures"
    for fixture in fixtures:
        requests = maida_request(fixture)
        path = folder / f"{fixture.name}.jsonl"
        path.write_text("".join(json.dumps(request) + "\n" for request in requests), encoding="utf-8")
        tracer = Tracer(arguments.tracer, folder / fixture.name)
        runs = tracer.import_file(path)["runs"]
        assert len(runs) == 1, f"maida {fixture.name}: {len(runs)} runs"
        tracer.validate(runs[0])
        records = records_of(tracer, runs[0])
        models = [record for record in records if record["event_type"] == "LLM_CALL"]
        tools = [record for record in records if record["event_type"] == "TOOL_CALL"]
        spans = [span["scopeSpans"][0]["spans"][0] for request in requests for span in request.get("resourceSpans") or []]
        events = [log["scopeLogs"][0]["logRecords"][0]["eventName"] for request in requests for log in request.get("resourceLogs") or []]
        names = [span["name"] for span in spans] or events
        asked = sum(name in ("claude_code.llm_request", "claude_code.api_request") for name in names)
        used = sum(name in ("claude_code.tool", "claude_code.tool_result") for name in names)
        assert (len(models), len(tools)) == (asked, used), f"maida {fixture.name}: {len(models)} model calls and {len(tools)} tools of {asked} and {used}"
        for record in models:
            prompt = record["payload"]["usage"]["prompt_tokens"]
            assert prompt is None or prompt >= 0, f"maida {fixture.name}: {record['payload']}"
    print(f"maida: {len(fixtures)} captures of Claude Code, each call once")
    return []


# Recorded calls of models


class StandIn(BaseHTTPRequestHandler):
    """Answers each request as its cassette does, in pieces."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        exchange = self.server.exchanges[int(self.headers["x-conformance"])]
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if (self.command, body) != (exchange.method, exchange.request):
            self.server.wrong.append(f"{exchange.path}: the request did not arrive as it was sent: {self.command} {body[:200]}")
        self.send_response(exchange.status)
        for name, value in exchange.headers.items():
            if name not in CONNECTION_HEADERS:
                self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        place = 0
        for size in cycle(PIECES):
            piece = exchange.response[place:place + size]
            if not piece:
                break
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            place += size
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = do_DELETE = do_PATCH = do_PUT = answer

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


class Proxy:
    """`tracer receive --models`, all of whose providers are the stand-in."""

    VARIABLES = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "OLLAMA_HOST", "MISTRAL_BASE_URL", "GROQ_BASE_URL",
                 "DEEPSEEK_BASE_URL", "XAI_BASE_URL", "OPENROUTER_BASE_URL", "CO_API_URL")

    def __init__(self, tracer, upstream):
        self.tracer = tracer
        self.environment = {name: value for name, value in tracer.environment.items() if not name.lower().endswith("_proxy")}
        self.environment |= {name: f"http://127.0.0.1:{upstream}" for name in self.VARIABLES}

    def __enter__(self):
        self.log = open(self.tracer.data.parent / "proxy.log", "w+", encoding="utf-8")
        self.process = subprocess.Popen([self.tracer.program, "receive", "--models", "--token", "conformance", "--idle", "1s"], env=self.environment,
                                        cwd=self.tracer.data.parent, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log)
        for _ in range(200):
            found = re.search(r"tracer receive: http://127\.0\.0\.1:(\d+)", Path(self.log.name).read_text(encoding="utf-8"))
            if found:
                self.port = int(found.group(1))
                return self
            time.sleep(0.05)
        sys.exit("error: tracer receive did not start")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=120)
        said = Path(self.log.name).read_text(encoding="utf-8")
        self.log.close()
        assert code == 0 and "panicked" not in said, f"tracer receive --models: exit code {code}\n{said[-2000:]}"
        self.said = said

    def send(self, exchange, number, run):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"content-type": "application/json", "x-conformance": str(number), "traceparent": f"00-{run}-{run[:16]}-01"}
        connection.request(exchange.method, f"/r/conformance/{exchange.segment}{exchange.path}", exchange.request, headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, answer.headers, body


def send_all(proxy, cassettes, numbers, wrong):
    """Each cassette is a run, by the trace that its client sends."""
    def send(cassette):
        for exchange in cassette.exchanges:
            status, headers, body = proxy.send(exchange, numbers[id(exchange)], trace_id(cassette.name))
            if (status, body) != (exchange.status, exchange.response):
                wrong.append(f"{cassette.name} {exchange.path}: status {status}, {len(body)} bytes instead of {exchange.status}, {len(exchange.response)}")
            if headers.get("content-type") != exchange.headers.get("content-type"):
                wrong.append(f"{cassette.name} {exchange.path}: content type {headers.get('content-type')}")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(send, cassettes))


def check_cassette(cassette, tracer, viewer, counted):
    run = trace_id(cassette.name)
    apis = {api_of(exchange.method, exchange.path.split("?")[0]) for exchange in cassette.exchanges}
    if apis == {None}:
        counted["passed on, no run: no API that the proxy reads in the whole session"] += len(cassette.exchanges)
        assert not (tracer.data / "runs" / run).exists(), f"{cassette.name}: a run without a model call"
        return []
    tracer.validate(run)
    stored = viewer.get(f"{run}/spans")
    spans = sorted((span for span in stored["spans"] if "server.address" in span["attributes"]), key=lambda span: span["start_time"])
    assert len(spans) == len(cassette.exchanges), f"{cassette.name}: {len(spans)} calls of {len(cassette.exchanges)}"
    records = {event["event_id"]: event for event in stored["events"]}
    said, after = {}, 0
    while after is not None:
        transcript = viewer.get(f"{run}/transcript?limit=200&after={after}" if after else f"{run}/transcript?limit=200")
        said |= {turn["event_id"]: turn for turn in transcript["turns"]}
        after = transcript["next"]
    found = []
    for span, exchange in zip(spans, cassette.exchanges):
        attempt(found, check_call, f"{cassette.name} {exchange.path}", exchange, span, records[span["span_id"]], said.get(span["span_id"]), counted)
    return found


def check_call(what, exchange, span, record, turn, counted):
    """What is recorded of a call is what its answer says."""
    api = api_of(exchange.method, exchange.path.split("?")[0])
    assert span["attributes"]["http.response.status_code"] == exchange.status, f"{what}: {span['attributes']}"
    if api is None:
        counted["passed on, recorded without content: no API that the proxy reads"] += 1
        assert record["event_type"] == ("UNKNOWN" if exchange.status < 400 else "ERROR"), f"{what}: a {record['event_type']}"
        return
    answer = read_answer(api, exchange.plain_response())
    failed = exchange.status >= 400 or answer.error or not answer.ended
    assert (span["status_code"] == "ERROR") == failed, f"{what}: {span['status_code']}, {span['status_description']}; error {answer.error}, ended {answer.ended}"
    attributes = span["attributes"]
    if api == "embeddings":
        counted["embeddings"] += 1
        assert record["event_type"] == ("ERROR" if failed else "UNKNOWN"), f"{what}: a {record['event_type']}"
        if not failed:
            assert attributes.get("gen_ai.usage.input_tokens") == answer.input_tokens, f"{what}: {attributes} instead of {answer.input_tokens}"
        return
    if "tracer.attempt_of" in attributes or (record["event_type"] == "UNKNOWN" and "same_call" in json.dumps(record["meta"])):
        counted["the same call again"] += 1
        return
    assert record["event_type"] == "LLM_CALL", f"{what}: a {record['event_type']}: {record['meta']}"
    payload = record["payload"]
    assert payload["status"] == ("error" if failed else "ok"), f"{what}: {payload['status']}"
    if failed:
        counted[f"failed calls, status {exchange.status}"] += 1
        assert payload["error"] and payload["error"].get("error_type"), f"{what}: {payload['error']}"
        if exchange.status >= 400:
            return
    else:
        counted[f"{api}, {'streamed' if answer.streamed else 'one document'}"] += 1
    asked = json.loads(exchange.request or b"null") or {}
    in_path = re.search(r"/models/([^:]+):", exchange.path)
    requested = asked.get("model") or (in_path.group(1) if in_path else None) or answer.model
    assert payload["model"] == requested, f"{what}: model {payload['model']} instead of {requested}"
    assert attributes.get("gen_ai.response.model") == (answer.model or None), f"{what}: {attributes.get('gen_ai.response.model')} instead of {answer.model}"
    usage = (payload["usage"]["prompt_tokens"], payload["usage"]["completion_tokens"])
    wanted = (answer.input_tokens, answer.output_tokens)
    assert usage == wanted, f"{what}: tokens {usage} instead of {wanted}, total {answer.total_tokens}"
    shares = (payload["usage"].get("cache_read_tokens"), payload["usage"].get("reasoning_tokens"))
    shares_wanted = (answer.cached_tokens, answer.reasoning_tokens)
    assert shares == shares_wanted, f"{what}: cached and reasoning tokens {shares} instead of {shares_wanted}"
    total, both = payload["usage"]["total_tokens"], sum(count or 0 for count in wanted)
    assert not answer.total_tokens or total == answer.total_tokens, f"{what}: total {total} instead of {answer.total_tokens}"
    pairs = [(answer.cached_tokens, wanted[0]), (answer.reasoning_tokens, wanted[1]), (both, answer.total_tokens)]
    contradictory = any(part is not None and whole is not None and part > whole for part, whole in pairs)
    assert ("usage_contradiction" in record["meta"]) == contradictory, f"{what}: {record['meta']}, {payload['usage']}"
    if contradictory:
        counted["marked: the provider's own tokens contradict each other"] += 1
    parts = [part for message in (turn or {"response": []})["response"] for part in message["parts"]]
    assert says([part for part in parts if part["type"] == "text"], answer.text), f"{what}: {parts} instead of the text {answer.text[:300]!r}"
    calls = [(part["name"], tool_arguments(part.get("value"))) for part in parts if part["type"] == "call"]
    missing = [call for call in answer.calls if call not in calls]
    assert not missing, f"{what}: calls {calls} without {missing}"


def says(parts, expected):
    """Whether texts are all of a text. The page shows a text of JSON as a value, and of a long one its ends."""
    rest = expected.strip()
    for part in parts:
        rest = rest.lstrip()
        if part.get("text") is None:
            value, end = json.JSONDecoder().raw_decode(rest)
            if value != part["value"]:
                return False
        else:
            head, tail = part["text"].strip(), (part.get("tail") or "").strip()
            end = max(len(head), rest.find(tail) + len(tail))
            if not rest.startswith(head) or not rest[:end].endswith(tail):
                return False
        rest = rest[end:]
    return not rest.strip()


def check_recorded_calls(arguments, folder):
    """Everything is sent through one proxy; then every run is compared with its cassette."""
    skipped, counted, wrong = Counter(), Counter(), []
    cassettes = [cassette for cassette in read_cassettes(arguments, skipped) if cassette.exchanges]
    exchanges = [exchange for cassette in cassettes for exchange in cassette.exchanges]
    assert exchanges, "no recorded calls"
    tracer = Tracer(arguments.tracer, folder / "data")
    server = Server(("127.0.0.1", 0), StandIn)
    server.exchanges, server.wrong = exchanges, wrong
    threading.Thread(target=server.serve_forever, daemon=True).start()
    numbers = {id(exchange): number for number, exchange in enumerate(exchanges)}
    proxy = Proxy(tracer, server.server_port)
    with proxy:
        send_all(proxy, cassettes, numbers, wrong)
    server.shutdown()
    summary = [line for line in proxy.said.splitlines() if line.startswith("recorded")]
    assert summary, f"tracer receive --models: no summary\n{proxy.said[-2000:]}"
    print(*summary, sep="\n")
    with Viewer(tracer) as viewer, ThreadPoolExecutor(2) as pool:
        def check(cassette):
            try:
                return check_cassette(cassette, tracer, viewer, counted)
            except (AssertionError, OSError) as error:
                return [str(error)]
        for found in pool.map(check, cassettes):
            wrong += found
    print(f"recorded calls: {len(exchanges)} in {len(cassettes)} cassettes; {len(wrong)} wrong")
    for reason, count in sorted(counted.items()):
        print(f"    {count:5} {reason}")
    for reason, count in sorted(skipped.items()):
        print(f"    {count:5} skipped: {reason}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tracer", required=True)
    for name in ("genai", "otel-tui", "rig", "cagent", "datadog", "maida"):
        parser.add_argument(f"--{name}", metavar="FOLDER")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the runs here")
    arguments = parser.parse_args()
    checks = [(check_genai, arguments.genai), (check_otel_tui, arguments.otel_tui), (check_maida, arguments.maida),
              (check_recorded_calls, arguments.rig or arguments.cagent or arguments.datadog)]
    if not any(wanted for _, wanted in checks):
        parser.error("name at least one folder")
    folder = Path(arguments.keep or tempfile.mkdtemp(prefix="tracer-conformance-"))
    wrong = []
    try:
        for check, wanted in checks:
            if wanted:
                work = folder / check.__name__
                work.mkdir(parents=True)
                wrong += check(arguments, work)
    finally:
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    for line in wrong:
        print(f"FAILED  {line}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
