"""Send our runs as `otlp-json` through a real OpenTelemetry collector, and check what comes out at its other end.

The collector is rotel: it takes OTLP/HTTP as JSON, and hands everything on as OTLP/HTTP in protobuf, which is read here with
OpenTelemetry's own classes. Every span must arrive with its IDs, times, status, events and attributes. Everything
stays on the loopback device.
"""

import argparse
import gzip
import json
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import rotel
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

PATIENCE_SECONDS = 30


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Sink(BaseHTTPRequestHandler):
    """The other end: keeps what the collector hands on."""

    def do_POST(self):  # the name is that of the standard library
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.arrived.put(ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Says nothing."""


def any_value(value):
    """A protobuf AnyValue as plain Python, with the name of its type."""
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    inner = getattr(value, kind)
    if kind == "array_value":
        return [kind, [any_value(item) for item in inner.values]]
    if kind == "kvlist_value":
        return [kind, {pair.key: any_value(pair.value) for pair in inner.values}]
    return [kind, inner]


def json_value(value):
    """The same of an AnyValue in our JSON."""
    if not value:
        return None
    ((kind, inner),) = value.items()
    names = {"stringValue": "string_value", "boolValue": "bool_value", "doubleValue": "double_value"}
    if kind == "intValue":
        return ["int_value", int(inner)]
    if kind == "arrayValue":
        return ["array_value", [json_value(item) for item in inner["values"]]]
    if kind == "kvlistValue":
        return ["kvlist_value", json_attributes(inner["values"])]
    return [names[kind], inner]


def attributes(pairs):
    return {pair.key: any_value(pair.value) for pair in pairs}


def json_attributes(pairs):
    return {pair["key"]: json_value(pair["value"]) for pair in pairs}


def arrived_spans(request):
    for resource in request.resource_spans:
        of_resource = attributes(resource.resource.attributes)
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield span.span_id.hex(), {
                    "resource": of_resource, "scope": scope.scope.name, "trace_id": span.trace_id.hex(),
                    "parent": span.parent_span_id.hex(), "name": span.name, "kind": span.kind,
                    "start": span.start_time_unix_nano, "end": span.end_time_unix_nano,
                    "status": [span.status.code, span.status.message], "attributes": attributes(span.attributes),
                    "events": [[e.time_unix_nano, e.name, attributes(e.attributes)] for e in span.events],
                }


def sent_spans(request):
    for resource in request["resourceSpans"]:
        of_resource = json_attributes(resource["resource"]["attributes"])
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                yield span["spanId"], {
                    "resource": of_resource, "scope": scope["scope"]["name"], "trace_id": span["traceId"],
                    "parent": span.get("parentSpanId", ""), "name": span["name"], "kind": span["kind"],
                    "start": int(span["startTimeUnixNano"]), "end": int(span["endTimeUnixNano"]),
                    "status": [span["status"]["code"], span["status"].get("message", "")],
                    "attributes": json_attributes(span["attributes"]),
                    "events": [[int(e["timeUnixNano"]), e["name"], json_attributes(e["attributes"])] for e in span["events"]],
                }


def start_collector(sink_port, folder):
    """Starts the collector; the process and where it listens."""
    agent = Path(rotel.__file__).parent / "rotel-agent"
    http_port, grpc_port = free_port(), free_port()
    log = open(folder / "rotel.log", "wb")
    # Settings of the person who runs this are not for it.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ROTEL_")}
    collector = subprocess.Popen(
        [agent, "start", "--otlp-http-endpoint", f"127.0.0.1:{http_port}", "--otlp-grpc-endpoint", f"127.0.0.1:{grpc_port}",
         "--exporter", "otlp", "--otlp-exporter-protocol", "http",
         "--otlp-exporter-endpoint", f"http://127.0.0.1:{sink_port}"],
        stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment, cwd=folder)
    return collector, f"http://127.0.0.1:{http_port}/v1/traces"


def post(url, body, collector):
    """Posts the request; a collector that has not begun to listen is waited for."""
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
                return json.loads(response.read() or b"{}")
        except urllib.error.HTTPError as error:
            sys.exit(f"error: the collector refuses the export: {error.code} {error.read().decode(errors='replace')}")
        except urllib.error.URLError:
            if collector.poll() is not None or time.monotonic() > until:
                sys.exit("error: the collector does not listen")
            time.sleep(0.1)


def check_run(tracer, run_id, url, collector, arrived):
    exported = subprocess.run([tracer, "export", run_id, "--format", "otlp-json", "--out", "-"],
                              capture_output=True, check=True, stdin=subprocess.DEVNULL).stdout
    sent = dict(sent_spans(json.loads(exported)))
    answer = post(url, exported, collector)
    if (answer.get("partialSuccess") or {}).get("rejectedSpans"):
        return [f"spans were rejected: {answer}"]
    received = {}
    until = time.monotonic() + PATIENCE_SECONDS
    while len(received) < len(sent) and time.monotonic() < until:
        try:
            received.update(arrived_spans(arrived.get(timeout=1)))
        except queue.Empty:
            continue
    wrong = [f"{len(sent)} spans were sent, {len(received)} arrived"] if len(sent) != len(received) else []
    for span_id, span in sent.items():
        for key, value in span.items():
            other = received.get(span_id, {}).get(key)
            if other != value:
                wrong.append(f"span {span_id}, {key}: sent {value!r}, arrived {other!r}")
    if not wrong:
        print(f"ok      {run_id}  {len(sent):2} spans, {sum(len(span['attributes']) for span in sent.values()):3} attributes")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracer", required=True, help="our executable")
    parser.add_argument("--data-dir", required=True, type=Path, help="the runs to send")
    arguments = parser.parse_args()
    os.environ["TRACER_DATA_DIR"] = str(arguments.data_dir)
    runs = sorted(path.name for path in (arguments.data_dir / "runs").iterdir())
    if not runs:
        sys.exit("error: there are no runs to send")

    sink = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    sink.arrived = queue.Queue()
    threading.Thread(target=sink.serve_forever, daemon=True).start()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        collector, url = start_collector(sink.server_port, Path(folder))
        try:
            for run_id in runs:
                wrong = check_run(arguments.tracer, run_id, url, collector, sink.arrived)
                failures += bool(wrong)
                for line in wrong:
                    print(f"FAILED  {run_id}  {line}")
        finally:
            collector.terminate()
            collector.wait(timeout=PATIENCE_SECONDS)
            sink.shutdown()
        if failures:
            print((Path(folder) / "rotel.log").read_text(encoding="utf-8", errors="replace"))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
