"""What a bucket costs as a team grows: a simulation of the requests of a day, with a public list price. Its table is in docs/a-teams-runs-in-one-bucket.md.

With --check, fail where the guide shows another table. What a run, a batch, a reader and a pruner request is what the tests of crates/bucket count.
"""

import argparse
import math
import random
import sys
from pathlib import Path

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "a-teams-runs-in-one-bucket.md"
BEGIN, END = "<!-- growth: tests/interop/growth.py -->\n```text\n", "```\n<!-- /growth -->"

# Amazon S3 Standard, us-east-1, list price in dollars.
WRITE, READ, GIGABYTE_MONTH = 0.005 / 1000, 0.0004 / 1000, 0.023
# A small run: its spans and its commit. A batch: its facts. A shipper asks for the store's time each hour.
REQUESTS_OF_RUN, REQUESTS_OF_BATCH, CLOCK_REQUESTS = 2, 1, 24
RUN_BYTES, FACTS_BYTES = 50_000, 1_500
# `push --follow` looks that often.
POLL_SECONDS, DAY = 5, 86_400
NAMES_OF_LISTING, MAX_BATCH = 1_000, 500
COMPACTED_BYTES = 32 * 1024 * 1024
SHIPPERS, READERS, SYNCS_A_DAY = 500, 20, 96
# Removing a run reads its metadata and lists its folder. For a hundred of them the baselines are listed, and an object of facts is written; removing
# objects is free.
READS_OF_REMOVAL, LISTINGS_OF_REMOVAL, WRITES_OF_REMOVALS, REMOVALS_TOGETHER = 1, 1, 2, 100


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
    shipping = writes * WRITE + SHIPPERS * CLOCK_REQUESTS * READ
    listings = max(SYNCS_A_DAY, objects / NAMES_OF_LISTING)
    # Each look also asks when the bucket was pruned.
    reading = READERS * (listings * WRITE + (objects + SYNCS_A_DAY) * READ)
    # Each night: all facts of the other days are read, one day is compacted, as many runs are removed as have come.
    compacted = math.ceil(runs * FACTS_BYTES / COMPACTED_BYTES)
    kept_days = 90
    pruning = ((kept_days * compacted + 2 * objects) * READ + (2 * objects / NAMES_OF_LISTING + compacted) * WRITE
               + runs * (READS_OF_REMOVAL * READ + (LISTINGS_OF_REMOVAL + WRITES_OF_REMOVALS / REMOVALS_TOGETHER) * WRITE))
    stored = runs * kept_days * (RUN_BYTES + FACTS_BYTES) / 1e9
    return {"runs a year": runs_of_year, "runs a day": runs, "objects of facts": objects, "writes": writes,
            "first sync": f"{kept_days * compacted} objects, {runs * kept_days * FACTS_BYTES / 1e9:.1f} GB",
            "shipping": shipping, "reading": reading, "pruning": pruning, "storage": stored * GIGABYTE_MONTH / 30.4}


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
    rows.append(("facts of 90 days, compacted", [column["first sync"] for column in columns]))
    rows += [(f"$ a day: {name}", [f"{column[key]:,.2f}" for column in columns])
             for name, key in (("shipping", "shipping"), (f"{READERS} readers", "reading"), ("pruning", "pruning"), ("storage", "storage"))]
    rows.append(("$ a day, together", [f"{sum(column[key] for key in ('shipping', 'reading', 'pruning', 'storage')):,.2f}"
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
