"""Run agent frameworks as they are today and as they were a year ago, and write what `tracer` showed of each into docs/frameworks.md.

Each program of `programs/nightly` runs under `tracer record` against the stand-in for the model, with and without the telemetry that
its users add, and what was recorded is compared with what was served; without telemetry it runs again with the model gone.

    python3 nightly.py --tracer target/debug/tracer                     every framework in both versions
    python3 nightly.py --tracer target/debug/tracer --series now agno   these, as they are today

Results of other frameworks stay in the table. Wants the network, once; packages go to the cache directory of `real_programs.py`.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import real_programs
import replayed
from frameworks import Recorded, contains

ROOT = Path(__file__).parent.parent.parent
RESULTS = Path(__file__).parent / "nightly-results.json"
PAGE = ROOT / "docs" / "frameworks.md"
EXPORTER = ["opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"]
# Each with the packages of it and of its telemetry; the first is the one whose version counts.
FRAMEWORKS = {
    "openai-agents": ["openai-agents", "openinference-instrumentation-openai-agents"],
    "langgraph": ["langchain", "langgraph", "langchain-openai", "openinference-instrumentation-langchain"],
    "llamaindex": ["llama-index-core", "llama-index-llms-openai", "openinference-instrumentation-llama-index"],
    "pydantic-ai": ["pydantic-ai-slim[openai]"],
    "smolagents": ["smolagents[openai]", "openinference-instrumentation-smolagents"],
    "agno": ["agno", "openai", "openinference-instrumentation-agno"],
    "strands": ["strands-agents[openai]"],
    "autogen": ["autogen-agentchat", "autogen-ext[openai]"],
}
SCENARIOS = {
    "one tool": ["What is the weather in Oslo?"],
    "parallel": ["What is the weather in Oslo and Paris?"],
    "tool fails": ["What is the weather in Rome?"],
    "404": ["fail 404"],
    "429 once": ["What is the weather in Oslo? fail once 429"],
    "streamed": ["What is the weather in Oslo and Paris?", "--stream"],
    "two at once": ["What is the weather in Oslo?", "What is the weather in Paris?"],
}
# Those that run again with the model gone: what an answer leads to, in order, in pieces, and at the same time.
REPLAYED = ("parallel", "streamed", "two at once")


class NightlyProgram:
    """A framework's program in one version, as `Recorded` starts programs."""

    recorded_with = ()

    def __init__(self, name, python, has_telemetry):
        self.name, self.python, self.has_telemetry = name, python, has_telemetry

    def variables(self, _scenario, _home):
        # The SDK sends traces to its maker, which is not to be reached here; instrumentation needs them made.
        return {} if self.has_telemetry else {"OPENAI_AGENTS_DISABLE_TRACING": "1"}

    def command(self, scenario, _environment):
        source = real_programs.PROGRAMS / "nightly" / f"{self.name.replace('-', '_')}_agent.py"
        telemetry = ["--telemetry"] if self.has_telemetry else []
        return [str(self.python), str(source), *SCENARIOS[scenario], *telemetry]


def installed(name, series):
    """The interpreter of an environment with the framework, made when it is not there."""
    folder = real_programs.CACHE / f"{name}-{series}"
    python = folder / "bin" / "python"
    if not python.exists():
        uv = real_programs.CACHE / "uv" / "bin" / "uv"
        if not uv.exists():
            real_programs.run([sys.executable, "-m", "venv", uv.parent.parent])
            real_programs.run([uv.parent / "pip", "install", "--quiet", "uv"])
        before = (datetime.date.today() - datetime.timedelta(days=365)).isoformat()
        limit = [] if series == "now" else ["--exclude-newer", before]
        real_programs.run([uv, "venv", "--quiet", "--python", sys.executable, folder])
        real_programs.run([uv, "pip", "install", "--quiet", "--python", python, *limit, *FRAMEWORKS[name], *EXPORTER])
    package = FRAMEWORKS[name][0].partition("[")[0]
    version = subprocess.run([python, "-c", f"import importlib.metadata as m; print(m.version('{package}'))"],
                             capture_output=True, text=True, check=True).stdout.strip()
    return python, f"{package} {version}"


