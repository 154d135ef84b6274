"""A run through a real OpenTelemetry collector and back: `tracer push`, rotel, `tracer receive`.

rotel takes the pushed spans and sends them on, over HTTP and over gRPC, to our receiver, which makes a run of them in another data directory.
The records of both runs must agree: types, names, nesting, models, tokens, messages, tools with arguments and results.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import rotel
from collector import PATIENCE_SECONDS, free_port
from push import push


def records(tracer, data_dir, run_id):
    """The records of a run."""
    exported = subprocess.run([tracer, "--data-dir", data_dir, "export", run_id, "--format", "ndjson", "--out", "-"],
                              capture_output=True, check=True, stdin=subprocess.DEVNULL).stdout
    return [json.loads(line) for line in exported.splitlines()]


def essence(record):
    """What both runs must have alike."""
    payload = dict(record["payload"])
    if record["event_type"] == "RUN_START":
        # Of the process that recorded it; the receiver does not know it.
        payload = {}
    if record["event_type"] == "UNKNOWN":
        # What is received says which service and scope it came from.
        named = ("otel.scope.", "service.", "telemetry.")
        payload["attributes"] = {key: value for key, value in payload["attributes"].items() if not key.startswith(named)}
    return {"id": record["event_id"], "parent": record["parent_id"], "type": record["event_type"], "ts": record["ts"],
            "duration": record["duration_ms"], "name": record["name"], "payload": payload}


def start_receiver(tracer, data_dir):
    """Starts the receiver; the process, and its endpoints."""
    receiver = subprocess.Popen([tracer, "--data-dir", data_dir, "receive", "--json", "--port", "0"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    return receiver, json.loads(receiver.stdout.readline())


def start_collector(protocol, endpoint, folder):
    """Starts the collector; the process, and its base URL."""
    port = free_port()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ROTEL_")}
    collector = subprocess.Popen(
        [Path(rotel.__file__).parent / "rotel-agent", "start", "--otlp-http-endpoint", f"127.0.0.1:{port}",
         "--otlp-grpc-endpoint", f"127.0.0.1:{free_port()}", "--exporter", "otlp", "--otlp-exporter-protocol", protocol,
         "--otlp-exporter-endpoint", endpoint],
        stdin=subprocess.DEVNULL, stdout=open(folder / "rotel.log", "wb"), stderr=subprocess.STDOUT, env=environment, cwd=folder)
    return collector, f"http://127.0.0.1:{port}"


def relay(tracer, protocol, folder):
    """Sends the demo through the collector; what is wrong with what arrives."""
    origin, target = folder / "origin", folder / "target"
    subprocess.run([tracer, "--data-dir", origin, "demo"], capture_output=True, check=True, stdin=subprocess.DEVNULL)
    (run_id,) = [path.name for path in (origin / "runs").iterdir()]
    receiver, listening = start_receiver(tracer, target)
    collector, base_url = start_collector(protocol, listening[f"{protocol}_endpoint"] or listening["http_endpoint"], folder)
    try:
        os.environ["TRACER_DATA_DIR"] = str(origin)
        pushed = push(tracer, base_url)
        if pushed.returncode != 0:
            return [f"the push failed: {pushed.stderr}"]
        until = time.monotonic() + PATIENCE_SECONDS
        meta = target / "runs" / run_id / "meta.json"
        while time.monotonic() < until and not (meta.exists() and json.loads(meta.read_text())["status"] != "running"):
            time.sleep(0.1)
    finally:
        collector.terminate()
        collector.wait(timeout=PATIENCE_SECONDS)
        receiver.send_signal(signal.SIGINT)
        receiver.wait(timeout=PATIENCE_SECONDS)
    sent = [essence(record) for record in records(tracer, origin, run_id)]
    arrived = [essence(record) for record in records(tracer, target, run_id)]
    wrong = [f"{len(sent)} records were sent, {len(arrived)} arrived"] if len(sent) != len(arrived) else []
    for one, other in zip(sent, arrived):
        wrong += [f"{one['name']}, {key}: sent {one[key]!r}, arrived {other[key]!r}" for key in one if one[key] != other[key]]
    if not wrong:
        print(f"ok      {protocol}  {len(sent)} records")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracer", required=True, type=Path, help="our executable")
    arguments = parser.parse_args()
    failed = False
    for protocol in ("http", "grpc"):
        with tempfile.TemporaryDirectory() as folder:
            wrong = relay(arguments.tracer.resolve(), protocol, Path(folder))
            failed |= bool(wrong)
            for line in wrong:
                print(f"FAILED  {protocol}  {line}")
            if wrong:
                print((Path(folder) / "rotel.log").read_text(encoding="utf-8", errors="replace"))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
