"""Starts the viewer and asks it whatever docs/openapi.json allows and forbids, of the runs of a data directory.

    ask_everything.py --tracer PROGRAM --data-dir DIRECTORY --schemathesis PROGRAM [--examples N]

Ends with 0 when every answer is as described and no answer is an error of the server.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

DESCRIPTION = Path(__file__).parents[2] / "docs" / "openapi.json"
# Answers of this path go on until the reader leaves.
ENDLESS = "/api/stream"


def main() -> int:
    parser = argparse.ArgumentParser()
    for option in ("tracer", "data-dir", "schemathesis"):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("--examples", default="60")
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
        with tempfile.TemporaryDirectory() as folder:
            description = Path(folder) / "openapi.json"
            description.write_text(json.dumps(with_known_runs(base, token)))
            ended = ask(arguments, base, token, description)
        if viewer.poll() is not None:
            print("error: the viewer has ended", file=sys.stderr)
            return 1
        return ended
    finally:
        viewer.terminate()
        if viewer.wait(timeout=10) != 0:
            print("error: the viewer did not end well", file=sys.stderr)


def get(url: str, token: str) -> dict:
    request = urllib.request.Request(url, headers={"X-Tracer-Token": token})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def with_known_runs(base: str, token: str) -> dict:
    """The description with the runs and steps that there are: random IDs would only ever find nothing."""
    description = json.loads(DESCRIPTION.read_text())
    runs = [run["trace_id"] for run in get(f"{base}/api/runs", token)["runs"]]
    steps = set()
    for run in runs:
        rows = get(f"{base}/api/runs/{run}/rows", token)["rows"]
        steps.update(row["event_id"] for row in rows)
    if not steps:
        raise SystemExit("error: there are no steps to ask for")
    known = {"run": runs, "event": sorted(steps), "a": runs, "b": runs}
    for operations in description["paths"].values():
        for operation in operations.values():
            for parameter in operation["parameters"]:
                if parameter["name"] in known:
                    parameter["schema"] = {"type": "string", "enum": known[parameter["name"]]}
    return description


def ask(arguments: argparse.Namespace, base: str, token: str, description: Path) -> int:
    command = [
        arguments.schemathesis,
        "run",
        str(description),
        f"--url={base}",
        f"--header=X-Tracer-Token: {token}",
        f"--exclude-path={ENDLESS}",
        f"--max-examples={arguments.examples}",
        "--seed=1",
        "--suppress-health-check=all",
        "--request-timeout=20",
    ]
    # What it remembers between executions would make them differ.
    return subprocess.run(command, cwd=description.parent, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
