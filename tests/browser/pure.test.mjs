// The page's logic that needs no browser: how quantities are reported, which rows are listed, and how a running run grows.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { test } from "node:test";

const page = "../../crates/view/page";
const { ago, bytes, duration, Timescale } = await import(`${page}/units.js`);
const { readColumns, rowsMoved } = await import(`${page}/columns.js`);
const { Outline } = await import(`${page}/outline.js`);
const { visible } = await import(`${page}/dom.js`);
const { joined } = await import(`${page}/commands.js`);
const { repeatWords } = await import(`${page}/step-row.js`);
const { address, readRoute } = await import(`${page}/route.js`);
const { batch, effect, signals, untracked } = await import(`${page}/store.js`);
const { wordDiff } = await import(`${page}/word-diff.js`);
const { KEYS, shownKey } = await import(`${page}/keys.js`);

const KINDS = ["run", "llm", "tool", "state", "error", "loop", "span"];

/** The server's binary answer for rows such as `{ name, kind, parent, start, duration, signature, flags }`, `first` being the first. */
function answer(rows, first = 0) {
  const names = [...new Set(rows.map(({ name }) => name))].map((name) => new TextEncoder().encode(name));
  const known = [...new Set(rows.map(({ name }) => name))];
  const layout = [
    [Float64Array, ({ start = 0 }) => start],
    [Float64Array, ({ duration: length = NaN }) => length],
    [Int32Array, ({ parent = -1 }) => parent],
    [Uint32Array, (_, row) => first + row],
    [Uint32Array, ({ name }) => known.indexOf(name)],
    [Uint32Array, ({ signature = 0 }) => signature],
    [Uint32Array, ({ tokens = 0 }) => tokens],
    [Uint8Array, ({ kind }) => KINDS.indexOf(kind)],
    [Uint8Array, ({ flags = 0 }) => flags],
  ];
  const size = layout.reduce((sum, [Column]) => sum + Math.ceil((rows.length * Column.BYTES_PER_ELEMENT) / 8) * 8, 64);
  const buffer = new ArrayBuffer(size + names.reduce((sum, name) => sum + 4 + name.length, 0));
  const view = new DataView(buffer);
  new Uint8Array(buffer).set(new TextEncoder().encode("TRCCOL03"));
  view.setUint32(8, rows.length, true);
  view.setUint32(12, names.length, true);
  view.setUint32(20, first, true);
  let at = 64;
  for (const [Column, cell] of layout) {
    new Column(buffer, at, rows.length).set(rows.map(cell));
    at += Math.ceil((rows.length * Column.BYTES_PER_ELEMENT) / 8) * 8;
  }
  for (const name of names) {
    view.setUint32(at, name.length, true);
    new Uint8Array(buffer).set(name, at + 4);
    at += 4 + name.length;
  }
  return buffer;
}

/** A run with a search that is repeated, within a group, and a failure. */
function sample() {
  const search = { name: "search", kind: "tool", parent: 1, signature: 7, duration: 5 };
  return readColumns(
    answer([
      { name: "run", kind: "run", duration: 100 },
      { name: "research", kind: "span", parent: 0, start: 10, duration: 40 },
      { ...search, start: 10 },
      { ...search, start: 20 },
      { ...search, start: 30 },
      { ...search, start: 40, signature: 8 },
      { name: "reply", kind: "tool", parent: 0, start: 60, duration: 20, flags: 1 },
    ]),
  );
}

function listed(outline) {
  return Array.from(
    { length: outline.length },
    (_, index) => `${outline.columns.name(outline.rowAt(index))}${outline.isFold(index) ? ` ×${outline.sizeOf(index)}` : ""}`,
  );
}

test("durations, moments and quantities are reported as the terminal tells them", () => {
  const cases = [
    [0, "0 µs"],
    [999, "999 µs"],
    [1_000, "1.00 ms"],
    [9_996, "10.0 ms"],
    [999_500, "1.00 s"],
    [8_230_000, "8.23 s"],
    [59_990_000, "1 min 00 s"],
    [7_500_000_000, "2 h 05 min"],
    [93_600_000_000, "1 d 02 h"],
  ];
  for (const [microseconds, reported] of cases) assert.equal(duration(microseconds), reported);
  const now = Date.parse("2026-11-21T12:00:00Z");
  assert.deepEqual(
    ["2026-11-21T11:59:59.5Z", "2026-11-21T11:12:00Z", "2026-11-20T11:00:00Z", "2026-01-01T00:00:00Z"].map((then) =>
      ago(Date.parse(then), now),
    ),
    ["now", "48 min ago", "25 h ago", "2026-01-01"],
  );
  assert.equal(bytes(64_500_000), "64.5 MB");
});

