"""Write what real programs send over OTLP to `tests/data/otlp`: our own measurements, which the fast tests import.

    python3 capture.py                every program but those in Rust, which no fast test imports
    python3 capture.py pydantic_ai    these programs

Wants `google.protobuf` and `opentelemetry.proto`: run it with the environment of the Python programs. `tracer` has no part
in it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import real_programs
import recording_endpoint
import stand_in_model

DATA = Path(__file__).parents[1] / "data" / "otlp"
PATIENCE_SECONDS = 180


def telemetry_variables(port):
    """What `tracer record` sets too, so that the captures are what it will see."""
    endpoint = f"http://127.0.0.1:{port}"
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_TRACES_EXPORTER": "otlp", "OTEL_LOGS_EXPORTER": "otlp", "OTEL_METRICS_EXPORTER": "none",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_AND_EVENT",
        "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
        "CLAUDE_CODE_ENABLE_TELEMETRY": "1", "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA": "1", "OTEL_LOG_USER_PROMPTS": "1",
        "OTEL_LOG_ASSISTANT_RESPONSES": "1", "OTEL_LOG_TOOL_DETAILS": "1", "OTEL_LOG_TOOL_CONTENT": "1",
        "GEMINI_TELEMETRY_ENABLED": "true", "GEMINI_TELEMETRY_TARGET": "local", "GEMINI_TELEMETRY_OTLP_ENDPOINT": endpoint,
        "GEMINI_TELEMETRY_OTLP_PROTOCOL": "http", "GEMINI_TELEMETRY_LOG_PROMPTS": "true", "GEMINI_TELEMETRY_TRACES_ENABLED": "true",
    }


def capture(program, scenario):
    """Runs the program once, and keeps what it sent and what the stand-in served."""
    kept = DATA / program.name / f"{scenario}.jsonl"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        served = Path(folder) / "served.jsonl"
        home, work = Path(folder) / "home", Path(folder) / "work"
        home.mkdir(), work.mkdir()
        model = stand_in_model.start(served)
        replacements = {str(real_programs.CACHE): "/cache", str(real_programs.PROGRAMS): "/programs", str(home): "/home/user", folder: "/tmp/work"}
        # Spans of Rust programs name their places in the code.
        sources = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo") / "registry" / "src"
        replacements |= {folder.name: "crates" for folder in sources.glob("*")}
        endpoint = recording_endpoint.start(kept, replacements)
        environment = {**real_programs.clean_environment(), **telemetry_variables(endpoint.server_port),
                       **real_programs.model_variables(model.server_port), **program.variables(scenario, home)}
        # Claude Code and Codex are shown as they are set up in their guides: OTLP as JSON.
        if program.name == "claude_code":
            environment["OTEL_EXPORTER_OTLP_PROTOCOL"] = "http/json"
        command = program.command(scenario, environment)
        if program.name == "codex":
            exporter = f'{{otlp-http={{endpoint="http://127.0.0.1:{endpoint.server_port}/v1/logs",protocol="json"}}}}'
            command[2:2] = ["-c", f"otel.exporter={exporter}", "-c", "otel.log_user_prompt=true"]
        ended = subprocess.run(command, env=environment, cwd=work, stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
        endpoint.shutdown(), model.shutdown()
        calls = served.read_text(encoding="utf-8").splitlines() if served.exists() else []
    if not kept.exists():
        sys.exit(f"error: {program.name} {scenario} sent nothing; it exited with {ended.returncode}\n{ended.stdout}\n{ended.stderr}")
    expected = [slim(json.loads(line)) for line in calls]
    kept.with_suffix(".served.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
    print(f"{program.name:15} {scenario:12} exit {ended.returncode}  {len(calls)} model calls  {kept.stat().st_size:7} bytes")


def slim(call):
    """What was served, without the prompts of coding agents, which are long."""
    return {key: value for key, value in call.items() if key != "question"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="programs; all but those in Rust when none is named")
    arguments = parser.parse_args()
    os.umask(0o022)
    for program in real_programs.ALL:
        # The plain program has nothing that makes its calls one trace: only `tracer record` makes a run of them. The layer of
        # tracer's SDK sends nothing.
        sends = program.has_telemetry and program.name != "plain" and (program.kind != "rust" or program.watched_by == ("--export",))
        is_wanted = program.name in arguments.names if arguments.names else program.kind != "rust"
        if sends and is_wanted:
            for scenario in program.scenarios:
                capture(program, scenario)


if __name__ == "__main__":
    main()
