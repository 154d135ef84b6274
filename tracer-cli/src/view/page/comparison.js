// Two runs, or a baseline and a run, side by side: what differs in numbers, tools and models, and every call beside its counterpart.

import { getJson } from "./api.js";
import { glyph, make } from "./dom.js";
import { showError } from "./frame.js";
import { policySection } from "./policy-checks.js";
import { standingBadge } from "./run-about.js";
import { count, counted, duration } from "./units.js";
import { valueView } from "./values.js";

/** @import { Call, CallPair, Comparison, Side } from "./contract" */

/** Calls that are shown at once. */
const PART = 150;
/** So many calls in a row that are the same are folded. */
const FEWEST_FOLDED = 4;

/** @type {Record<CallPair["change"], string>} */
const SIGN = { same: "=", changed: "≠", added: "+", removed: "−", moved: "↕", repeated: "⟳" };

/**
 * @param {Record<string, string>} sides `a` and `b`, or `a` and `baseline`
 * @param {number} [from] the first pair of calls
 * @returns {Promise<Comparison>}
 */
export function compare(sides, from = 0) {
  return getJson(`/api/diff?${new URLSearchParams({ ...sides, from: String(from) })}`);
}

/**
 * @param {Comparison} comparison
 * @param {Record<string, string>} sides what it is of, for the calls that are not in it yet
 * @returns {HTMLElement}
 */
export function comparisonView(comparison, sides) {
  const { before, after, metrics } = comparison;
  const loops = comparison.records.find((record) => record.event_type === "LOOP_WARNING");
  const changed = metrics.filter((metric) => metric.before !== metric.after);
  const same = metrics.filter((metric) => metric.before === metric.after);
  return make(
    "div.comparison",
    null,
    make("div.sides", null, side("Before", before, loops?.before ?? 0), side("After", after, loops?.after ?? 0)),
    make("p.verdict-line", null, inWords(comparison, changed.length)),
    policySection(comparison),
    make(
      "section.part",
      null,
      make("h2", null, "Numbers"),
      changed.length > 0 ? metricsTable(changed) : make("p.muted", null, "Every number is the same."),
      same.length > 0 &&
        make(
          "details",
          null,
          make("summary", null, `${counted(same.length, "number")} that ${same.length === 1 ? "is" : "are"} the same`),
          metricsTable(same),
        ),
    ),
    names(comparison),
    make("section.part", null, make("h2", null, "Calls, side by side"), callsTable(comparison, sides)),
  );
}

/**
 * @param {string} label
 * @param {Side} side
 * @param {number} loops how many loop warnings it has
 */
function side(label, { kind, run_id: id, run_name: name, status }, loops) {
  const ended = status === "ok" ? (loops > 0 ? "loop" : "ok") : "failed";
  const standing = status === "running" ? "running" : ended;
  return make(
    "div.side-card",
    null,
    make("span.muted", null, kind === "baseline" ? `${label}, a baseline` : label),
    make("a", { href: `/r/${id}` }, name ?? "unnamed run"),
    make("span.mono.muted", null, id.slice(0, 8)),
    standingBadge(standing),
  );
}

/**
 * @param {Comparison} comparison
 * @param {number} numbers how many differ
 */
function inWords({ is_same: isSame, calls, pair_count: pairs }, numbers) {
  if (isSame) return "Both went the same way and used the same.";
  const counts = new Map();
  for (const { change } of calls) counts.set(change, (counts.get(change) ?? 0) + 1);
  const told = ["changed", "added", "removed", "moved", "repeated"]
    .filter((change) => counts.has(change))
    .map((change) => `${count(counts.get(change))} ${change}`);
  const parts = [
    told.length > 0
      ? `Of the ${pairs > calls.length ? `first ${count(calls.length)} ` : ""}calls, ${told.join(", ")}`
      : "The calls are the same",
    numbers > 0 ? `${counted(numbers, "number")} differ${numbers === 1 ? "s" : ""}` : "",
  ];
  return `${parts.filter(Boolean).join("; ")}.`;
}

/** @param {Comparison["metrics"]} metrics */
function metricsTable(metrics) {
  const head = ["Number", "Before", "After", "Change"].map((label) => make("th", { scope: "col" }, label));
  return make(
    "table.metrics",
    null,
    make("thead", null, make("tr", null, head)),
    make(
      "tbody",
      null,
      metrics.map(({ metric, before, after }) =>
        make(
          "tr",
          null,
          make("th", { scope: "row" }, metric.replaceAll("_", " ").replace(/ ms$/, "")),
          make("td", null, shown(metric, before)),
          make("td", null, shown(metric, after)),
          make("td", null, difference(metric, before, after)),
        ),
      ),
    ),
  );
}

