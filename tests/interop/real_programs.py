"""The real programs of the interoperability tests: how each is installed and started, and what it is asked.

None of them knows `tracer`. Each is a small agent with one tool: on the client of a vendor, without any telemetry; on a framework
of its own, with that framework's OpenTelemetry set-up; or a coding agent as it is installed. What they need goes to a cache directory, not to the repository.
"""

import dataclasses
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
RUST_PROGRAMS = Path(__file__).parent.parent / "frameworks"
CACHE = Path(os.environ.get("TRACER_INTEROP_CACHE") or Path.home() / ".cache" / "tracer-interop")

# What is asked, and what the stand-in and the tool do with it; see `stand_in_model.py`. The tool fails in Rome.
QUESTIONS = {
    "tools": "What is the weather in Oslo and Paris? cached",
    "stream": "What is the weather in Oslo and Paris? cached",
    # Under OpenTelemetry's own launcher, which instruments the client of the model too, twice: one call is several spans.
    "combined": "What is the weather in Oslo and Paris? cached",
    "failed-tool": "What is the weather in Rome?",
    "failed-call": "fail 404",
    "failed-stream": "fail 404",
}
# What a scenario of a Rust program switches on.
SWITCHES = {"stream": ["--stream"], "content": ["--content"], "content-stream": ["--content", "--stream"], "chat": ["--chat"],
            "failed-stream": ["--stream"]}
SHELL_QUESTIONS = {"tools": "Please run `echo 7` for me. cached", "failed-call": "fail 400"}


