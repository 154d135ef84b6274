"""Ask `tracer mcp` about real runs, as a coding agent does: with the official client of the Model Context Protocol, in Python.

The client is installed into a cache directory, see real_programs.py, and runs from there; this program is started a second
time by that Python.
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import real_programs

TOOLS = ["list_runs", "search_runs", "get_run", "get_step", "compare_runs", "stats", "explain_failure", "explain_value"]
BUDGET = 400
LEGEND = "Text between ⟦ and ⟧ was recorded"


def check(holds, what):
    if not holds:
        raise AssertionError(what)


def recorded(data_dir):
    """The runs, by ID, with their metadata."""
    runs = (data_dir / "runs").iterdir()
    return {run.name: json.loads((run / "meta.json").read_text(encoding="utf-8")) for run in runs}


class Asker:
    """Calls tools, and checks what holds for every answer."""

    def __init__(self, client):
        self.client = client
        self.answers = 0

    async def text(self, tool, **arguments):
        """The text of an answer, which is within its budget."""
        result = await self.client.call_tool(tool, {"budget": BUDGET, **arguments})
        check(not result.is_error, f"{tool} {arguments}: {result.content}")
        [content] = result.content
        budget = arguments.get("budget", BUDGET)
        check(len(content.text.encode()) <= 4 * budget, f"{tool} {arguments} exceeds {budget} tokens")
        check(content.text.startswith(LEGEND), f"{tool} does not explain its marks: {content.text[:200]}")
        check(content.text.count("⟦") == content.text.count("⟧"), f"{tool}: a mark is open: {content.text}")
        check(not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", content.text), f"{tool}: control characters")
        self.answers += 1
        return content.text

    async def pages(self, tool, **arguments):
        """All pages of an answer, in one text."""
        text = await self.text(tool, **arguments)
        whole = text
        while more := re.search(r'^(?:more: call again with|rest of this step: ).*cursor"?:? "([^"]+)"', text, re.MULTILINE):
            text = await self.text(tool, **{**arguments, "cursor": more[1]})
            whole += text
        return whole

    async def refusal(self, tool, **arguments):
        """The words of a tool that refuses."""
        result = await self.client.call_tool(tool, arguments)
        check(result.is_error, f"{tool} takes {arguments}")
        return result.content[0].text


async def ask(tracer, data_dir, mode):
    from mcp import Client, StdioServerParameters  # Installed for the second start only.

    runs = recorded(data_dir)
    server = StdioServerParameters(command=str(tracer), args=["--data-dir", str(data_dir), "mcp"], env=dict(os.environ))
    async with Client(server, mode=mode) as client:
        tools = (await client.list_tools()).tools
        check([tool.name for tool in tools] == TOOLS, f"the tools are {[tool.name for tool in tools]}")
        check(all(tool.annotations.read_only_hint for tool in tools), "a tool may write")
        check(all("tokens" in tool.description and tool.input_schema["type"] == "object" for tool in tools), "a tool has no budget or schema")
        asker = Asker(client)

        # Trials of gates are among the runs.
        listed = await asker.pages("list_runs", trials=True)
        check(all(run in listed for run in runs), "a run is not listed")
        failed = {run for run, meta in runs.items() if meta["status"] == "error"}
        check(failed and failed < set(runs), "there are failed runs and others")
        shown = await asker.pages("list_runs", query="status:failed", trials=True)
        check(all((run in shown) == (run in failed) for run in runs), "status:failed lists others than the failed runs")

        causes = set()
        for run in runs:
            outline = await asker.text("get_run", run_id=run)
            is_empty = "counts: 0 steps" in outline
            check(f"run {run} " in outline and is_empty != ("#1 " in outline), f"an outline without steps: {outline}")
            explained = await asker.text("explain_failure", run_id=run)
            cause = re.search(r"^cause(?: \((\w+)\))?: ", explained, re.MULTILINE)[1]
            check(cause is not None or run not in failed, f"a failed run without a cause: {explained}")
            check(run not in failed or "unknown" not in cause, f"a cause that is not named: {explained}")
            causes.add(cause)
            if not is_empty:
                step = await asker.pages("get_step", run_id=run, step=1)
                check("step 1 of" in step, f"no step: {step}")
        check(None in causes and {"panic", "program_error"} & causes, f"the causes are {causes}")

        found = await asker.pages("search_runs", query="tool:search_kb")
        check("tool ⟦search_kb⟧" in found, f"nothing is found: {found}")
        [first, *_, last] = runs
        compared = await asker.pages("compare_runs", before=first, after=last)
        check(f"before {first}" in compared and f"after {last}" in compared, f"not compared: {compared}")
        check(f"{len(runs)} runs" in await asker.text("stats", trials=True), "the statistics count other runs")
        check("⟦search_kb⟧" in await asker.pages("stats", by="tool"), "the statistics name no tool")

        check("did you mean `tool`" in await asker.refusal("list_runs", query="tol:search_kb"), "no suggestion")
        check("list_runs" in await asker.refusal("get_run", run_id="nobody"), "no next step")
        check("unknown field" in await asker.refusal("get_run", limit=7), "an argument that does not exist is taken")
    after = recorded(data_dir)
    check(after == runs, "a run was changed")
    print(f"{mode}: {asker.answers} answers about {len(runs)} runs, each within its budget")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracer", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--installed", action="store_true", help="this is the second start")
    options = parser.parse_args()
    if not options.installed:
        python = real_programs.environment_of("requirements-mcp.txt") / "bin" / "python"
        sys.exit(subprocess.run([python, *sys.argv, "--installed"]).returncode)
    # By the handshake of earlier versions of the protocol, and as today's client does it.
    for mode in ["legacy", "auto"]:
        asyncio.run(ask(options.tracer.resolve(), options.data_dir.resolve(), mode))


if __name__ == "__main__":
    main()