def differences(recorded, has_telemetry):
    """The numbers and texts that are not as they were served, in words of the table."""
    if len(recorded.listed) != 1 or not recorded.served:
        yield f"{len(recorded.listed)} runs, {len(recorded.served)} calls served"
        return
    calls, served = recorded.of_type("LLM_CALL"), recorded.served
    if len(calls) != len(served):
        yield f"{len(calls)} model calls, {len(served)} served"
    usages = [(call["payload"]["usage"].get("prompt_tokens"), call["payload"]["usage"].get("completion_tokens")) for call in calls]
    tokens = Counter(usage for usage in usages if None not in usage)
    expected = Counter((call["input_tokens"], call["output_tokens"]) for call in served if call["status"] == 200)
    if tokens - expected:
        yield f"tokens {sorted((tokens - expected).elements())} instead of {sorted((expected - tokens).elements())}"
    elif expected - tokens and len(calls) == len(served):
        yield "tokens not known: the program asked for a stream without them"
    failed = sum(call["payload"]["status"] == "error" for call in calls)
    refused = sum(call["status"] != 200 for call in served)
    if failed != refused:
        yield f"{failed} model calls failed, {refused} were refused"
    yield from differences_of_tools(recorded, has_telemetry)
    yield from differences_of_places(recorded)
    [end] = recorded.of_type("RUN_END") or [{"payload": {"status": "not ended"}}]
    outcome = "ok" if recorded.ended.returncode == 0 else "error"
    if end["payload"]["status"] != outcome:
        yield f"run {end['payload']['status']}, program {outcome}"


def differences_of_tools(recorded, has_telemetry):
    tools = [tool for tool in recorded.of_type("TOOL_CALL") if tool["payload"]["tool_name"] == "get_weather"]
    asked = Counter(call["arguments"]["city"] for served in recorded.served for call in served["tool_calls"])
    # Where the program ends in the tool, messages have no result of it: without telemetry that is not known.
    if len(tools) != asked.total() and (has_telemetry or recorded.scenario != "tool fails"):
        yield f"{len(tools)} tools, {asked.total()} asked for"
    others = Counter(tool["payload"]["tool_name"] for tool in recorded.of_type("TOOL_CALL")) - Counter(get_weather=len(tools))
    if others:
        yield f"tools that are none: {', '.join(others)}"
    for tool in tools:
        payload = tool["payload"]
        city = (payload["args"] or {}).get("city") if isinstance(payload["args"], dict) else None
        if city not in asked:
            yield f"arguments {json.dumps(payload['args'])}"
        elif city == "Rome":
            is_unknown = tool["meta"].get("outcome") == "unknown" and payload["result"] is None
            if payload["status"] != "error" and not contains(payload["result"], "down") and not is_unknown:
                yield f"the failed tool: {payload['status']}, {json.dumps(payload['result'])}"
        elif tool["meta"].get("outcome") == "unknown":
            yield "results of tools not known: the program sends them as words of its user"
        elif payload["status"] != "ok" or payload["result"] != f"{city}: 7 C":
            yield f"result {json.dumps(payload['result'])}, {payload['status']}"


def differences_of_places(recorded):
    """Tools of two conversations are in no common step but the run."""
    known = {record["event_id"]: record for record in recorded.records}
    tops = {}
    for tool in recorded.of_type("TOOL_CALL"):
        place, steps = tool, 0
        while place and (above := known.get(place["parent_id"])) and above["event_type"] != "RUN_START" and steps < len(known):
            place, steps = above, steps + 1
        if not place["parent_id"]:
            yield "a step outside of the run"
        if place is not tool:
            tops.setdefault(place["event_id"], set()).add(json.dumps(tool["payload"]["args"]))
    if recorded.scenario == "two at once" and any(len(cities) > 1 for cities in tops.values()):
        yield "tools of two conversations in one place"


