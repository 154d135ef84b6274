"""Run agent frameworks as they are today and as they were a year ago, and write what `tracer` showed of each into docs/frameworks.md.

Each program of `programs/nightly` runs under `tracer record` against the stand-in for the model, with and without the telemetry that
its users add, and what was recorded is compared with what was served; without telemetry it runs again with the model gone. With telemetry
it runs a third time beside `tracer receive`, without the proxy.

    python3 nightly.py --tracer target/debug/tracer                     every framework in both versions
    python3 nightly.py --tracer target/debug/tracer --series now agno   these, as they are today

Results of other frameworks stay in the table. Wants the network, once; packages go to the cache directory of `real_programs.py`.
"""

import argparse
import datetime
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import real_programs
import replayed
from frameworks import PATIENCE_SECONDS, Recorded, contains

ROOT = Path(__file__).parent.parent.parent
RESULTS = Path(__file__).parent / "nightly-results.json"
PAGE = ROOT / "docs" / "frameworks.md"
# Exporters of version 2 fail with spans of version 1.
OPENTELEMETRY_1 = ["@opentelemetry/exporter-trace-otlp-http@0.57", "@opentelemetry/sdk-trace-node@1"]
# By the language of the program: the packages of a framework and of its telemetry; the first is the one whose version counts.
FRAMEWORKS = {
    "py": {
        "openai-agents": ["openai-agents", "openinference-instrumentation-openai-agents"],
        "langgraph": ["langchain", "langgraph", "langchain-openai", "openinference-instrumentation-langchain"],
        "llamaindex": ["llama-index-core", "llama-index-llms-openai", "openinference-instrumentation-llama-index"],
        "pydantic-ai": ["pydantic-ai-slim[openai]"],
        "smolagents": ["smolagents[openai]", "openinference-instrumentation-smolagents"],
        "smolagents-code": ["smolagents[openai]", "openinference-instrumentation-smolagents"],
        "dspy": ["dspy", "openinference-instrumentation-dspy", "openinference-instrumentation-litellm"],
        "agno": ["agno", "openai", "openinference-instrumentation-agno"],
        "strands": ["strands-agents[openai]"],
        "autogen": ["autogen-agentchat", "autogen-ext[openai]"],
        "haystack": ["haystack-ai", "opentelemetry-haystack"],
        "crewai": ["crewai", "openinference-instrumentation-crewai", "openinference-instrumentation-openai"],
        "agent-framework": ["agent-framework-core", "agent-framework-openai"],
        "instructor": ["instructor", "openinference-instrumentation-instructor", "openinference-instrumentation-openai"],
        "semantic-kernel": ["semantic-kernel"],
    },
    "mjs": {
        "ai-sdk": ["ai", "@ai-sdk/openai", "@ai-sdk/otel", "zod"],
        "langgraph-js": ["@langchain/langgraph", "langchain", "@langchain/core", "@langchain/openai", "zod",
                         "@arizeai/openinference-instrumentation-langchain"],
        "mastra": ["@mastra/core", "@mastra/observability", "@mastra/otel-exporter", "@ai-sdk/openai", "zod"],
        "genkit": ["genkit", "@genkit-ai/compat-oai", *OPENTELEMETRY_1],
        "voltagent": ["@voltagent/core", "@ai-sdk/openai@3", "ai@6", "zod"],
        "openai-agents-js": ["@openai/agents", "zod", "@arizeai/openinference-instrumentation-openai-agents"],
    },
}
# What had other packages a year ago; npm's registry does not tell reliably when a version came.
OLD = {
    "haystack": ["haystack-ai"],
    "ai-sdk": ["ai@5.0.104", "@ai-sdk/openai@2", "zod@4"],
    "langgraph-js": ["@langchain/langgraph@1.0.2", "@langchain/langgraph-checkpoint@1.0.0", "langchain@1.1.1", "@langchain/core@1.1.0",
                     "@langchain/openai@1.1.3", "zod@4", "@arizeai/openinference-instrumentation-langchain@4"],
    "mastra": ["@mastra/core@0.24.6", "@ai-sdk/openai@2", "zod@4"],
    "genkit": ["genkit@1.24.0", "@genkit-ai/compat-oai@1.24.0", *OPENTELEMETRY_1],
    "voltagent": ["@voltagent/core@1", "@ai-sdk/openai@2", "ai@5", "zod@4"],
    "openai-agents-js": ["@openai/agents@0.3.2", "zod@4"],
}
# What had no telemetry that a program switches on by itself.
WITHOUT_TELEMETRY = {("mastra", "old"), ("openai-agents-js", "old")}
# What takes a model's answer in the form of a tool's arguments, and runs no tool.
WITHOUT_TOOLS = {"instructor"}
# CrewAI's tools were in the words of the prompt a year ago, which the stand-in does not read; agent-framework was a beta with other names.
NOT_RUN = {("crewai", "old"), ("agent-framework", "old")}
# Faults of frameworks, in words: by framework and series, the difference that each explains.
FAULTS = {
    ("instructor-now", "the program ended with exit code 1"): "OpenInference makes the program fail behind the model's answer",
    ("instructor-old", "the program ended with exit code 1"): "Instructor of then takes one such call, and fails with two",
    ("smolagents-old", "the program ended with exit code 1"): "OpenInference of then makes the program fail before the tool runs",
}
FAULTS |= {("voltagent-now", f"{calls} model calls, {2 * calls} served"): "VoltAgent has one span for a loop of calls, with the tokens of the last"
           for calls in (1, 2)}
