"""Run agents on Rust frameworks in every way that their users may record them, alone and three conversations at once, and write
the table into docs/frameworks.md.

Whoever reports, and however many do: model calls, tokens, arguments, results and outcomes are those that the stand-in for the
model served, in the sums of `tracer list` and in the records, and no two conversations are in one place.

    python3 rust_ways.py --tracer target/debug/tracer                   every framework
    python3 rust_ways.py --tracer target/debug/tracer --write           and the table
    python3 rust_ways.py --tracer target/debug/tracer genai ollama_rs   these
"""

import argparse
import json
import os
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

import real_programs
from frameworks import Recorded

PAGE = Path(__file__).parent.parent.parent / "docs" / "frameworks.md"
START, END = "<!-- ways -->", "<!-- /ways -->"
FRAMEWORKS = ("rig", "genai", "async_openai", "ollama_rs")
# What the program is switched to, and what `tracer record` gets; `None` runs the program alone.
WAYS = {
    "`record`": ([], ()),
    "layer": (["--layer"], None),
    "`#[trace]`": (["--recorded"], None),
    "OTLP": (["--export", "--content"], ("--no-proxy",)),
    "all": (["--layer", "--recorded", "--export", "--content"], ()),
}
# These libraries have no spans: nothing of theirs reaches a layer or an exporter.
WITHOUT_SPANS = {(name, way) for name in ("async_openai", "ollama_rs") for way in ("layer", "OTLP")}
# Rig's agent asks the model itself: functions of the program are the agent and the tool.
WITHOUT_MODELS = {("rig", "`#[trace]`")}
CONVERSATIONS = {
    "alone": ["What is the weather in Oslo and Paris?"],
    "three": [f"What is the weather in {city}?" for city in ("Oslo", "Paris", "Bergen")],
}


class Way:
    """A program watched in one way, as `Recorded` starts programs."""

    def __init__(self, name, way):
        self.name = name
        self.switches, self.recorded_with = WAYS[way]

    def command(self, scenario, _environment):
        conversations, _, stream = scenario.partition(" ")
        binary = real_programs.rust_binaries() / f"{self.name}_agent"
        return [str(binary), *CONVERSATIONS[conversations], *self.switches, *(["--stream"] if stream else [])]

    @staticmethod
    def variables(_scenario, _home):
        return {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}


def problems(recorded, has_models):
    """What is not as it was served."""
    if recorded.ended.returncode or not recorded.served or not recorded.listed:
        yield f"exit code {recorded.ended.returncode}, {len(recorded.served)} calls served, {len(recorded.listed)} runs: {recorded.ended.stderr[-500:]}"
        return
    served = recorded.served if has_models else []
    expected = Counter((call["input_tokens"], call["output_tokens"]) for call in served)
    calls = recorded.of_type("LLM_CALL")
    usages = Counter((call["payload"]["usage"].get("prompt_tokens"), call["payload"]["usage"].get("completion_tokens")) for call in calls)
    if usages != expected:
        yield f"model calls with {sorted(usages.elements(), key=str)} tokens instead of {sorted(expected.elements())}"
    asked = Counter(f"{call['arguments']['city']}: 7 C" for call in recorded.served for call in call["tool_calls"])
    tools = recorded.of_type("TOOL_CALL")
    results = Counter(text_of(tool["payload"]["result"]) for tool in tools)
    if results != asked:
        yield f"results {results} instead of {asked}"
    for tool in tools:
        payload = tool["payload"]
        if payload["tool_name"] != "get_weather" or payload["args"] != {"city": text_of(payload["result"]).partition(":")[0]}:
            yield f"{payload['tool_name']} {json.dumps(payload['args'])} gave {json.dumps(payload['result'])}"
    for record in calls + tools + recorded.of_type("RUN_END"):
        if record["payload"]["status"] != "ok" or record["meta"].get("outcome"):
            yield f"{record['name']} is {record['meta'].get('outcome') or record['payload']['status']}"
    listed = [{**run["counts"], **run.get("tokens", {})} for run in recorded.listed]
    keys = ("llm_calls", "tool_calls", "prompt_tokens", "completion_tokens")
    sums = {key: sum(run.get(key) or 0 for run in listed) for key in keys}
    right = {"llm_calls": len(served), "tool_calls": asked.total(), "prompt_tokens": sum(call["input_tokens"] for call in served),
             "completion_tokens": sum(call["output_tokens"] for call in served)}
    if sums != right:
        yield f"`tracer list` has {sums} instead of {right}"
    if recorded.scenario.startswith("three"):
        yield from problems_of_places(recorded.records)


