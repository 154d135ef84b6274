"""Gate an agent that is written with the Python implementation: its runs land in the data directory of the trial.

Everything happens in a folder of its own, which is no repository.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

POLICY = """
version: 2
trials: 2
metrics:
  stop_condition_reached: {kind: invariant}
  forbidden_tools: {kind: invariant, none_of: [delete_account]}
  cost_tokens: {kind: measured, direction: upper, limit: 42}
"""


def gate(tracer, folder, arguments):
    environment = dict(os.environ, TRACER_DATA_DIR=str(folder / "data"))
    report = folder / "report.json"
    command = [tracer, "run", "--policy", "policy.yaml", "--json-out", str(report), "--", sys.executable, "agent.py", *arguments]
    ended = subprocess.run(command, cwd=folder / "workspace", env=environment, check=False)
    listed = subprocess.run([tracer, "list", "--trials", "--json"], env=environment, check=True, capture_output=True)
    return ended.returncode, json.loads(report.read_text()), json.loads(listed.stdout)["runs"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracer", required=True)
    tracer = str(pathlib.Path(parser.parse_args().tracer).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "workspace").mkdir()
        (folder / "workspace" / "policy.yaml").write_text(POLICY)
        shutil.copy(pathlib.Path(__file__).with_name("gate_agent.py"), folder / "workspace" / "agent.py")

        code, report, runs = gate(tracer, folder, [])
        assert (code, report["verdict"]) == (0, "pass"), report
        assert [trial["metrics"]["cost_tokens"] for trial in report["trials"]] == [42, 42], report
        marks = sorted((run["gate"]["id"], run["gate"]["trial"]) for run in runs)
        assert marks == [(report["gate"]["id"], 1), (report["gate"]["id"], 2)], runs

        code, report, runs = gate(tracer, folder, ["worse"])
        assert (code, report["verdict"]) == (1, "fail"), report
        failed = [row["name"] for row in report["checks"] if row["verdict"] == "fail"]
        assert failed == ["forbidden_tools"], report
        assert len(runs) == 3, "a gate that has failed makes no more trials"
    print("a Python agent is gated: its good runs pass, its bad one fails")


main()
