"""Starts the viewer and asks it what fits and what does not, of the runs of a data directory.

    ask_everything.py --tracer PROGRAM --data-dir DIRECTORY [--requests N]

Ends with 0 when no answer is an error of the server, and every refusal has its code and its message.
"""

import argparse
import json
import random
import re
import subprocess
import sys
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

# The paths of docs/the-viewer.md and their parameters. `/api/stream` ends only when its reader leaves.
PATHS = {
    "/api/runs": "limit cursor status q query",
    "/api/runs/{run}": "",
    "/api/runs/{run}/spans": "from limit",
    "/api/runs/{run}/paths": "",
    "/api/runs/{run}/overview": "",
    "/api/runs/{run}/columns": "limit since",
    "/api/runs/{run}/rows": "from limit",
    "/api/runs/{run}/steps": "row",
    "/api/runs/{run}/steps/{step}": "against",
    "/api/runs/{run}/steps/{step}/media/{part}": "",
    "/api/runs/{run}/steps/{step}/values/{part}": "",
    "/api/runs/{run}/transcript": "kind from limit",
    "/api/runs/{run}/search": "q after limit",
    "/api/table": "q status name since sort reverse group from limit",
    "/api/stats": "q by sort reverse trials from limit",
    "/api/diff": "a b baseline from limit",
    "/api/baselines": "",
}
PARTS = ["prompt", "response", "arguments", "result", "state", "difference", "attributes", "raw"]
WORDS = ["ok", "failed", "true", "thread", "name", "model", "tokens", "-started", "24h", "2026-11-01", "tool:a", "tokens>10k", "-name:*"]
ODD = ["", "0", "-1", "1.5", "9" * 25, "%", "\0", "../..", "a,b", '"', "*", "\u202e", "🦀", "x" * 1_000, "0" * 32, "f" * 32]


def main() -> int:
    parser = argparse.ArgumentParser()
    for option in ("tracer", "data-dir"):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("--requests", type=int, default=3_000)
    arguments = parser.parse_args()
    viewer = subprocess.Popen(
        [arguments.tracer, "--data-dir", arguments.data_dir, "view", "--no-browser", "--json", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        url = json.loads(viewer.stdout.readline())["url"]
        base, token = re.match(r"(http://[^/]+).*[?]token=(\w+)", url).groups()
        ask_everything(base, token, arguments.requests)
        return viewer.poll() or 0
    finally:
        viewer.terminate()
        if viewer.wait(timeout=10) != 0:
            print("error: the viewer did not end well", file=sys.stderr)


def ask_everything(base: str, token: str, requests: int) -> None:
    runs = [run["trace_id"] for run in ask(base, token, "/api/runs")[1]["runs"]]
    steps = [row["event_id"] for run in runs for row in ask(base, token, f"/api/runs/{run}/rows")[1]["rows"]]
    assert steps, "there are no steps to ask for"
    chance = random.Random(1)
    known = {"run": runs, "step": steps, "part": PARTS, "a": runs, "b": runs}
    numbers = [str(number) for number in range(5)]

    def value(name: str) -> str:
        return chance.choice(known.get(name, numbers + WORDS) if chance.random() < 0.8 else ODD)

    answered = 0
    for _ in range(requests):
        path, names = chance.choice(list(PATHS.items()))
        asked = re.sub(r"\{(\w+)\}", lambda name: quote(value(name[1]), safe=""), path)
        query = {name: value(name) for name in names.split() if chance.random() < 0.5}
        asked += f"?{urlencode(query)}" if query else ""
        status, answer = ask(base, token, asked)
        answered += status == 200
        refused = isinstance(answer, dict) and answer.get("error", {})
        assert status == 200 or status < 500 and refused["code"] and refused["message"], f"{asked}: {status} {answer}"
    print(f"{requests} requests, {answered} of them answered, the others refused")
    assert answered > requests / 4, "hardly anything was answered"


def ask(base: str, token: str, path: str) -> tuple[int, object]:
    try:
        with urlopen(Request(base + path, headers={"X-Tracer-Token": token}), timeout=20) as answer:
            is_json = answer.headers["Content-Type"].startswith("application/json")
            return answer.status, json.load(answer) if is_json else answer.read()
    except HTTPError as refusal:
        return refusal.code, json.load(refusal)


if __name__ == "__main__":
    sys.exit(main())