test("ticks are round and lie within the time that is shown", () => {
  const ticks = new Timescale(-10, 5_730_000).ticks(4);
  assert.deepEqual(
    ticks.map(({ label }) => label),
    ["0", "2 s", "4 s"],
  );
});

test("repeats of a call are folded from two on, and opened one by one", () => {
  const outline = new Outline(sample());
  assert.deepEqual(listed(outline), ["run", "research", "search", "search ×2", "search", "reply"]);
  outline.reveal(4);
  assert.deepEqual(listed(outline), ["run", "research", "search", "search", "search", "search", "reply"]);
});

test("failed attempts are folded before the call that they are at", () => {
  const ask = { name: "model", kind: "llm", parent: 0, signature: 7, duration: 5 };
  const rows = (/** @type {number[]} */ ...flags) =>
    listed(
      new Outline(
        readColumns(
          answer([{ name: "run", kind: "run", duration: 100 }, ...flags.map((flag, at) => ({ ...ask, start: 10 * at, flags: flag }))]),
        ),
      ),
    );
  assert.deepEqual(rows(1, 1, 0), ["run", "model ×2", "model"]);
  assert.deepEqual(rows(1, 0), ["run", "model", "model"]);
  assert.deepEqual(rows(1, 1, 1), ["run", "model ×2", "model"]);
  assert.deepEqual(rows(1, 1, 0, 0, 0, 0), ["run", "model ×2", "model", "model", "model ×2"]);
  assert.deepEqual(rows(0, 0, 0), ["run", "model", "model ×2"]);
});

test("a collapsed group hides what is nested in it, until a row of it is wanted", () => {
  const outline = new Outline(sample());
  outline.collapseAll();
  outline.update();
  assert.deepEqual(listed(outline), ["run", "research", "reply"]);
  assert.equal(outline.indexOf(3), 1);
  outline.reveal(5);
  assert.ok(listed(outline).includes("search ×2"));
});

test("a filter keeps the ancestors of what it lists, and counts only what fits", () => {
  const columns = sample();
  const failed = new Outline(columns, { kinds: ["error"] });
  assert.deepEqual([listed(failed), failed.matching], [["run", "reply"], 1]);
  const later = new Outline(columns, { range: [38, 45] }, failed);
  assert.deepEqual([listed(later), later.matching], [["run", "research", "search"], 3]);
});

test("steps sort by their duration, their own time and their tokens", () => {
  const rows = [
    { name: "run", kind: "run", duration: 100 },
    { name: "group", kind: "span", parent: 0, duration: 60 },
    { name: "think", kind: "llm", parent: 1, start: 5, duration: 30, tokens: 9 },
    { name: "look", kind: "tool", parent: 1, start: 20, duration: 30 },
    { name: "reply", kind: "llm", parent: 0, start: 70, duration: 20, tokens: 12 },
  ];
  const columns = readColumns(answer(rows));
  const sorted = (/** @type {string} */ sort) => listed(new Outline(columns, { sort }));
  assert.deepEqual(sorted("duration"), ["group", "think", "look", "reply"]);
  // The group itself took 5 before and 10 after what is nested in it.
  assert.deepEqual([columns.ownTime(1), ...sorted("own")], [15, "think", "look", "reply", "group"]);
  assert.deepEqual(sorted("tokens"), ["reply", "think"]);
  assert.deepEqual(
    [2, 4].map((row) => columns.callNumber(row)),
    [1, 2],
  );
});

test("the words of two texts that differ are marked, and no others", () => {
  const [before, after] = wordDiff("refund order 7 today", "refund the order 8 today");
  assert.deepEqual(
    before.filter(([, isOwn]) => isOwn).map(([text]) => text),
    ["7"],
  );
  assert.deepEqual(
    after.filter(([, isOwn]) => isOwn).map(([text]) => text.trim()),
    ["the", "8"],
  );
  assert.equal(before.map(([text]) => text).join(""), "refund order 7 today");
});

test("the critical path leaves out what the run did not wait for", () => {
  const rows = [
    { name: "run", kind: "run", duration: 100 },
    { name: "fast", kind: "span", parent: 0, duration: 40 },
    { name: "within", kind: "tool", parent: 1, start: 5, duration: 30 },
    { name: "slow", kind: "span", parent: 0, start: 10, duration: 70 },
    { name: "first", kind: "tool", parent: 3, start: 10, duration: 20 },
    { name: "beside", kind: "tool", parent: 3, start: 12, duration: 10 },
    { name: "last", kind: "tool", parent: 3, start: 40, duration: 40 },
  ];
  const outline = new Outline(readColumns(answer(rows)), { kinds: ["critical"] });
  assert.deepEqual(listed(outline), ["run", "slow", "first", "last"]);
});