def row(tracer, name, python, has_telemetry, keep):
    """The cells of a program: empty where all is right, else what is not."""
    cells, again = {}, []
    for scenario in SCENARIOS:
        with tempfile.TemporaryDirectory() as folder:
            if keep:
                folder = Path(keep) / f"{name}-{python.parent.parent.name}-{has_telemetry}-{scenario.replace(' ', '-')}"
                folder.mkdir(parents=True)
            try:
                recorded = Recorded(tracer, NightlyProgram(name, python, has_telemetry), scenario, Path(folder))
                found = list(dict.fromkeys(differences(recorded, has_telemetry)))
                if not has_telemetry and scenario in REPLAYED:
                    lacking = list(replayed.problems(tracer, recorded, recorded.port))
                    if lacking:
                        print(*lacking, sep="\n", file=sys.stderr)
                        again.append(scenario)
            except subprocess.TimeoutExpired:
                found = ["the program did not end"]
        cells[scenario] = "; ".join(found)
        print(f"{name} {python.parent.parent.name} {'with' if has_telemetry else 'without'} telemetry, {scenario}: {cells[scenario] or 'ok'}"
              f"{' (not replayed)' if scenario in again else ''}", flush=True)
    if not has_telemetry:
        cells["replayed"] = f"not: {', '.join(again)}" if again else ""
    return cells


def write_page(results):
    columns = [*SCENARIOS, "replayed"]
    lines = PAGE.read_text(encoding="utf-8").split("<!-- table -->")[0].rstrip("\n").split("\n")
    lines += ["<!-- table -->", "", f"| framework | run on | telemetry | {' | '.join(columns)} |", "|---" * (len(columns) + 3) + "|"]
    notes = []
    for key in sorted(results):
        result = results[key]
        for telemetry, cells in result["rows"].items():
            shown = []
            for column in columns:
                wrong = cells.get(column)
                if wrong:
                    if wrong not in notes:
                        notes.append(wrong)
                    wrong = f"**{notes.index(wrong) + 1}**"
                shown.append("–" if wrong is None else wrong or "✓")
            lines.append(f"| {result['version']} | {result['date']} | {telemetry} | {' | '.join(shown)} |")
    lines += ["", *(f"{number}. {note}" for number, note in enumerate(notes, 1)), ""]
    PAGE.write_text("\n".join(lines), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tracer", required=True, help="our executable")
    parser.add_argument("--series", choices=["now", "old"], help="today's versions, or those of a year ago; both without it")
    parser.add_argument("--keep", help="a folder that receives what each execution left")
    parser.add_argument("names", nargs="*", metavar="FRAMEWORK", help=", ".join(FRAMEWORKS))
    arguments = parser.parse_args()
    worse = []
    for series in [arguments.series] if arguments.series else ["now", "old"]:
        for name in arguments.names or FRAMEWORKS:
            python, version = installed(name, series)
            rows = {word: row(os.path.abspath(arguments.tracer), name, python, word == "with", arguments.keep) for word in ("without", "with")}
            results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
            known = results.get(f"{name} {series}", {}).get("rows", {})
            for word, cells in rows.items():
                before = known.get(word, {})
                worse += [f"{name} {version} {series}, {word} telemetry: {cell}: {wrong}"
                          for cell, wrong in cells.items() if wrong and before.get(cell) == ""]
            results[f"{name} {series}"] = {"version": version, "date": datetime.date.today().isoformat(), "rows": rows}
            RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            write_page(results)
    if worse:
        sys.exit("error: what was as served is not any more:\n" + "\n".join(worse))


if __name__ == "__main__":
    main()