def problems_of_places(records):
    """Conversations in one step, or, where each is a run, in one run."""
    known = {(record["run_id"], record["event_id"]): record for record in records}
    tops = {}
    for tool in (record for record in records if record["event_type"] == "TOOL_CALL"):
        place = tool
        while (above := known.get((place["run_id"], place["parent_id"]))) and above["event_type"] != "RUN_START":
            place = above
        if place is not tool:
            tops.setdefault(place["event_id"], set()).add(json.dumps(tool["payload"]["args"]))
    for arguments in tops.values():
        if len(arguments) > 1:
            yield f"tools of several conversations in one step: {sorted(arguments)}"


def text_of(result):
    """A result, also in its JSON form, which rig gives models."""
    return result if isinstance(result, str) else json.dumps(result)


def versions():
    pinned = (real_programs.RUST_PROGRAMS / "Cargo.toml").read_text(encoding="utf-8")
    return {name: re.search(rf'^{name.replace("_", "-")} = .*?"=([^"]+)"', pinned, re.MULTILINE).group(1) for name in FRAMEWORKS}


def write_page(cells):
    lines = [START, "", f"| library | {' | '.join(WAYS)} |", "|---" * (len(WAYS) + 1) + "|"]
    for name, version in versions().items():
        shown = ["–" if (name, way) in WITHOUT_SPANS else
                 ("✓ tools alone" if (name, way) in WITHOUT_MODELS else "✓") if not cells[name, way] else f"**{cells[name, way]} wrong**" for way in WAYS]
        lines.append(f"| {name.replace('_', '-')} {version} | {' | '.join(shown)} |")
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.split(START)[0], page.split(END)[1]
    PAGE.write_text(before + "\n".join([*lines, "", END]) + after, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tracer", required=True, help="our executable")
    parser.add_argument("--write", action="store_true", help="write the table, of all frameworks")
    parser.add_argument("--keep", help="a folder that receives what each execution left")
    parser.add_argument("names", nargs="*", metavar="FRAMEWORK", help=", ".join(FRAMEWORKS))
    arguments = parser.parse_args()
    cells = Counter()
    for name in arguments.names or FRAMEWORKS:
        for way in WAYS:
            if (name, way) not in WITHOUT_SPANS:
                for scenario in ("alone", "alone stream", "three", "three stream"):
                    cells[name, way] += not check(arguments, name, way, scenario)
    if arguments.write and not arguments.names:
        write_page(cells)
    sys.exit(1 if cells.total() else 0)


def check(arguments, name, way, scenario):
    with tempfile.TemporaryDirectory() as folder:
        if arguments.keep:
            folder = os.path.join(arguments.keep, f"{name}-{way.strip('`#[]')}-{scenario.replace(' ', '-')}")
            os.makedirs(folder)
        recorded = Recorded(os.path.abspath(arguments.tracer), Way(name, way), scenario, Path(folder))
        found = list(problems(recorded, (name, way) not in WITHOUT_MODELS))
        print(f"{'FAILED' if found else 'ok':7} {name} {way}, {scenario}: {len(recorded.served)} model calls, {len(recorded.listed)} runs", flush=True)
        for problem in found:
            print(f"        {problem}", flush=True)
        return not found


if __name__ == "__main__":
    main()