FAULTS["instructor-now", "run ok, program error"] = "the failure of the program is in none of its spans"
# Programs on another part of a framework, as the table names it.
PARTS = {"smolagents-code": "CodeAgent"}
# What asks for tools in the words of its prompts.
PROMPTED = {"smolagents-code", "dspy"}
# Where Ollama listens, whose streams have tokens if asked: the proxy asks there, as it does at OpenAI.
MODEL_PORT = 11434
SCENARIOS = {
    "one tool": ["What is the weather in Oslo?"],
    "parallel": ["What is the weather in Oslo and Paris?"],
    "tool fails": ["What is the weather in Rome?"],
    "404": ["fail 404"],
    "429 once": ["What is the weather in Oslo? fail once 429"],
    "streamed": ["What is the weather in Oslo and Paris?", "--stream"],
    "two at once": ["What is the weather in Oslo?", "What is the weather in Paris?"],
    "handoff": ["Hand over: What is the weather in Oslo?"],
}
# What the programs of some frameworks do besides.
SPECIAL = {"handoff": ("openai-agents", "openai-agents-js")}
# What only the proxy sees: a client tries again what was refused, and its library tells of the call once.
INNER = "429 once"
# What is recorded without the telemetry of a program.
KNOWN_BY_PROXY = ("RUN_START", "RUN_END", "LLM_CALL", "TOOL_CALL", "ERROR")
# The switches for messages, which `tracer record` sets.
CONTENT = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_AND_EVENT", "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental"}
# Those that run again with the model gone: what an answer leads to, in order, in pieces, and at the same time.
REPLAYED = ("parallel", "streamed", "two at once", "handoff")


class Python:
    """A virtual environment."""

    packages = ["opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"]
    of_a_year_ago = [f"--exclude-newer={datetime.date.today() - datetime.timedelta(days=365)}"]

    @staticmethod
    def install(folder, packages):
        uv = real_programs.CACHE / "uv" / "bin" / "uv"
        if not uv.exists():
            real_programs.run([sys.executable, "-m", "venv", uv.parent.parent])
            real_programs.run([uv.parent / "pip", "install", "--quiet", "uv"])
        real_programs.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder])
        real_programs.run([uv, "pip", "install", "--quiet", "--python", folder / "bin" / "python", *packages])

    @staticmethod
    def version(folder, package):
        code = f"import importlib.metadata as m; print(m.version('{package}'))"
        return subprocess.run([folder / "bin" / "python", "-c", code], capture_output=True, text=True, check=True).stdout.strip()

    @staticmethod
    def command(folder, source):
        return [folder / "bin" / "python", source]