test("an effect runs again once for all that it read and a batch changed", () => {
  const model = { a: 1, b: 2, c: 3 };
  signals(model, "a", "b", "c");
  const seen = [];
  effect(() => seen.push(model.a + model.b + untracked(() => model.c)));
  effect(() => void (model.b > 10 && (model.a = 0)));
  model.a = 1;
  model.c = 30;
  batch(() => {
    model.a = 5;
    model.b = 20;
  });
  assert.deepEqual(seen, [6, 55, 50]);
});

test("the guide shows every key of the one table", async () => {
  const guide = await readFile("../../docs/the-viewer.md", "utf8");
  const rows = [
    ...new Set(
      Object.values(KEYS)
        .flatMap((table) => Object.entries(table))
        .map(([group, list]) => {
          const keys = list.map(
            ([, keys, does]) =>
              `${[keys]
                .flat()
                .map((key) => `\`${shownKey(key)}\``)
                .join(" ")} ${does}`,
          );
          return `| ${group} | ${keys.join("; ")} |`;
        }),
    ),
  ];
  const begin = guide.indexOf("| group | keys |");
  const end = guide.indexOf("\n\n", begin);
  const table = ["| group | keys |", "|---|---|", ...rows].join("\n");
  if (process.env.TRACER_WRITE_KEYS === "1") await writeFile("../../docs/the-viewer.md", guide.slice(0, begin) + table + guide.slice(end));
  else assert.equal(guide.slice(begin, end), table, "TRACER_WRITE_KEYS=1 npm run pure writes it");
});

test("rows that come later replace the end of the columns, and those that moved are found again", () => {
  const before = sample();
  const later = [
    { name: "think", kind: "llm", parent: 0, start: 55, duration: 5 },
    { name: "reply", kind: "tool", parent: 0, start: 60, duration: 20, flags: 1 },
  ];
  const after = readColumns(answer(later, 6), before);
  assert.deepEqual(listed(new Outline(after)).slice(-2), ["think", "reply"]);
  assert.deepEqual([after.firstChange, after.depth[6], after.name(1)], [6, 1, "research"]);
  assert.equal(rowsMoved(before, after)(6), 7);
});

test("the address holds the whole view and gives it back", () => {
  globalThis.location = { pathname: "/r/1", search: "" };
  const search = "?view=transcript&at=ab12&kind=llm%2Ctool&q=kind%3Atool&t0=10&t1=20&fold=0";
  const route = readRoute(search);
  assert.deepEqual([route.view, route.kinds, route.range, route.folding], ["transcript", ["llm", "tool"], [10, 20], false]);
  assert.equal(address(route), `/r/1${search}`);
  assert.equal(address(readRoute("?view=nonsense&t0=20&t1=10")), "/r/1");
});

test("a character that hides or turns text round is shown by its number, and no other is touched", () => {
  assert.equal(visible("a\u202egnp.exe\u001b[31m\u200b"), "a‹U+202E›gnp.exe‹U+001B›[31m‹U+200B›");
  const text = "Grüße\n\t👩‍💻 — мир → שלום";
  assert.equal(visible(text), text);
});

test("copied commands reach the runs that the page shows", () => {
  const words = { program: "tracer --data-dir '/my runs'", store: " --store s3://team/agents" };
  assert.equal(joined(words, "show", "0cc00a25 --step 3"), "tracer --data-dir '/my runs' show --store s3://team/agents 0cc00a25 --step 3");
  assert.equal(
    joined(words, "validate-trace", "0cc00a25"),
    "tracer --data-dir '/my runs' validate-trace --store s3://team/agents 0cc00a25",
  );
  assert.equal(joined(words, "replay", "0cc00a25"), "tracer --data-dir '/my runs' replay 0cc00a25");
  assert.equal(joined({ program: "tracer", store: "" }, "demo"), "tracer demo");
});

test("repeats are identical in what was compared alone", () => {
  assert.equal(repeatWords("tool", true), "identical arguments");
  assert.equal(repeatWords("llm", true), "identical prompt");
  assert.deepEqual(
    [
      ["tool", false],
      ["state", true],
    ].map(([kind, isSeen]) => repeatWords(kind, isSeen)),
    ["the same again", "the same again"],
  );
});