@dataclasses.dataclass(frozen=True)
class Program:
    """A real program. `is_light` ones run in CI, the others by one documented command."""

    name: str
    kind: str  # python, javascript, rust or coding_agent
    source: str
    is_light: bool = True
    scenarios: tuple = ("tools", "failed-tool", "failed-call")
    requirements: str = "requirements.txt"
    # Whether it is started by OpenTelemetry's launcher, which is all that it has of telemetry.
    is_launched: bool = False
    # Whether it exports anything: of the others the proxy alone sees the calls.
    has_telemetry: bool = True
    # Variables of its own, as pairs.
    settings: tuple = ()
    # Rust: who watches it.
    watched_by: tuple = ()
    # What `tracer record` is started with; `None` runs the program alone, with tracer's SDK in it.
    recorded_with: tuple | None = ()

    @property
    def is_replayed(self):
        """Whether the proxy alone sees its calls, and all of them."""
        return self.recorded_with == () and (not self.has_telemetry or self.name in ("async_openai", "rig_proxied"))

    def question(self, scenario):
        # The spans of the Gemini CLI leave reasoning tokens out of the output tokens, and name them nowhere.
        if self.name == "gemini_cli":
            return SHELL_QUESTIONS[scenario].replace(" cached", "")
        return (SHELL_QUESTIONS if self.kind == "coding_agent" else QUESTIONS).get(scenario, QUESTIONS["tools"])

    def command(self, scenario, variables):
        """What to start; `variables` say where the model is."""
        question = self.question(scenario)
        stream = ["--stream"] if scenario == "stream" else []
        if self.kind == "python":
            binaries = environment_of(self.requirements) / "bin"
            launcher = [str(binaries / "opentelemetry-instrument")] if self.is_launched or scenario == "combined" else []
            return [*launcher, str(binaries / "python"), str(PROGRAMS / "python" / self.source), question, *stream]
        if self.kind == "javascript":
            return ["node", str(modules_of("javascript") / self.source), question, *stream]
        if self.kind == "rust":
            return [str(rust_binaries() / self.source), question, *self.watched_by, *SWITCHES.get(scenario, [])]
        binaries = modules_of("coding_agents") / "node_modules" / ".bin"
        model = {"name": "local", "base_url": variables["OPENAI_BASE_URL"], "wire_api": "responses", "env_key": "OPENAI_API_KEY",
                 "supports_websockets": False, "request_max_retries": 0, "stream_max_retries": 0}
        provider = ",".join(f"{key}={json.dumps(value)}" for key, value in model.items())
        return {
            "claude_code": [str(binaries / "claude"), "-p", question, "--allowedTools", "Bash"],
            # Codex takes its model provider from its configuration alone.
            "codex": [str(binaries / "codex"), "exec", "--skip-git-repo-check", "--sandbox", "danger-full-access",
                      "--model", "gpt-5-codex", "-c", "model_provider=local", "-c", f"model_providers.local={{{provider}}}", question],
            "gemini_cli": [str(binaries / "gemini"), "--yolo", "--skip-trust", "--model", "gemini-3-flash-preview", "--prompt", question],
        }[self.name]

    def variables(self, scenario, home):
        """What the environment holds beside keys and endpoints: for a coding agent, a home of its own."""
        if self.kind == "rust":
            # genai's switch for messages, which takes no other word.
            return {} if scenario == "tools" else {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}
        if self.kind != "coding_agent":
            return dict(self.settings)
        settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}
        (home / ".gemini").mkdir(parents=True, exist_ok=True)
        (home / ".gemini" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        return {"HOME": str(home), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "GEMINI_CLI_NO_RELAUNCH": "true"}


STREAMED = ("tools", "stream", "failed-tool", "failed-call")
COMBINED = ("tools", "combined", "failed-tool", "failed-call")
CLIENT = {"scenarios": STREAMED, "has_telemetry": False}
PYTHON_CLIENT = {**CLIENT, "requirements": "requirements-clients.txt"}
# One client for the APIs of all vendors; large.
LITELLM = {**CLIENT, "requirements": "requirements-litellm.txt", "is_light": False}


def litellm_settings(model):
    """Which model to ask; the prices of models are not fetched."""
    return (("LITELLM_MODEL", model), ("LITELLM_LOCAL_MODEL_COST_MAP", "True"))


RUST = ("tools", "stream", "failed-tool", "failed-call")
ALL = [
    # The clients of the vendors as they are, by the proxy alone.
    Program("openai_python", "python", "plain_agent.py", **PYTHON_CLIENT),
    Program("openai_responses", "python", "openai_responses_agent.py", **PYTHON_CLIENT),
    Program("anthropic_python", "python", "anthropic_agent.py", **PYTHON_CLIENT),
    Program("google_genai", "python", "google_genai_agent.py", **PYTHON_CLIENT),
    Program("ollama_python", "python", "ollama_agent.py", **PYTHON_CLIENT),
    Program("langchain", "python", "langchain_agent.py", scenarios=("tools", "stream"), has_telemetry=False),
    Program("openai_javascript", "javascript", "openai_agent.js", **CLIENT),
    Program("anthropic_javascript", "javascript", "anthropic_agent.js", **CLIENT),
    Program("google_genai_javascript", "javascript", "google_genai_agent.js", **CLIENT),
    Program("litellm_openai", "python", "litellm_agent.py", settings=litellm_settings("openai/gpt-5-mini"), **LITELLM),
    Program("litellm_anthropic", "python", "litellm_agent.py", settings=litellm_settings("anthropic/claude-sonnet-5"), **LITELLM),
    Program("litellm_gemini", "python", "litellm_agent.py", settings=litellm_settings("gemini/gemini-3-flash"), **LITELLM),
    Program("litellm_ollama", "python", "litellm_agent.py", settings=litellm_settings("ollama_chat/qwen3"), **LITELLM),
    # What exports OpenTelemetry.
    Program("plain", "python", "plain_agent.py", scenarios=STREAMED, requirements="requirements-plain.txt", is_launched=True),
    Program("pydantic_ai", "python", "pydantic_ai_agent.py", scenarios=COMBINED),
    Program("openai_agents", "python", "openai_agents_agent.py", scenarios=COMBINED),
    Program("langgraph", "python", "langgraph_agent.py", scenarios=COMBINED),
    Program("openllmetry", "python", "openllmetry_agent.py", scenarios=STREAMED),
    Program("opentelemetry", "python", "opentelemetry_agent.py", scenarios=STREAMED),
    Program("google_adk", "python", "adk_agent.py", is_light=False, requirements="requirements-adk.txt", is_launched=True),
    Program("ai_sdk_7", "javascript", "ai_sdk_7_agent.js", scenarios=STREAMED),
    Program("ai_sdk_6", "javascript", "ai_sdk_6_agent.js", scenarios=STREAMED),
    # The layer alone; beside the proxy; beside an exporter, whose spans come through the receiver; beside recorders.
    Program("rig", "rust", "rig_agent", watched_by=("--layer",), recorded_with=None,
            scenarios=("tools", "content", "stream", "content-stream", "chat", "failed-tool", "failed-call", "failed-stream")),
    Program("rig_recorded", "rust", "rig_agent", watched_by=("--layer", "--recorded"), recorded_with=None, scenarios=RUST),
    Program("rig_proxied", "rust", "rig_agent", watched_by=("--layer",), scenarios=RUST),
    Program("rig_exported", "rust", "rig_agent", watched_by=("--export",), recorded_with=("--no-proxy",),
            scenarios=("content", "content-stream", "failed-call")),
    Program("rig_combined", "rust", "rig_agent", watched_by=("--layer", "--export"),
            scenarios=("tools", "content", "stream", "failed-tool", "failed-call")),
    Program("genai", "rust", "genai_agent", watched_by=("--layer",), recorded_with=None,
            scenarios=("tools", "content", "stream", "failed-tool", "failed-call", "failed-stream")),
    Program("genai_recorded", "rust", "genai_agent", watched_by=("--layer",), recorded_with=("--no-proxy",),
            scenarios=("content", "stream", "failed-tool", "failed-call")),
    Program("async_openai", "rust", "async_openai_agent", scenarios=RUST),
    Program("adk_rust", "rust", "adk_agent", watched_by=("--layer",), recorded_with=None,
            scenarios=("tools", "content", "failed-tool", "failed-call")),
    Program("adk_rust_recorded", "rust", "adk_agent", watched_by=("--layer",), recorded_with=("--no-proxy",), scenarios=("tools", "failed-call")),
    Program("claude_code", "coding_agent", "", is_light=False, scenarios=("tools", "failed-call")),
    # When its first call fails, Codex exits before it has sent its logs.
    Program("codex", "coding_agent", "", is_light=False, scenarios=("tools",)),
    Program("gemini_cli", "coding_agent", "", is_light=False, scenarios=("tools",)),
]

# Keys that clients refuse to start without; the stand-in does not look at them.
KEYS = {"OPENAI_API_KEY": "local", "ANTHROPIC_API_KEY": "local", "GEMINI_API_KEY": "local"}


def model_variables(port):
    """Where clients look for the model: the stand-in."""
    base = f"http://127.0.0.1:{port}"
    return {"OPENAI_BASE_URL": f"{base}/v1", "ANTHROPIC_BASE_URL": base, "GOOGLE_GEMINI_BASE_URL": base, "OLLAMA_HOST": base, **KEYS}


def clean_environment():
    """The environment without what a person may have set for the same clients."""
    prefixes = ("OTEL_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "CLAUDE", "CODEX_", "TRACER_", "TRACEPARENT", "OLLAMA_")
    return {key: value for key, value in os.environ.items() if not key.startswith(prefixes)}


def fingerprint(*files):
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def environment_of(requirements):
    """The virtual environment with these requirements; made when it is not there."""
    listed = PROGRAMS / "python" / requirements
    folder = CACHE / f"python-{listed.stem}-{fingerprint(listed)}"
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run([sys.executable, "-m", "venv", folder])
        run([folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", listed])
        (folder / "ready").touch()
    return folder


def modules_of(project):
    """A copy of the npm project with its modules; made when it is not there."""
    source = PROGRAMS / project
    locked = [source / "package.json", source / "package-lock.json"]
    folder = CACHE / f"npm-{project}-{fingerprint(*locked)}"
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file in locked:
            shutil.copy(file, folder)
        run(["npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder)
        installer = folder / "node_modules" / "@anthropic-ai" / "claude-code" / "install.cjs"
        if installer.exists():
            run(["node", installer], cwd=installer.parent)
        (folder / "ready").touch()
    for script in source.glob("*.js"):
        shutil.copy(script, folder)
    return folder


@functools.cache
def rust_binaries():
    """The folder with the Rust programs, built in the cache directory."""
    target = CACHE / "rust"
    run(["cargo", "build", "--locked", "--manifest-path", RUST_PROGRAMS / "Cargo.toml", "--target-dir", target])
    return target / "debug"


def run(command, **options):
    print("installing:", " ".join(map(str, command)), file=sys.stderr, flush=True)
    subprocess.run([str(part) for part in command], check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr, **options)
