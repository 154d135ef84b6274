"""Run the recipes of docs/sql.md with DuckDB against real runs, and check what is known of their answers.

With --print, print the answers as the guide shows them.
"""

import argparse
import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

import duckdb

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "sql.md"


def recipes():
    """The recipes of the guide, by name, in their order."""
    blocks = re.findall(r"```sql\n-- recipe: ([\w-]+)\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    found = dict(blocks)
    if len(found) != len(blocks) or "views" not in found:
        sys.exit("error: the guide names a recipe twice, or defines no views")
    return found


def recorded(data_dir):
    """Spans and metadata of all runs, read without the database."""
    spans, metas = [], []
    for run in sorted((data_dir / "runs").iterdir()):
        metas.append(json.loads((run / "meta.json").read_text(encoding="utf-8")))
        lines = (run / "spans.jsonl").read_text(encoding="utf-8").splitlines()
        spans += [json.loads(line) for line in lines if line.strip()]
    return spans, metas


def repetitions(spans):
    """How often each call is repeated with the same arguments within its run, the most frequent first."""
    counts = Counter(
        (span["trace_id"], span["name"], event["attributes"].get("args"))
        for span in spans for event in span["events"] if event["name"] == "tracer.tool.args")
    return sorted((count for count in counts.values() if count > 1), reverse=True)[:10]


def check(answers, spans, metas):
    """What is wrong with the answers."""
    calls = [span for span in spans if "gen_ai.request.model" in span["attributes"]]
    tools = [span for span in spans if {"tracer.tool_name", "gen_ai.tool.name"} & set(span["attributes"])]
    tokens = [sum(call["attributes"].get(f"gen_ai.usage.{side}_tokens", 0) for call in calls) for side in ("input", "output")]

    def column(recipe, name):
        names, rows = answers[recipe]
        return [row[names.index(name)] for row in rows]

    expected = [
        ("newest-runs", len(answers["newest-runs"][1]), min(10, len(metas))),
        ("tokens-by-model, calls", sum(column("tokens-by-model", "calls")), len(calls)),
        ("tokens-by-model, input", sum(value or 0 for value in column("tokens-by-model", "input")), tokens[0]),
        ("tokens-by-model, output", sum(value or 0 for value in column("tokens-by-model", "output")), tokens[1]),
        ("failing-tools, calls", sum(column("failing-tools", "calls")), len(tools)),
        ("failing-tools, failed", sum(column("failing-tools", "failed")), sum(tool["status_code"] == "ERROR" for tool in tools)),
        ("self-time has spans", bool(column("self-time", "spans")), True),
        ("search-messages finds the demo's ticket", bool(answers["search-messages"][1]), True),
        ("repeated-calls", column("repeated-calls", "times"), repetitions(spans)),
        ("largest-runs", bool(answers["largest-runs"][1]), True),
        ("parquet has every span", duckdb.sql("SELECT count(*) FROM 'spans.parquet'").fetchall()[0][0], len(spans)),
    ]
    return [f"{what}: {found!r} instead of {wanted!r}" for what, found, wanted in expected if found != wanted]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", required=True, type=Path, help="the runs to query")
    parser.add_argument("--print", action="store_true", help="print the answers")
    arguments = parser.parse_args()
    os.chdir(arguments.data_dir)
    answers = {}
    for name, sql in recipes().items():
        relation = None
        for statement in duckdb.extract_statements(sql):
            relation = duckdb.sql(statement.query)
        answers[name] = (relation.columns, relation.fetchall())
        if arguments.print and name not in ("views", "parquet"):
            print(f"{name}\n{relation}")
    spans, metas = recorded(Path.cwd())
    wrong = check(answers, spans, metas)
    Path("spans.parquet").unlink(missing_ok=True)
    for line in wrong:
        print(f"FAILED  {line}")
    if not wrong:
        print(f"ok      {len(answers)} recipes, {len(metas)} runs, {len(spans)} spans")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
