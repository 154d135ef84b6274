"""Hold the baselines and reports of our gate against those of the Python package maida-ai.

A baseline that it writes is read by us, and its reader reads ours; both tell the same of every run in the data directory,
save for the differences that `INTENDED` names. Reports of either gate become a baseline of the other. Needs the standard library
only and git; the other implementation is called as a program.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# Where the two differ, and why that is meant.
INTENDED = """
tokens      A model call that does not tell its tokens makes those of the run unknown with us, and costs nothing with it.
structure   Structural spans are no steps with us.
namespace   It reads attributes under `maida.`: of a run that we wrote it sees no tool calls, so only runs that it wrote are compared.
""".strip()

# A Python agent for its gate.
AGENT = """
import maida

with maida.traced_run(name="agent"):
    maida.record_tool_call("lookup", args={"order": 7})
    maida.record_llm_call("gpt-5", prompt="Where is it?", usage={"prompt_tokens": 12, "completion_tokens": 30, "total_tokens": 42})
    maida.record_tool_call("reply", args={"text": "On its way"})
"""

POLICY = """version: 2
trials: 2
metrics:
  no_loops: {kind: invariant}
  cost_tokens: {kind: measured, direction: upper, limit: 100}
"""


class Mismatch(Exception):
    """The two implementations differ where they should not."""


def check(condition, what, ours=None, theirs=None):
    if not condition:
        raise Mismatch(f"{what}\n  ours:   {ours!r}\n  theirs: {theirs!r}")


def call(program, *arguments, cwd=None):
    """Runs a program that must succeed; what it printed."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=cwd, check=False)
    if done.returncode != 0:
        command = " ".join([Path(program).name, *arguments])
        raise Mismatch(f"`{command}` ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def compare_baselines(ours, theirs):
    """Two baselines of one run: what both tell is the same."""
    structural = "UNKNOWN" in theirs["event_type_sequence"]
    for key in ("schema_version", "source_run_id", "source_run_ids", "source_run_name", "tool_path", "tool_call_sequence",
                "tool_call_counts", "llm_models_used", "event_type_sequence", "final_status"):
        check(ours[key] == theirs[key], key, ours[key], theirs[key])
    for key in ("trials", "signature_ids", "signature_counts", "signatures", "invariants"):
        check(ours["trial_sample"][key] == theirs["trial_sample"][key], f"trial_sample.{key}")
    for name, values in theirs["trial_sample"]["metrics"].items():
        known = ours["trial_sample"]["metrics"].get(name)
        if name == "cost_tokens" and known is None:
            continue
        if name == "step_count" and structural:
            continue
        check(known == values, f"trial_sample.metrics.{name}", known, values)
    # Theirs holds the whole records, which compare.py looks at.
    check(len(ours["guardrail_events"]) == len(theirs["guardrail_events"]), "guardrail_events")


def compare_run(args, run, folder):
    """Either tool reads what the other wrote of this run, and sees no other behaviour in it."""
    ours, theirs = folder / f"ours-{run}.json", folder / f"theirs-{run}.json"
    # Runs that failed are among them, hence the force.
    call(args.tracer, "baseline", run, "--out", str(ours), "--force")
    call(args.other, "baseline", run, "--out", str(theirs))
    compare_baselines(read(ours), read(theirs))

    compared = json.loads(call(args.tracer, "diff", run, "--baseline", str(theirs), "--format", "json"))
    changed = [pair for pair in compared["calls"] if pair["change"] != "same"]
    check(not changed, "calls that are the same", changed)
    check(compared["tools"] == {"added": [], "removed": [], "repeated": [], "is_reordered": False}, "tools", compared["tools"])

    call(args.other, "diff", run, "--baseline", str(ours))
    judged = json.loads(call(args.other, "assert", run, "--baseline", str(ours), "--no-new-tools", "--format", "json"))
    check(judged["passed"] is True, "its gate passes a run with our baseline of it", theirs=judged)


def exchange_reports(args, folder):
    """A report of either gate becomes a baseline of the other."""
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / "agent.py").write_text(AGENT, encoding="utf-8")
    (workspace / "policy.yaml").write_text(POLICY, encoding="utf-8")
    call("git", "init", "--quiet", cwd=workspace)
    call("git", "add", ".", cwd=workspace)
    call(args.other, "run", "agent.py", "--policy", "policy.yaml", "--json-out", "theirs.json", cwd=workspace)
    call(args.tracer, "baseline", "--from-report", "theirs.json", "--out", "from-theirs.json", cwd=workspace)
    call(args.tracer, "run", "--policy", "policy.yaml", "--baseline", "from-theirs.json", "--json-out", "ours.json", "--",
         args.python, "agent.py", cwd=workspace)
    call(args.other, "baseline", "--from-report", "ours.json", "--out", "from-ours.json", cwd=workspace)
    ours, theirs = read(workspace / "from-theirs.json"), read(workspace / "from-ours.json")
    for key in ("tool_call_sequence", "llm_models_used", "final_status"):
        check(ours[key] == theirs[key], key, ours[key], theirs[key])
    for name in ("step_count", "tool_call_count", "cost_tokens"):
        values = [baseline["trial_sample"]["metrics"][name] for baseline in (ours, theirs)]
        check(values[0] == values[1], f"trial_sample.metrics.{name}", *values)
    report = read(workspace / "ours.json")
    check(report["verdict"] == "pass", "our gate passes the agent with their baseline", report["verdict"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("tracer", "other", "python", "data-dir"):
        parser.add_argument(f"--{name}", required=True, type=os.path.abspath)
    args = parser.parse_args()
    os.environ["TRACER_DATA_DIR"] = os.environ["MAIDA_DATA_DIR"] = args.data_dir

    runs = json.loads(call(args.tracer, "list", "--all", "--json"))["runs"]
    python_runs = [run["trace_id"] for run in runs if (run["run_name"] or "").startswith("python: ")]
    check(len(python_runs) > 5, "runs that the other implementation wrote", python_runs)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for run in python_runs:
            try:
                compare_run(args, run, folder)
            except Mismatch as mismatch:
                sys.exit(f"error: run {run}: {mismatch}")
        try:
            exchange_reports(args, folder)
        except Mismatch as mismatch:
            sys.exit(f"error: {mismatch}")
    print(f"{len(python_runs)} baselines of either tool are read by the other, and so are reports; meant to differ:\n{INTENDED}")


if __name__ == "__main__":
    main()
