// The comparison of two runs, or of a baseline and a run: what differs in numbers, tools and models, and every call with its counterpart.

import { getJson, runPath } from "./api.js";
import { fill, glyph, make, table } from "./dom.js";
import { showError } from "./frame.js";
import { Latest } from "./latest.js";
import { policySection } from "./policy-checks.js";
import { runName, statusBadge } from "./runs-row.js";
import { counted } from "./units.js";
import { shownValue, valueView, wordDifference } from "./values.js";

/** @import { Call, PairJson, DiffAnswer, Side, StepJson } from "./answers" */
/** @typedef {Record<string, string>} Sides `a` and `b`, or `a` and `baseline` */

/** Calls that are added at once. */
const PAGE_SIZE = 150;
/** A longer series of unchanged calls is folded. */
const MIN_FOLDED = 4;

/**
 * Compares, and shows the comparison, or why there is none.
 *
 * @param {HTMLElement} content
 * @param {Sides} sides
 * @param {Latest} [latest] of the place that shows one comparison after the other
 * @returns {Promise<DiffAnswer | null>}
 */
export async function showComparison(content, sides, latest = new Latest()) {
  if (content.childElementCount === 0) fill(content, make("p.empty", null, "Comparing …"));
  try {
    const comparison = /** @type {DiffAnswer | null} */ (await latest.ask(pathOf(sides)));
    if (comparison) fill(content, comparisonView(comparison, sides));
    return comparison;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    fill(content, make("p.empty", null, make("strong", null, "These cannot be compared. "), reason));
    return null;
  }
}

/**
 * @param {Sides} sides
 * @param {number} [from] the first pair of calls
 */
function pathOf(sides, from = 0) {
  return `/api/diff?${new URLSearchParams({ ...sides, from: String(from) })}`;
}

/**
 * @param {DiffAnswer} comparison
 * @param {Sides} sides for the calls that are not in it yet
 * @returns {HTMLElement}
 */
function comparisonView(comparison, sides) {
  const { before, after, metrics, name_changes: nameChanges } = comparison;
  const changed = metrics.filter((metric) => metric.before !== metric.after);
  const same = metrics.filter((metric) => metric.before === metric.after);
  return make(
    "div.comparison",
    null,
    make("div.sides", null, side("Before", before), side("After", after)),
    make("p.verdict-line", null, comparison.summary),
    divergence(comparison),
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
    nameChanges.length > 0 &&
      make(
        "section.part",
        null,
        make("h2", null, "Tools and models"),
        nameChanges.map((change) => make("p", null, change)),
      ),
    make("section.part", null, make("h2", null, "Calls, side by side"), callsTable(comparison, sides)),
  );
}

/** The first pair of calls that differs; of a call that one side has alone, its arguments. @param {DiffAnswer} comparison */
function divergence({ calls, before, after }) {
  const first = calls.find(({ change }) => change !== "same");
  if (!first) return null;
  const rows = make("tbody", null, pairRows(first, before, after));
  const [call, side] = first.after ? [first.after, after] : [first.before, before];
  const isAlone = !first.before || !first.after;
  if (isAlone && call?.event_id && side.kind === "run") addArguments(rows, side, call.event_id, !first.after).catch(showError);
  return make("section.part", null, make("h2", null, "First difference"), callPairs(rows));
}

/** @param {HTMLTableSectionElement} rows @param {Side} side @param {string} event @param {boolean} isBefore */
async function addArguments(rows, side, event, isBefore) {
  const { tool } = /** @type {StepJson} */ (await getJson(runPath(side.run_id, `/steps/${encodeURIComponent(event)}`)));
  if (!tool?.arguments) return;
  const cells = [
    make(isBefore ? "td.before" : "td.after", null, shownValue(tool.arguments)),
    make("td.mono.muted", null, "arguments"),
    make("td"),
  ];
  rows.append(make("tr.difference", null, isBefore ? cells : cells.reverse()));
}

/** @param {HTMLTableSectionElement} body */
function callPairs(body) {
  return table("table.calls", ["Before", make("span.unseen", null, "Change"), "After"], body);
}

/** @param {string} label @param {Side} side */
function side(label, { kind, run_id: id, run_name: name, run_status: status }) {
  return make(
    "div.side-card",
    null,
    make("span.muted", null, kind === "baseline" ? `${label}, a baseline` : label),
    make("a", { href: `/r/${id}` }, runName(name)),
    make("span.mono.muted", null, id.slice(0, 8)),
    statusBadge(status),
  );
}

/** @param {DiffAnswer["metrics"]} metrics */
function metricsTable(metrics) {
  return table(
    "table.metrics",
    ["Number", "Before", "After", "Change"],
    make(
      "tbody",
      null,
      metrics.map(({ label, shown: [before, after], difference }) =>
        make(
          "tr",
          null,
          make("th", { scope: "row" }, label),
          make("td", null, before),
          make("td", null, after),
          make("td", null, difference),
        ),
      ),
    ),
  );
}

/** @param {DiffAnswer} comparison @param {Sides} sides */
function callsTable(comparison, sides) {
  const { before, after, pair_count: all } = comparison;
  if (all === 0) return make("p.muted", null, "Neither called a model or a tool.");
  const calls = [...comparison.calls];
  let further = comparison.next;
  const body = make("tbody");
  let next = 0;
  const more = make("button", { onclick: () => extend().catch(showError) });
  const extend = async () => {
    if (next >= calls.length && further !== null) {
      more.disabled = true;
      const part = /** @type {DiffAnswer} */ (await getJson(pathOf(sides, further)));
      calls.push(...part.calls);
      further = part.next;
      more.disabled = false;
    }
    for (let added = 0; added < PAGE_SIZE && next < calls.length; added += 1) {
      let end = next;
      while (end < calls.length && calls[end].change === "same") end += 1;
      if (end - next >= MIN_FOLDED) {
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
  return make("div", null, callPairs(body), more);
}

/** @param {PairJson[]} pairs @param {Side} before @param {Side} after */
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
          onclick: () => row.replaceWith(...pairs.slice(0, PAGE_SIZE * 4).flatMap((pair) => pairRows(pair, before, after))),
        },
        `${counted(pairs.length, "call")} the same`,
      ),
    ),
  );
  return row;
}

/** @param {PairJson} pair @param {Side} before @param {Side} after */
function pairRows(pair, before, after) {
  const rows = [
    make(
      "tr",
      { data: { change: pair.change } },
      callCell(pair.before, before),
      make("td.change", null, make("span.sign", { "aria-hidden": "true" }, pair.sign), [pair.change, ...pair.remarks].join(", ")),
      callCell(pair.after, after),
    ),
  ];
  for (const { path, before: was, after: is } of pair.differences) {
    const areTexts = typeof was === "string" && typeof is === "string";
    const [left, right] = areTexts ? wordDifference(was, is) : [was, is].map((value) => (value === null ? "(none)" : valueView(value)));
    rows.push(make("tr.difference", null, make("td.before", null, left), make("td.mono.muted", null, path), make("td.after", null, right)));
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
