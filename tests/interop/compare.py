"""Hold what we read against another implementation of the format: the Python package maida-ai.

Every run in the data directory, whichever of the two wrote it, must be valid for both, be shown by us, be listed by it as by
us, and be exported by it as by us, save for the differences that `INTENDED` names. Needs the standard library only; the other implementation is called as a program.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

# Where the two differ, and why that is meant.
INTENDED = """
namespace   It reads attributes under `maida.`, ours are under `tracer.`. So in a run that we wrote it sees a tool call or a captured error as
            UNKNOWN, the payload of RUN_START as nulls, errors without type and message, loop warnings without payload.
json        We store a prompt or response that is no string as JSON text and read it back; it hands out the text.
identity    Every record of ours has an event_id of its own, and what is surfaced from the root has it as its parent; its
            records from the root share the root's ID. It leaves the name of RUN_END empty (see namespace) and calls a
            surfaced error `exception`.
ties        Among records of the same instant, ours has RUN_START first and RUN_END last; its order is that of the file.
absent      A diff that was not computed is left out by us, and null in its export.
shape       Where the format has an object, a text or null, we put any other value into an object, `{"value": …}`; it hands
            out lists and numbers. The IDs of the evidence of a loop are a list with us, its JSON text with it.
""".strip()

# What it calls a record that we call so, where it does not call it the same (namespace).
OTHER_TYPES = {"TOOL_CALL": {"UNKNOWN"}, "ERROR": {"ERROR", "UNKNOWN"}}


class Mismatch(Exception):
    """The two implementations differ where they should not."""


def check(condition, what, ours=None, theirs=None):
    if not condition:
        raise Mismatch(f"{what}\n  ours:   {ours!r}\n  theirs: {theirs!r}")


def same(what, ours, theirs):
    check(ours == theirs, what, ours, theirs)


def call(program, *arguments):
    """Runs a program that must succeed; what it printed."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        command = " ".join([Path(program).name, *arguments])
        raise Mismatch(f"`{command}` ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def export(program, run_id, folder):
    """The run as this program exports it."""
    out = folder / f"{Path(program).name}-{run_id}.json"
    call(program, "export", run_id, "--out", str(out))
    return json.loads(out.read_text(encoding="utf-8"))


def in_our_order(events):
    """Their records with ties broken as ours (ties). Their times are all of one form: text sorts as time does."""
    rank = {"RUN_START": 0, "RUN_END": 2}
    return sorted(events, key=lambda event: (event["ts"], rank.get(event["event_type"], 1)))


def compare_events(ours, theirs, they_wrote):
    same("number of events", len(ours), len(theirs))
    for index, (our, their) in enumerate(zip(ours, in_our_order(theirs))):
        where = f"event {index}, {our['event_type']}"
        same(f"{where}: keys", sorted(our), sorted(their))
        allowed = {our["event_type"]} if they_wrote else OTHER_TYPES.get(our["event_type"], {our["event_type"]})
        check(their["event_type"] in allowed, f"{where}: event_type", our["event_type"], their["event_type"])
        for key in ("spec_version", "run_id", "ts"):
            same(f"{where}: {key}", our[key], their[key])
        same(f"{where}: duration_ms", our["duration_ms"], their["duration_ms"])
        compare_identity(where, our, their)
        if they_wrote:
            compare_their_payload(where, our["payload"], their["payload"])
            same(f"{where}: meta", our["meta"], their["meta"])
        else:
            compare_payload(where, our["event_type"], our["payload"], their["payload"])


def compare_identity(where, our, their):
    """event_id, parent_id and name, save for what is surfaced from the root (identity)."""
    root, surfaced, _ = our["event_id"].partition(".")
    if surfaced:
        same(f"{where}: the root's ID", root, their["event_id"])
        return
    for key in ("event_id", "parent_id", "name"):
        same(f"{where}: {key}", our[key], their[key])


def compare_payload(where, event_type, our, their):
    if event_type == "LLM_CALL":
        same(f"{where}: payload keys", sorted(our), sorted(their))
        for key in ("model", "usage", "provider", "temperature", "stop_reason", "status"):
            same(f"{where}: {key}", our[key], their[key])
        for key in ("prompt", "response"):
            theirs = their[key]
            if isinstance(our[key], dict) and isinstance(theirs, str):  # json
                theirs = json.loads(theirs)
            same(f"{where}: {key}", our[key], theirs)
        same(f"{where}: whether there is an error", our["error"] is None, their["error"] is None)
    elif event_type == "STATE_UPDATE":
        same(f"{where}: state", our["state"], their["state"])
        same(f"{where}: diff", our.get("diff"), their.get("diff"))  # absent
    elif event_type == "RUN_END":
        same(f"{where}: payload", our, their)
    elif event_type == "RUN_START":
        same(f"{where}: payload keys", sorted(our), sorted(their))


def shaped(value):
    """A value as the format has it (shape)."""
    return value if value is None or isinstance(value, (dict, str)) else {"value": value}


def compare_their_payload(where, our, their):
    """The payload of a run that they wrote: nothing is hidden from either."""
    for key in sorted(set(our) | set(their)):
        theirs = their.get(key)
        if key in ("prompt", "response", "args", "result", "state", "diff"):
            theirs = shaped(theirs)
        elif key == "evidence_event_ids" and isinstance(theirs, str):
            theirs = json.loads(theirs)
        same(f"{where}: {key}", our.get(key), theirs)  # absent


def is_theirs(run_dir):
    """Whether they wrote the run: the attributes of its root are under their namespace."""
    spans = (run_dir / "spans.jsonl").read_text(encoding="utf-8").splitlines()
    return any(key.startswith("maida.") for span in spans for key in json.loads(span)["attributes"])


def compare_run(tracer, other, run_dir, exports):
    call(other, "validate-trace", str(run_dir))
    call(tracer, "validate-trace", str(run_dir))
    for command in (["show"], ["show", "--json"]):
        check(call(tracer, *command, run_dir.name).strip(), "nothing is shown")
    ours, theirs = (export(program, run_dir.name, exports) for program in (tracer, other))
    for envelope in (ours, theirs):
        same("keys of the export", sorted(envelope), ["events", "run", "spec_version"])
    same("spec_version", ours["spec_version"], theirs["spec_version"])
    same("run", ours["run"], theirs["run"])
    compare_events(ours["events"], theirs["events"], is_theirs(run_dir))
    return ours


def compare_lists(tracer, other, run_ids):
    listed = [json.loads(call(program, "list", "--limit", "1000", "--json")) for program in (tracer, other)]
    ours, theirs = ({run["trace_id"]: run for run in envelope["runs"]} for envelope in listed)
    same("the runs that are listed", sorted(ours), sorted(run_ids))
    # Ours have their status in the words of the list beside the format's, their tokens, what they cost, and calls that failed or whose end
    # is not known; such keys are additive.
    for run in ours.values():
        check(run.pop("run_status"), "a run without its status")
        check(run.pop("cost"), "a run without its cost")
        run.pop("tokens", None)
        for additive in ("failed_calls", "unknown_calls", "waiting"):
            run.pop(additive, None)
    same("the listed runs", ours, theirs)
    same("the order of the list", list(ours), list(theirs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, epilog=f"Intended differences:\n{INTENDED}",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tracer", required=True, help="our executable")
    parser.add_argument("--other", required=True, help="the other implementation's executable")
    parser.add_argument("--data-dir", required=True, type=Path, help="the runs to compare")
    arguments = parser.parse_args()

    # Both find the runs in the same place.
    os.environ["TRACER_DATA_DIR"] = os.environ["MAIDA_DATA_DIR"] = str(arguments.data_dir)
    run_dirs = sorted((arguments.data_dir / "runs").iterdir())
    if not run_dirs:
        sys.exit("error: there are no runs to compare")
    exports = arguments.data_dir / "exports"
    exports.mkdir(exist_ok=True)

    failures = 0
    for run_dir in run_dirs:
        try:
            ours = compare_run(arguments.tracer, arguments.other, run_dir, exports)
            run = ours["run"]
            print(f"ok      {run_dir.name}  {run['status']:5}  {len(ours['events']):2} events  {run['run_name']}")
        except Mismatch as mismatch:
            failures += 1
            print(f"FAILED  {run_dir.name}  {mismatch}")
    try:
        compare_lists(arguments.tracer, arguments.other, [run_dir.name for run_dir in run_dirs])
        print(f"ok      both list the same {len(run_dirs)} runs")
    except Mismatch as mismatch:
        failures += 1
        print(f"FAILED  the lists  {mismatch}")
    print(f"Intended differences, not compared:\n{INTENDED}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
