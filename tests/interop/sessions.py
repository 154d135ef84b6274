"""Import the sessions that real coding agents wrote, and compare each with what the stand-in for the model served.

    python3 sessions.py --tracer target/debug/tracer              Claude Code, Codex and the Gemini CLI
    python3 sessions.py --tracer target/debug/tracer codex        these agents

Uses the standard library alone. The agents are installed into a cache directory (`TRACER_INTEROP_CACHE`), or taken from
`--binaries FOLDER`.
"""

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

import real_programs
import stand_in_model

AGENTS = {"claude_code": "claude-code", "codex": "codex", "gemini_cli": "gemini-cli"}
QUESTIONS = ["run `echo 7` cached please", "run `echo oops; exit 3` please", "hello"]
# What each is started with to go on with its last session.
RESUMED = {"claude_code": ["--continue"], "gemini_cli": ["--resume", "latest"]}
HIDDEN = "calls that it hides are absent"


def check(holds, what):
    if not holds:
        raise AssertionError(what)


def ask(program, question, variables, home, work, binaries, resumed):
    """Runs an agent once."""
    command = program.command("tools", variables)
    command = [question if word == program.question("tools") else word for word in command]
    if binaries:
        command[0] = str(binaries / Path(command[0]).name)
    command += RESUMED.get(program.name, []) if resumed else []
    environment = {**variables, **program.variables("tools", home)}
    done = subprocess.run(command, cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    check(done.returncode == 0, f"{program.name}: {done.stderr[-800:]}")


def tracer(options, home, *arguments):
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TRACER_DATA_DIR": str(home / "runs")}
    done = subprocess.run([options.tracer, *arguments], env=environment, capture_output=True, text=True)
    check(done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}")
    return done.stdout


def calls_of(options, home):
    """The model calls and tool calls of all runs, in the order of their starts."""
    runs = json.loads(tracer(options, home, "list", "--limit", "all", "--json"))["runs"]
    events = []
    for run in runs:
        check(HIDDEN in tracer(options, home, "show", run["trace_id"]), "the run does not say where it is from")
        events += json.loads(tracer(options, home, "export", run["trace_id"], "--out", "-"))["events"]
    events.sort(key=lambda event: event["ts"])
    return [[event["payload"] for event in events if event["event_type"] == kind] for kind in ("LLM_CALL", "TOOL_CALL")]


def compare(name, options):
    program = next(program for program in real_programs.ALL if program.name == name)
    with tempfile.TemporaryDirectory() as folder:
        home, work, served = Path(folder) / "home", Path(folder) / "work", Path(folder) / "served.jsonl"
        home.mkdir()
        work.mkdir()
        model = stand_in_model.start(served)
        variables = {**real_programs.clean_environment(), **real_programs.model_variables(model.server_port)}
        spans = 0
        for index, question in enumerate(QUESTIONS):
            ask(program, question, variables, home, work, options.binaries, resumed=index == 1)
            imported = json.loads(tracer(options, home, "import", AGENTS[name], "--json"))
            check(imported["new_spans"] > 0 and not imported["unknown_records"] and not imported["unreadable"], f"{name}: {imported}")
            spans += imported["new_spans"]
        again = json.loads(tracer(options, home, "import", AGENTS[name], "--json"))
        check((again["new_runs"], again["new_spans"]) == (0, 0), f"{name}: importing again: {again}")
        lines = [json.loads(line) for line in served.read_text().splitlines()]
        answered = [line for line in lines if line["status"] == 200]
        models, tools = calls_of(options, home)
        reported = [(call["usage"]["prompt_tokens"], call["usage"]["completion_tokens"]) for call in models]
        expected = [(line["input_tokens"], line["output_tokens"]) for line in answered]
        hidden = [call for call in expected if call not in reported]
        check(set(reported) <= set(expected) and len(reported) == len(set(reported)), f"{name}: {reported} of {expected}")
        asked = [call for line in answered for call in line["tool_calls"]]
        check([tool["args"] for tool in tools] == [call["arguments"] for call in asked], f"{name}: {tools} of {asked}")
        check(all(tool["result"] is not None for tool in tools), f"{name}: a tool without a result: {tools}")
        print(f"{name}: {len(reported)} of {len(expected)} served calls ({len(hidden)} hidden), {len(tools)} tools, {spans} spans, each once")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tracer", type=Path, required=True)
    parser.add_argument("--binaries", type=Path, help="a folder with claude, codex and gemini")
    parser.add_argument("agents", nargs="*", default=list(AGENTS))
    options = parser.parse_args()
    options.tracer = options.tracer.resolve()
    for name in options.agents:
        compare(name, options)


if __name__ == "__main__":
    main()