class JavaScript:
    """A folder with npm's modules, and a Node.js that they take."""

    packages = ["@opentelemetry/api", "@opentelemetry/exporter-trace-otlp-http", "@opentelemetry/sdk-trace-node"]
    of_a_year_ago = []

    @staticmethod
    def install(folder, packages):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}", encoding="utf-8")
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--legacy-peer-deps"]
        real_programs.run([*command, "node@22"], cwd=folder)
        # npm takes older versions of what does not take the Node.js that runs it.
        path = f"{folder / 'node_modules' / '.bin'}:{os.environ['PATH']}"
        real_programs.run([*command, *packages], cwd=folder, env={**os.environ, "PATH": path})

    @staticmethod
    def version(folder, package):
        return json.loads((folder / "node_modules" / package / "package.json").read_text(encoding="utf-8"))["version"]

    @staticmethod
    def command(folder, source):
        # A module finds those that it imports from where it is.
        for script in source.parent.glob("*.mjs"):
            shutil.copy(script, folder)
        return [folder / "node_modules" / ".bin" / "node", folder / source.name]


LANGUAGES = {"py": Python, "mjs": JavaScript}
ALL = {name: suffix for suffix, names in FRAMEWORKS.items() for name in names}


class NightlyProgram:
    """A framework's program in one version, as `Recorded` starts programs."""

    recorded_with = ()

    def __init__(self, name, folder, has_telemetry):
        self.name, self.folder, self.has_telemetry = name, folder, has_telemetry

    def variables(self, _scenario, _home):
        # What the SDKs send to their makers, which are not to be reached here; instrumentation needs the traces made.
        own = {"CREWAI_DISABLE_TELEMETRY": "true", "MASTRA_TELEMETRY_DISABLED": "1", "HAYSTACK_TELEMETRY_ENABLED": "False",
               "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        return own if self.has_telemetry else {**own, "OPENAI_AGENTS_DISABLE_TRACING": "1"}

    def command(self, scenario, _environment):
        suffix = ALL[self.name]
        source = real_programs.PROGRAMS / "nightly" / f"{self.name.replace('-', '_')}_agent.{suffix}"
        telemetry = ["--telemetry"] if self.has_telemetry else []
        return [*map(str, LANGUAGES[suffix].command(self.folder, source)), *SCENARIOS[scenario], *telemetry]


class Received(Recorded):
    """One execution that the program's telemetry alone tells of."""

    def execute(self, tracer, command):
        receiver = subprocess.Popen([tracer, "receive", "--port", "0"], env=self.environment, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        endpoint = receiver.stderr.readline().split()[2]
        self.environment |= {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", **CONTENT}
        try:
            return subprocess.run(command, env=self.environment, cwd=self.work, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
        finally:
            receiver.send_signal(signal.SIGINT)
            receiver.communicate(timeout=PATIENCE_SECONDS)


def installed(name, series):
    """The folder of an environment with the framework, made when it is not there, and the framework's version."""
    language, packages = LANGUAGES[ALL[name]], FRAMEWORKS[ALL[name]][name]
    if series == "old":
        packages = OLD.get(name, packages) + language.of_a_year_ago
    folder = real_programs.CACHE / f"{name}-{series}"
    if not (folder / "ready").exists():
        given = {package.rpartition("@")[0] for package in packages}
        language.install(folder, packages + [package for package in language.packages if package not in given])
        (folder / "ready").touch()
    package = FRAMEWORKS[ALL[name]][name][0].partition("[")[0]
    part = f", {PARTS[name]}" if name in PARTS else ""
    return folder, f"{package} {language.version(folder, package)}{part}"


def differences(recorded, has_telemetry):
    """The numbers and texts that are not as they were served, in words of the table."""
    is_received = isinstance(recorded, Received)
    # Without the command around them, two conversations are two runs.
    most = 2 if is_received and recorded.scenario == "two at once" else 1
    if not 0 < len(recorded.listed) <= most or not recorded.served:
        yield f"{len(recorded.listed)} runs, {len(recorded.served)} calls served"
        return
    calls, served = recorded.of_type("LLM_CALL"), recorded.served
    if is_received and not calls:
        yield "model calls not known: the telemetry has none"
        served = []
    elif len(calls) != len(served):
        yield f"{len(calls)} model calls, {len(served)} served"
    responses = [call["payload"]["response"] for call in calls]
    if not all(contains(responses, asked["arguments"].get("city", asked["name"])) for call in served for asked in call["tool_calls"]):
        yield "answers lack the tools that they ask for" + (": the telemetry has none" if is_received else "")
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
    if has_telemetry and not is_received and not any(record["event_type"] not in KNOWN_BY_PROXY or "joined_with" in record["meta"] for record in recorded.records):
        yield "no spans came"
    if recorded.ended.returncode and recorded.scenario not in ("tool fails", "404"):
        yield f"the program ended with exit code {recorded.ended.returncode}"
    ends = {end["payload"]["status"] for end in recorded.of_type("RUN_END")} or {"not ended"}
    outcome = "ok" if recorded.ended.returncode == 0 else "error"
    # An agent may fail in a program that does not, which only its telemetry says.
    is_own = is_received and recorded.scenario in ("tool fails", "404") and ends == {"error"}
    if ends != {outcome} and not is_own:
        yield f"run {', '.join(sorted(ends))}, program {outcome}"


def differences_of_tools(recorded, has_telemetry):
    calls = [call for served in recorded.served for call in served["tool_calls"]]
    transfers = [call["name"] for call in calls if call["name"].startswith("transfer_to_")]
    ran = [tool["payload"] for tool in recorded.of_type("TOOL_CALL")]
    if isinstance(recorded, Received):
        # The telemetry's words for the tool that hands over.
        ran = [tool | {"tool_name": re.sub("^handoff[ _]to[ _]", "transfer_to_", tool["tool_name"])} for tool in ran]
    handed = [tool for tool in ran if tool["tool_name"] in transfers]
    if [(tool["tool_name"], tool["status"]) for tool in handed] != [(name, "ok") for name in transfers]:
        yield f"{len(handed)} handoffs, {len(transfers)} asked for"
    calls = [call for call in calls if call["name"] not in (*transfers, "final_answer")]
    if recorded.program.name in PROMPTED:
        prompted = [call for served in recorded.served for call in served["prompted"]]
        if prompted and not has_telemetry:
            yield "tools not known: the program asks for them in the words of its prompts"
        calls = prompted if has_telemetry else []
    names, asked = {call["name"] for call in calls}, Counter(call["arguments"]["city"] for call in calls)
    if recorded.program.name in WITHOUT_TOOLS:
        names, asked = set(), Counter()
    tools = [tool for tool in recorded.of_type("TOOL_CALL") if tool["payload"]["tool_name"] in names]
    # Where the program ends in the tool, messages have no result of it: without telemetry that is not known.
    if asked and not ran and isinstance(recorded, Received):
        yield "tools not known: the telemetry has none"
    elif len(tools) != asked.total() and (has_telemetry or recorded.scenario != "tool fails"):
        yield f"{len(tools)} tools, {asked.total()} asked for"
    # A library may have a span of the tool that is the form of the last answer.
    others = {tool["tool_name"] for tool in ran} - names - {*transfers, "final_answer", "finish"}
    if others:
        yield f"tools that are none: {', '.join(sorted(others))}"
    for tool in tools:
        payload = tool["payload"]
        city = payload["args"].get("city") if isinstance(payload["args"], dict) else payload["args"]
        if isinstance(payload["args"], str) and city in asked:
            yield "arguments of tools without their names: the telemetry has none"
        if city is None and isinstance(recorded, Received):
            yield "arguments of tools not known: the telemetry has none"
        elif not isinstance(city, str) or city not in asked:
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
        arguments = tool["payload"]["args"]
        # The tool that ends the work has the answer instead of a city.
        if place is not tool and isinstance(arguments, dict) and "city" in arguments:
            tops.setdefault(place["event_id"], set()).add(arguments["city"])
    if recorded.scenario == "two at once" and any(len(cities) > 1 for cities in tops.values()):
        yield "tools of two conversations in one place"


def row(tracer, name, environment, word, scenarios, keep):
    """The cells of a program: empty where all is right, else what is not."""
    cells, again = {}, []
    has_telemetry = word != "without"
    for scenario in (scenario for scenario in scenarios if name in SPECIAL.get(scenario, ALL) and (word, scenario) != ("alone", INNER)):
        with tempfile.TemporaryDirectory() as folder:
            if keep:
                folder = Path(keep) / f"{environment.name}-{word}-{scenario.replace(' ', '-')}"
                folder.mkdir(parents=True)
            try:
                execution = Received if word == "alone" else Recorded
                recorded = execution(tracer, NightlyProgram(name, environment, has_telemetry), scenario, Path(folder), MODEL_PORT)
                found = list(dict.fromkeys(differences(recorded, has_telemetry)))
                if not has_telemetry and scenario in REPLAYED:
                    lacking = list(replayed.problems(tracer, recorded, recorded.port))
                    if lacking:
                        print(*lacking, sep="\n", file=sys.stderr)
                        again.append(scenario)
            except subprocess.TimeoutExpired:
                found = ["the program did not end"]
        faults = [FAULTS[environment.name, wrong] for wrong in found if (environment.name, wrong) in FAULTS]
        cells[scenario] = "; ".join(faults or found)
        print(f"{environment.name} {word} telemetry, {scenario}: {cells[scenario] or 'ok'}"
              f"{' (not replayed)' if scenario in again else ''}", flush=True)
    if not has_telemetry and set(REPLAYED) <= set(scenarios):
        cells["replayed"] = f"not: {', '.join(again)}" if again else ""
    return cells


def write_page(results):
    columns = [*SCENARIOS, "replayed"]
    lines = PAGE.read_text(encoding="utf-8").split("<!-- table -->")[0].rstrip("\n").split("\n")
    lines += ["<!-- table -->", "", f"| framework | run on | telemetry | {' | '.join(columns)} |", "|---" * (len(columns) + 3) + "|"]
    notes = []
    for key in sorted(results):
        result = results[key]
        for telemetry, cells in sorted(result["rows"].items()):
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
    parser.add_argument("--only", action="append", choices=SCENARIOS, help="this scenario; once for each")
    parser.add_argument("--telemetry", action="append", choices=["without", "with", "alone"], help="these rows; once for each")
    parser.add_argument("--keep", help="a folder that receives what each execution left")
    parser.add_argument("names", nargs="*", metavar="FRAMEWORK", help=", ".join(ALL))
    arguments = parser.parse_args()
    worse = []
    for series in [arguments.series] if arguments.series else ["now", "old"]:
        for name in arguments.names or (name for name in ALL if (name, series) not in NOT_RUN):
            environment, version = installed(name, series)
            words = ["without"] if (name, series) in WITHOUT_TELEMETRY else ["without", "with", "alone"]
            rows = {word: row(os.path.abspath(arguments.tracer), name, environment, word, arguments.only or SCENARIOS, arguments.keep)
                    for word in arguments.telemetry or words}
            results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
            last = results.get(f"{name} {series}", {"rows": {}})
            known = last["rows"]
            for word, cells in rows.items():
                before = known.get(word, {})
                worse += [f"{name} {version} {series}, {word} telemetry: {cell}: {wrong}"
                          for cell, wrong in cells.items() if wrong and before.get(cell) == ""]
            date = datetime.date.today().isoformat()
            results[f"{name} {series}"] = {"version": version, "date": last["date"] if arguments.only and known else date,
                                           "rows": known | {word: known.get(word, {}) | cells for word, cells in rows.items()}}
            RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            write_page(results)
    if worse:
        sys.exit("error: what was as served is not any more:\n" + "\n".join(worse))


if __name__ == "__main__":
    main()
