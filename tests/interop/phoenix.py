"""Push a run to Arize Phoenix, and check that it shows the messages and the tokens.

Not part of CI: Phoenix takes 1 GB and some minutes to install. One command, with Python 3.10 or later:

    python3 -m venv /tmp/phoenix && /tmp/phoenix/bin/pip install arize-phoenix==20.26.1 &&
        /tmp/phoenix/bin/python tests/interop/phoenix.py --tracer target/debug/tracer

Everything stays on the loopback device.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

PATIENCE_SECONDS = 180


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(url):
    with urllib.request.urlopen(url, timeout=30) as response:
        return json.loads(response.read())


def wait_for(what, ask):
    """The first answer that is something; a server that is not there yet has none."""
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        try:
            if answer := ask():
                return answer
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            pass
        time.sleep(0.5)
    sys.exit(f"error: {what}: not within {PATIENCE_SECONDS} s")


def start_phoenix(folder, port, grpc_port):
    environment = os.environ | {
        "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": str(port), "PHOENIX_GRPC_PORT": str(grpc_port),
        "PHOENIX_WORKING_DIR": str(folder), "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    log = open(folder / "phoenix.log", "wb")
    return subprocess.Popen([sys.executable, "-m", "phoenix.server.main", "serve"], stdin=subprocess.DEVNULL, stdout=log,
                            stderr=subprocess.STDOUT, env=environment, cwd=folder)


def check(spans):
    """What is wrong with the spans as Phoenix shows them."""
    wrong = []
    kinds = sorted(span["span_kind"] for span in spans)
    for kind in ("AGENT", "LLM", "TOOL"):
        if kind not in kinds:
            wrong.append(f"no span is shown as {kind}: {kinds}")
    for span in spans:
        attributes = span["attributes"]
        text = json.dumps(attributes)
        if span["span_kind"] == "LLM":
            if not attributes.get("llm.token_count.prompt") or not attributes.get("llm.token_count.completion"):
                wrong.append(f"{span['name']}: no tokens in {sorted(attributes)}")
            if "where is my refund" not in text:
                wrong.append(f"{span['name']}: no messages in {sorted(attributes)}")
        if span["span_kind"] == "TOOL" and span["name"] == "lookup_customer" and "Ada Lovelace" not in text:
            wrong.append(f"{span['name']}: no result in {sorted(attributes)}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tracer", required=True, type=Path, help="our executable")
    arguments = parser.parse_args()
    tracer = arguments.tracer.resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        os.environ["TRACER_DATA_DIR"] = str(folder / "data")
        subprocess.run([tracer, "demo"], check=True, capture_output=True, stdin=subprocess.DEVNULL)
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        phoenix = start_phoenix(folder, port, free_port())
        try:
            wait_for("Phoenix starts", lambda: get(f"{url}/v1/projects"))
            pushed = subprocess.run([tracer, "push", "--to", url], capture_output=True, text=True, check=True,
                                    stdin=subprocess.DEVNULL)
            print(pushed.stdout.strip())
            count = int(pushed.stdout.split(" spans")[0].split()[-1])
            asked = f"{url}/v1/projects/default/spans?limit=100"

            def all_spans():
                spans = get(asked)["data"]
                return spans if len(spans) >= count else None

            spans = wait_for("the spans are shown", all_spans)
        except (SystemExit, subprocess.CalledProcessError):
            print((folder / "phoenix.log").read_text(encoding="utf-8", errors="replace")[-3000:])
            raise
        finally:
            phoenix.terminate()
            phoenix.wait(timeout=60)
    wrong = check(spans)
    for span in spans:
        tokens = [span["attributes"].get(f"llm.token_count.{side}") for side in ("prompt", "completion")]
        print(f"{span['span_kind']:8}  {span['name']:16}  {'tokens ' + str(tokens) if any(tokens) else ''}".rstrip())
    for line in wrong:
        print(f"FAILED  {line}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
