"""What a bucket costs as a team grows: a simulation of the requests of a day, with a public list price. Its table is in docs/share-runs.md.

With --check, fail where the guide shows another table. What a run, a batch and a reader request is what the tests of crates/ship count.
"""

import argparse
import math
import random
import sys
from pathlib import Path

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "share-runs.md"
BEGIN, END = "<!-- growth: tests/interop/growth.py -->\n```text\n", "```\n<!-- /growth -->"

# Amazon S3 Standard, us-east-1, list price in dollars.
WRITE, READ, GIGABYTE_MONTH = 0.005 / 1000, 0.0004 / 1000, 0.023
# A small run: its spans and its commit. A batch: its facts.
REQUESTS_OF_RUN, REQUESTS_OF_BATCH = 2, 1
RUN_BYTES, FACTS_BYTES = 50_000, 1_500
# `push --follow` looks that often.
POLL_SECONDS, DAY = 5, 86_400
NAMES_OF_LISTING, MAX_BATCH = 1_000, 500
JOINED_BYTES = 32 * 1024 * 1024
SHIPPERS, READERS, SYNCS_A_DAY = 500, 20, 96


def batches_of_day(runs_of_day, source):
    """Objects of facts that one shipper writes on a day when runs end at random."""
    batches, rate = 0, runs_of_day / DAY
    end = source.expovariate(rate)
    while end < DAY:
        look, waiting = math.ceil(end / POLL_SECONDS) * POLL_SECONDS, 0
        while end <= look:
            waiting += 1
            end += source.expovariate(rate)
        batches += math.ceil(waiting / MAX_BATCH)
    return batches


def simulate(runs_of_year, source):
    runs = runs_of_year / 365
    objects = sum(batches_of_day(runs / SHIPPERS, source) for _ in range(SHIPPERS))
    writes = runs * REQUESTS_OF_RUN + objects * REQUESTS_OF_BATCH
    # Each look asks which days there are, and lists the last two of them whole.
    listings = SYNCS_A_DAY * (1 + math.ceil(1.5 * objects / NAMES_OF_LISTING))
    reading = READERS * (listings * WRITE + objects * READ)
    # Each night the objects of one day are read and joined, and each kept day is listed.
    joined, kept_days = math.ceil(runs * FACTS_BYTES / JOINED_BYTES), 90
    joining = objects * READ + (kept_days + objects / NAMES_OF_LISTING + joined) * WRITE
    stored = runs * kept_days * (RUN_BYTES + FACTS_BYTES) / 1e9
    return {"runs a year": runs_of_year, "runs a day": runs, "objects of facts": objects, "writes": writes,
            "first sync": f"{kept_days * joined} objects, {runs * kept_days * FACTS_BYTES / 1e9:.1f} GB",
            "shipping": writes * WRITE, "reading": reading, "joining": joining, "storage": stored * GIGABYTE_MONTH / 30.4}


def large(number):
    for size, unit in ((1e9, " billion"), (1e6, " million")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:,.0f}"


def table():
    source = random.Random(18)
    columns = [simulate(runs, source) for runs in (10**6, 10**7, 10**8, 10**9)]
    rows = [("runs a year", [large(column["runs a year"]) for column in columns])]
    rows += [(f"{name} a day", [large(column[key]) for column in columns])
             for name, key in (("runs", "runs a day"), ("objects of facts", "objects of facts"), ("writes", "writes"))]
    rows.append(("facts of 90 days, joined", [column["first sync"] for column in columns]))
    rows += [(f"$ a day: {name}", [f"{column[key]:,.2f}" for column in columns])
             for name, key in (("shipping", "shipping"), (f"{READERS} readers", "reading"), ("joining", "joining"), ("storage", "storage"))]
    rows.append(("$ a day, together", [f"{sum(column[key] for key in ('shipping', 'reading', 'joining', 'storage')):,.2f}"
                                       for column in columns]))
    widths = [max(len(cells[index]) for _, cells in rows) for index in range(len(columns))]
    return "".join(f"{name:28}" + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths)) + "\n" for name, cells in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the guide")
    parser.add_argument("--write", action="store_true", help="write the table into the guide")
    arguments = parser.parse_args()
    simulated = table()
    if not (arguments.check or arguments.write):
        print(simulated, end="")
        return
    before, _, rest = GUIDE.read_text(encoding="utf-8").partition(BEGIN)
    shown, _, after = rest.partition(END)
    if arguments.write:
        GUIDE.write_text(before + BEGIN + simulated + END + after, encoding="utf-8")
    elif shown != simulated:
        sys.exit(f"error: the guide shows another table; rewrite it: python3 tests/interop/growth.py --write\n{simulated}")
    else:
        print("the guide shows what the simulation says")


if __name__ == "__main__":
    main()
