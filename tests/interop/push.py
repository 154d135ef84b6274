"""Push our runs to a real OpenTelemetry collector, as protobuf and as JSON, and check what comes out at its other end.

The collector is rotel, as in collector.py. Every span of every run must arrive as it is exported, under the service that
its run is named for; what was sent is not sent again.
"""

import argparse
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path

from collector import PATIENCE_SECONDS, Sink, arrived_spans, sent_spans, start_collector


def exported(tracer, run_id):
    """The spans of a run as they are exported, by ID."""
    command = [tracer, "export", run_id, "--format", "otlp-json", "--out", "-"]
    return dict(sent_spans(json.loads(subprocess.run(command, capture_output=True, check=True, stdin=subprocess.DEVNULL).stdout)))


def push(tracer, base_url, *options, protocol="http/protobuf"):
    """Pushes all runs; its output. A collector that has not begun to listen is waited for."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        done = subprocess.run([tracer, "push", "--all", "--to", base_url, *options],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env=os.environ | {"OTEL_EXPORTER_OTLP_PROTOCOL": protocol})
        if "failed to connect" not in done.stderr or time.monotonic() > until:
            return done
        time.sleep(0.1)


def arrived(sink, count):
    """What has arrived at the other end of the collector: the spans by ID, once that number is there."""
    spans = {}
    until = time.monotonic() + PATIENCE_SECONDS
    while len(spans) < count and time.monotonic() < until:
        try:
            spans.update(arrived_spans(sink.arrived.get(timeout=1)))
        except queue.Empty:
            continue
    return spans


def differences(wanted, found):
    """What did not arrive as it was exported."""
    wrong = [f"{len(wanted)} spans were exported, {len(found)} arrived"] if len(wanted) != len(found) else []
    for span_id, span in wanted.items():
        other = found.get(span_id, {})
        for key, value in span.items():
            arrived_value = other.get(key)
            if key == "resource":
                # A push adds what recorded the run.
                value = value | {"telemetry.sdk.name": ["string_value", "tracer"]}
                arrived_value = {name: text for name, text in (arrived_value or {}).items() if name in value}
            if arrived_value != value:
                wrong.append(f"span {span_id}, {key}: exported {value!r}, arrived {arrived_value!r}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracer", required=True, help="our executable")
    parser.add_argument("--data-dir", required=True, type=Path, help="the runs to send")
    arguments = parser.parse_args()
    os.environ["TRACER_DATA_DIR"] = str(arguments.data_dir)
    runs = sorted(path.name for path in (arguments.data_dir / "runs").iterdir())
    wanted = {}
    for run_id in runs:
        wanted |= exported(arguments.tracer, run_id)

    sink = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    sink.arrived = queue.Queue()
    threading.Thread(target=sink.serve_forever, daemon=True).start()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        collector, url = start_collector(sink.server_port, Path(folder))
        base_url = url.removesuffix("/v1/traces")
        try:
            for protocol in ("http/protobuf", "http/json"):
                done = push(arguments.tracer, base_url, "--again", protocol=protocol)
                wrong = differences(wanted, arrived(sink, len(wanted)))
                if done.returncode != 0:
                    wrong.append(f"exit code {done.returncode}: {done.stderr}")
                if not wrong:
                    print(f"ok      {protocol:13}  {done.stdout.strip()}")
                failures += [f"{protocol}  {line}" for line in wrong]
            again = push(arguments.tracer, base_url)
            if "nothing to send" not in again.stderr:
                failures.append(f"what was sent is sent again: {again.stdout}{again.stderr}")
        finally:
            collector.terminate()
            collector.wait(timeout=PATIENCE_SECONDS)
            sink.shutdown()
        for line in failures:
            print(f"FAILED  {line}")
        if failures:
            print((Path(folder) / "rotel.log").read_text(encoding="utf-8", errors="replace"))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
