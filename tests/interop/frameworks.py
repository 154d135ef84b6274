"""Run real programs under `tracer record`, or with tracer's SDK in them, against the stand-in for the model, and check what was
recorded.

Each execution must leave one run that shows every model call that the stand-in served exactly once, no token twice, the
question, the answer, and the tools with their arguments and results; and the command must end as the program did. What went
through the proxy alone is replayed with the stand-in gone: see `replayed.py`.

    python3 frameworks.py --tracer target/debug/tracer                      the light ones, as CI does
    python3 frameworks.py --tracer target/debug/tracer google_adk codex     these programs
    python3 frameworks.py --tracer target/debug/tracer rust                 all of a kind: rust, python, javascript
    python3 frameworks.py --tracer target/debug/tracer --all                every program

Uses the standard library alone. What the programs need is installed into a cache directory (`TRACER_INTEROP_CACHE`).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import real_programs
import replayed
import stand_in_model

PATIENCE_SECONDS = 600
# Their instrumentation reports model calls only: tools run between them, unseen.
WITHOUT_TOOLS = {"plain", "openllmetry", "opentelemetry"}
# Codex logs no answers.
WITHOUT_ANSWERS = {"codex"}
# What the programs exit with, when the model or the tool fails: the framework's doing.
FAILING = {"failed-call", "failed-stream", "failed-tool"}
FAILED_CALLS = {"failed-call", "failed-stream"}
# These have a switch for messages that is off here, and nothing else that knows them: nothing of them is recorded.
WITHOUT_MESSAGES = {("genai", "tools")}


class Recorded:
    """One execution: how it ended, what was served, and what was recorded."""

    def __init__(self, tracer, program, scenario, folder, port=0):
        self.name = f"{program.name} {scenario}"
        self.program, self.scenario = program, scenario
        self.data, self.work = folder / "data", folder / "work"
        served, home, work = folder / "served.jsonl", folder / "home", self.work
        home.mkdir()
        work.mkdir()
        model = stand_in_model.start(served, port)
        environment = {**real_programs.clean_environment(), **real_programs.model_variables(model.server_port),
                       **program.variables(scenario, home), "TRACER_DATA_DIR": str(self.data)}
        self.environment = environment
        self.command = command = program.command(scenario, environment)
        started = time.monotonic()
        try:
            self.ended = self.execute(tracer, command)
        finally:
            self.seconds = time.monotonic() - started
            self.port = model.server_port
            model.shutdown()
            model.server_close()
        self.served = [json.loads(line) for line in served.read_text(encoding="utf-8").splitlines()] if served.exists() else []
        self.listed = json.loads(self.tracer(tracer, environment, "list", "--json"))["runs"]
        runs = [run["trace_id"] for run in self.listed]
        self.records = [record for run in runs
                        for record in json.loads(self.tracer(tracer, environment, "export", run, "--out", "-"))["events"]]
        self.shown = "".join(self.tracer(tracer, environment, "show", run) for run in runs)
        for run in runs:
            self.tracer(tracer, environment, "validate-trace", str(folder / "data" / "runs" / run))

    def execute(self, tracer, command):
        """Runs the program as it is recorded."""
        if self.program.recorded_with is not None:
            command = [tracer, "record", *self.program.recorded_with, "--", *command]
        return subprocess.run(command, env=self.environment, cwd=self.work, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)

    @staticmethod
    def tracer(tracer, environment, *arguments):
        return subprocess.run([tracer, *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=True).stdout

    def of_type(self, event_type):
        return [record for record in self.records if record["event_type"] == event_type]


def problems(recorded):
    """What is not as it happened, a line for each."""
    if len(recorded.listed) != 1:
        yield f"one command left {len(recorded.listed)} runs"
        return
    if not recorded.served:
        yield f"no model call was served; exit code {recorded.ended.returncode}\n{recorded.ended.stdout}\n{recorded.ended.stderr}"
        return
    if recorded.scenario not in FAILING and recorded.ended.returncode != 0:
        yield f"exit code {recorded.ended.returncode}: {recorded.ended.stderr}"
    yield from problems_of_models(recorded)
    if recorded.program.name not in WITHOUT_TOOLS:
        yield from problems_of_tools(recorded)
    yield from problems_of_tree(recorded)


def problems_of_models(recorded):
    calls = recorded.of_type("LLM_CALL")
    # Claude Code reports a call that it tries again and again as one; the proxy sees each attempt.
    if len(calls) != len(recorded.served):
        yield f"{len(recorded.served)} model calls were served, {len(calls)} recorded"
        return
    for call, served in zip(calls, recorded.served):
        payload = call["payload"]
        usage = payload["usage"]
        for key, other in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")):
            if usage.get(key) != served.get(other):
                yield f"call {served['call']}: {key} is {usage.get(key)}, served were {served.get(other)}"
        # Rig's exported span of a refused call says neither an error nor an answer: how it ended is not known.
        if served["status"] != 200 and call["meta"].get("outcome") == "unknown" and payload["response"] is None:
            continue
        if (payload["status"] == "ok") != (served["status"] == 200):
            yield f"call {served['call']}: status {payload['status']} for an answer {served['status']}"
        if served["status"] != 200:
            if not payload["error"]:
                yield f"call {served['call']}: no error for an answer {served['status']}"
            continue
        if not payload["model"].startswith(served["model"]):
            yield f"call {served['call']}: model {payload['model']} instead of {served['model']}"
        if (recorded.program.name, recorded.scenario) in WITHOUT_MESSAGES:
            if payload["prompt"] is not None or payload["response"] is not None:
                yield f"call {served['call']}: messages were recorded without the switch for them: {json.dumps(payload)[:300]}"
            continue
        if served["text"] and recorded.program.name not in WITHOUT_ANSWERS:
            if served["text"] not in "".join(texts(payload["response"])):
                yield f"call {served['call']}: the answer is {json.dumps(payload['response'])[:300]}"
        for asked in served["tool_calls"]:
            if recorded.program.kind != "coding_agent" and not contains(payload["response"], asked["name"]):
                yield f"call {served['call']}: the answer does not call {asked['name']}: {json.dumps(payload['response'])[:300]}"
    question = recorded.program.question(recorded.scenario)
    has_question = recorded.scenario not in FAILED_CALLS and (recorded.program.name, recorded.scenario) not in WITHOUT_MESSAGES
    if has_question and not contains([call["payload"]["prompt"] for call in calls], question):
        yield f"no prompt has the question: {json.dumps(calls[0]['payload']['prompt'])[:300]}"
    total = sum(call.get("input_tokens", 0) + call.get("output_tokens", 0) for call in recorded.served)
    if total and f"{total} tokens" not in recorded.shown:
        yield f"`tracer show` does not show {total} tokens:\n{recorded.shown}"


def problems_of_tools(recorded):
    tools = recorded.of_type("TOOL_CALL")
    asked = [call for served in recorded.served for call in served["tool_calls"]]
    if len(tools) != len(asked):
        yield f"{len(asked)} tools were asked for, {len(tools)} recorded: {[tool['payload']['tool_name'] for tool in tools]}"
        return
    if (recorded.program.name, recorded.scenario) in WITHOUT_MESSAGES:
        if [tool["payload"]["tool_name"] for tool in tools] != [call["name"] for call in asked]:
            yield f"other tools than {asked}: {tools}"
        return
    # Tools of one answer run at the same time, in any order.
    for call in asked:
        argument = str(next(iter(call["arguments"].values())))
        tool = next((tool for tool in tools if contains(tool["payload"]["args"], argument)), None)
        if not tool:
            yield f"no tool has the argument {argument}: {[tool['payload']['args'] for tool in tools]}"
            continue
        payload = tool["payload"]
        if payload["tool_name"] != call["name"]:
            yield f"tool {payload['tool_name']} instead of {call['name']}"
        if recorded.scenario == "failed-tool":
            # Messages alone show a call whose program ended in it: nobody saw how the tool ended.
            is_unknown = tool["meta"].get("outcome") == "unknown" and payload["result"] is None
            is_seen = payload["status"] == "error" or contains(payload["result"], "the weather service is down")
            if not is_seen and not is_unknown:
                yield f"{call['name']}: the failure is not recorded: {payload}"
        elif payload["status"] != "ok" or not contains(payload["result"], "7"):
            yield f"{call['name']}: status {payload['status']}, result {payload['result']}"


def problems_of_tree(recorded):
    """Everything is below the root, which is the command."""
    root = recorded.of_type("RUN_START")
    if len(root) != 1:
        yield f"{len(root)} roots"
        return
    known = {record["event_id"]: record for record in recorded.records}
    for record in recorded.records:
        if record["event_type"] in ("RUN_START", "RUN_END"):
            continue
        place, steps = record, 0
        while place and place["parent_id"] and steps < len(known):
            place, steps = known.get(place["parent_id"]), steps + 1
        if place is not root[0]:
            yield f"{record['name']} is not below the root"
    end = recorded.of_type("RUN_END")
    expected = "ok" if recorded.ended.returncode == 0 else "error"
    if len(end) != 1 or end[0]["payload"]["status"] != expected:
        yield f"the run ended {end}, the command with {recorded.ended.returncode}"


def texts(value):
    """The texts of an answer, in their order; a stream may leave it in many parts."""
    if isinstance(value, str):
        try:
            inner = json.loads(value)
        except ValueError:
            inner = None
        if isinstance(inner, (dict, list)):
            yield from texts(inner)
        else:
            yield value
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key in ("text", "content", "contents", "parts", "value", "message", "messages", "output", "choices", "candidates"):
                yield from texts(inner)


def contains(value, text):
    """Whether a value of JSON, or JSON text within it, has the text."""
    if isinstance(value, str):
        if text in value:
            return True
        try:
            inner = json.loads(value)
        except ValueError:
            return False
        return not isinstance(inner, str) and contains(inner, text)
    if isinstance(value, dict):
        return any(contains(inner, text) for inner in value.values())
    if isinstance(value, list):
        return any(contains(inner, text) for inner in value)
    return text in json.dumps(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tracer", required=True, help="our executable")
    parser.add_argument("--all", action="store_true", help="the heavy programs, too")
    parser.add_argument("--keep", help="a folder that receives what each execution left, for looking at it")
    parser.add_argument("names", nargs="*", help="programs, or kinds of them; the light ones when none is named")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - {name for program in real_programs.ALL for name in (program.name, program.kind)}
    if unknown:
        sys.exit(f"error: there is no program {', '.join(sorted(unknown))}; there are: {', '.join(p.name for p in real_programs.ALL)}")
    tracer = os.path.abspath(arguments.tracer)
    failures = 0
    for program in real_programs.ALL:
        is_of_kind = program.kind in arguments.names or not arguments.names
        if program.name in arguments.names or is_of_kind and (program.is_light or arguments.all):
            for scenario in program.scenarios:
                failures += not check(tracer, program, scenario, arguments.keep)
    sys.exit(1 if failures else 0)


def check(tracer, program, scenario, keep):
    with tempfile.TemporaryDirectory() as folder:
        if keep:
            folder = os.path.join(keep, f"{program.name}-{scenario}")
            os.makedirs(folder)
        recorded = Recorded(tracer, program, scenario, Path(folder))
        found = list(problems(recorded))
        if not found and program.is_replayed:
            found = list(replayed.problems(tracer, recorded, recorded.port))
        print(f"{'FAILED' if found else 'ok':7} {recorded.name:28} {len(recorded.served)} model calls, "
              f"{len(recorded.records):2} records, {recorded.seconds:4.1f} s", flush=True)
        for problem in found:
            print(f"        {problem}", flush=True)
        if found:
            print(recorded.ended.stderr[-1000:], flush=True)
        return not found


if __name__ == "__main__":
    main()