/** @param {string} metric @param {number | null} value */
function shown(metric, value) {
  if (value === null) return "not known";
  if (metric.endsWith("_ms")) return duration(value * 1_000);
  return Number.isInteger(value) ? count(value) : value.toFixed(3);
}

/** @param {string} metric @param {number | null} before @param {number | null} after */
function difference(metric, before, after) {
  if (before === null || after === null || before === after) return "";
  const by = after - before;
  const sign = by > 0 ? "+" : "−";
  const percent = before === 0 ? "" : ` (${sign}${Math.abs(Math.round((by / before) * 100))} %)`;
  return `${sign}${shown(metric, Math.abs(by))}${percent}`;
}

/** @param {Comparison} comparison */
function names({ tools, models }) {
  /** @param {string} label @param {string[]} list */
  const line = (label, list) => list.length > 0 && make("div", null, make("dt", null, label), make("dd", null, list.join(", ")));
  const lines = [
    line("new tools", tools.added),
    line("tools no longer called", tools.removed),
    line(
      "called more often",
      tools.repeated.map(({ tool, before, after }) => `${tool} (${before} → ${after})`),
    ),
    tools.is_reordered && line("order", ["the tools are called in another order"]),
    line("new models", models.added),
    line("models no longer asked", models.removed),
  ];
  return lines.some(Boolean) && make("section.part", null, make("h2", null, "Tools and models"), make("dl.facts-list.wide", null, lines));
}

/** @param {Comparison} comparison @param {Record<string, string>} sides */
function callsTable(comparison, sides) {
  const { before, after, pair_count: all } = comparison;
  if (all === 0) return make("p.muted", null, "Neither called a model or a tool.");
  const calls = [...comparison.calls];
  let further = comparison.next;
  const body = make("tbody");
  const table = make(
    "table.calls",
    null,
    make(
      "thead",
      null,
      make(
        "tr",
        null,
        ["Before", "", "After"].map((label) =>
          label ? make("th", { scope: "col" }, label) : make("th", { scope: "col" }, make("span.unseen", null, "Change")),
        ),
      ),
    ),
    body,
  );
  let next = 0;
  const more = make("button", { onclick: () => extend().catch(showError) });
  const extend = async () => {
    if (next >= calls.length && further !== null) {
      more.disabled = true;
      const part = await compare(sides, further);
      calls.push(...part.calls);
      further = part.next;
      more.disabled = false;
    }
    for (let added = 0; added < PART && next < calls.length; added += 1) {
      let end = next;
      while (end < calls.length && calls[end].change === "same") end += 1;
      if (end - next >= FEWEST_FOLDED) {
        body.append(foldRow(calls.slice(next, end), before, after));
        next = end;
      } else {
        body.append(...pairRows(calls[next], before, after));
        next += 1;
      }
    }
    more.textContent = `Show more of ${counted(all - next, "call")}`;
    more.hidden = next >= all;
  };
  extend().catch(showError);
  return make("div", null, table, more);
}

/** @param {CallPair[]} pairs @param {Side} before @param {Side} after */
function foldRow(pairs, before, after) {
  const row = make(
    "tr.same-fold",
    null,
    make(
      "td",
      { colspan: 3 },
      make(
        "button.quiet",
        {
          onclick: () => row.replaceWith(...pairs.slice(0, PART * 4).flatMap((pair) => pairRows(pair, before, after))),
        },
        `${counted(pairs.length, "call")} the same`,
      ),
    ),
  );
  return row;
}

/** @param {CallPair} pair @param {Side} before @param {Side} after */
function pairRows(pair, before, after) {
  const rows = [
    make(
      "tr",
      { data: { change: pair.change } },
      callCell(pair.before, before),
      make("td.change", null, make("span.sign", { "aria-hidden": "true" }, SIGN[pair.change]), pair.change),
      callCell(pair.after, after),
    ),
  ];
  for (const { path, before: was, after: is } of pair.differences) {
    rows.push(
      make(
        "tr.difference",
        null,
        make("td.before", null, was === null ? "not there" : valueView(was)),
        make("td.mono.muted", null, path),
        make("td.after", null, is === null ? "not there" : valueView(is)),
      ),
    );
  }
  return rows;
}

/** @param {Call | null} call @param {Side} side */
function callCell(call, { run_id: run, kind }) {
  if (!call) return make("td");
  const kindName = call.event_type === "LLM_CALL" ? "llm" : "tool";
  const name = call.event_id && kind === "run" ? make("a", { href: `/r/${run}?at=${call.event_id}` }, call.name) : call.name;
  return make(
    "td",
    { data: { kind: call.is_failed ? "error" : kindName } },
    make(
      "span.call-cell",
      null,
      glyph(call.is_failed ? "error" : kindName),
      name,
      call.step !== null && make("span.mono.muted", null, `#${call.step}`),
      call.is_failed && make("span", { class: "failed-word" }, "failed"),
    ),
  );
}
