"""An OTLP/HTTP endpoint that keeps what it is sent, as lines of OTLP JSON: one line for each request, in the order of arrival.

It is how the files in `tests/data/otlp` were made, and knows nothing of `tracer`. Protobuf becomes JSON as the OTLP
specification has it (hexadecimal IDs); what arrives as JSON is kept as it came. What could name a person or a machine is
replaced while it is written.
"""

import base64
import getpass
import gzip
import json
import re
import socket
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

MESSAGES = {"/v1/traces": ExportTraceServiceRequest, "/v1/logs": ExportLogsServiceRequest}
IDS = ("traceId", "spanId", "parentSpanId")
# Attributes of a resource that name what sent; all others may name a person or a machine.
RESOURCE_ATTRIBUTES = re.compile(r"service\.|telemetry\.|process\.(pid|runtime)")
LONG_CHARACTERS, LEAF_CHARACTERS = 3000, 200
PERSONAL = re.compile(r"(user|organization|host|installation)\.|terminal\.type|device\.id|os_|is_docker")


def hexadecimal(value):
    """IDs of protobuf's own JSON, base64, as OTLP's."""
    if isinstance(value, dict):
        return {key: base64.b64decode(inner).hex() if key in IDS else hexadecimal(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [hexadecimal(item) for item in value]
    return value


def shortened(text):
    """Long prompts and tool definitions of coding agents, cut at the leaves of their JSON, so that the files stay small."""
    if len(text) <= LONG_CHARACTERS:
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text[:LONG_CHARACTERS] + "…"

    def cut(value):
        if isinstance(value, dict):
            return {key: cut(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [cut(item) for item in value]
        return value[:LEAF_CHARACTERS] + "…" if isinstance(value, str) and len(value) > LEAF_CHARACTERS else value

    return json.dumps(cut(value), ensure_ascii=False)


class Scrubber:
    """Replaces the paths, the host and the user of this machine, and shortens what is long."""

    def __init__(self, replacements):
        texts = {str(Path.home()): "/home/user", socket.gethostname(): "host", **replacements}
        self.replacements = sorted(((old, new) for old, new in texts.items() if old), key=lambda pair: -len(pair[0]))
        if getpass.getuser() != "root":
            self.replacements.append((getpass.getuser(), "user"))

    def text(self, text):
        for old, new in self.replacements:
            text = text.replace(old, new)
        # A stack trace shows the inside of libraries: its last line says what failed.
        if "Traceback (most recent call last)" in text:
            text = "Traceback (most recent call last):\n  …\n" + text.rstrip().rsplit("\n", 1)[-1] + "\n"
        text = re.sub(r"(\n    at [^\n]*)+", "\n    …", text)
        return shortened(text)

    def value(self, value, key=None):
        if isinstance(value, dict):
            return {key: self.value(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            if key == "attributes":
                value = [pair for pair in value if not PERSONAL.match(pair.get("key", ""))]
            return [self.value(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def request(self, request):
        for resource in request.get("resourceSpans", []) + request.get("resourceLogs", []):
            described = resource.get("resource", {})
            described["attributes"] = [pair for pair in described.get("attributes", []) if RESOURCE_ATTRIBUTES.match(pair["key"])]
        return self.value(request)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):  # the name is that of the standard library
        raw = self.body()
        is_json = "json" in self.headers.get("Content-Type", "")
        message = MESSAGES.get(self.path)
        if message:
            request = json.loads(raw) if is_json else hexadecimal(MessageToDict(message.FromString(raw), use_integers_for_enums=True))
            with self.server.lock, open(self.server.file, "a", encoding="utf-8") as file:
                line = self.server.scrubber.request(request)
                file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
        answer = b"{}" if is_json else b""
        self.send_response(200)
        self.send_header("Content-Type", "application/json" if is_json else "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            raw = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        encoding = self.headers.get("Content-Encoding", "identity")
        if encoding == "gzip":
            return gzip.decompress(raw)
        return zlib.decompress(raw) if encoding == "deflate" else raw

    def log_message(self, *_):
        """Prints nothing."""


def start(file, replacements=None):
    """Starts the endpoint in threads of this process; the server, whose `server_port` is its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.file, server.lock, server.scrubber = file, threading.Lock(), Scrubber(replacements or {})
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
