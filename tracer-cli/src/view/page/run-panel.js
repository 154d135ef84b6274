// What a run holds besides its steps: the evidence of its loops, what it did, where it ran, and its files.

import { getJson, runPath } from "./api.js";
import { fill, glyph, make } from "./dom.js";
import { bytes, count, counted, duration, exactly } from "./units.js";

/** @import { Evidence, LoopReport } from "./contract" */
/** @import { RunPage } from "./run.js" */

/** Where the files of the run are; they stay where they are. @type {Promise<any> | undefined} */
let paths;
/** More places are counted. */
const MOST_PLACES = 24;

/**
 * @param {LoopReport} report
 * @param {(eventId: string) => void} jump
 * @returns {HTMLElement}
 */
export function loopCard(report, jump) {
  const { cost, evidence } = report;
  const link = (/** @type {Evidence} */ { event_id: id, number, name }) =>
    make("button.evidence-link", { title: name, onclick: () => jump(id) }, `#${number}`);
  const warned = evidence.filter((step) => step.is_evidence);
  const after = evidence.filter((step) => !step.is_evidence);
  const places = (/** @type {Evidence[]} */ list) => [...list.slice(0, MOST_PLACES).map(link), list.length > MOST_PLACES ? `and ${count(list.length - MOST_PLACES)} more` : null];
  const spent = [
    cost.steps > 0 && counted(cost.steps, "step"), cost.duration_us !== null && duration(cost.duration_us), cost.tokens !== null && cost.tokens > 0 && counted(cost.tokens, "token"),
  ].filter((part) => part !== false);
  /** @param {string} label @param {...(Node | string | null)} told */
  const fact = (label, ...told) => make("div", null, make("dt", null, label), make("dd", null, ...told));
  return make("section.loop-card", { data: { kind: "loop" } },
    make("h3", null, glyph("loop"), report.title, make("span.muted", null, ` warned at #${report.number}`)),
    make("dl.facts-list", null,
      fact("pattern", `${report.kind ?? "repeated"}: `, make("span.mono", null, report.pattern)),
      fact("evidence", ...(warned.length > 0 ? places(warned) : ["none of it is in this run"]), report.missing > 0 ? ` and ${count(report.missing)} that are not in this run` : null),
      after.length > 0 ? fact("repeated on", ...places(after)) : null,
      ...report.differences.map(({ label, text }) => fact(label, text)),
      spent.length > 0 ? fact("cost", `${spent.join(", ")} after the first time`) : null,
      fact("then", ...(report.next ? [link(report.next), ` ${report.next.name}`] : ["nothing more was called"]))));
}

/** @param {RunPage} page */
export function runPanel(page) {
  const { overview } = page;
  if (!overview) return [];
  const { environment, run, totals } = overview;
  const files = make("div");
  paths ??= getJson(runPath(page.id, "/paths"));
  paths.then(({ paths: found }) => fill(files, facts(Object.entries(found).map(([name, path]) => [name, String(path)]))), () => {});
  return [
    ...overview.loops.map((report) => loopCard(report, (event) => page.goTo(event))),
    section("What it did", facts([
      ["steps", count(totals.steps)], ["model calls", count(totals.llm_calls)], ["tool calls", count(totals.tool_calls)],
      ["failed calls", count(totals.failed_calls)], ["errors", count(totals.errors)], ["loop warnings", count(totals.loop_warnings)],
      ["tokens", totals.tokens.total === null ? "not told" : `${count(totals.tokens.total)} (${count(totals.tokens.input ?? 0)} in, ${count(totals.tokens.output ?? 0)} out)`],
    ])),
    section("Where it ran", facts([
      ["arguments", environment?.argv.join(" ") ?? "known when it has ended"], ["directory", environment?.cwd ?? ""],
      ["platform", environment?.platform ?? ""], ["language", environment?.language_version ?? ""],
      ["started", overview.started_at ? exactly(Date.parse(overview.started_at)) : ""], ["ended", run?.ended_at ? exactly(Date.parse(run.ended_at)) : ""],
      ["log", bytes(overview.log_bytes)],
    ])),
    section("Files", files),
  ];
}

/** @param {[string, string][]} list */
export function facts(list) {
  return make("dl.facts-list", null, list.filter(([, value]) => value !== "").map(([name, value]) =>
    make("div", null, make("dt", null, name), make("dd", null, value))));
}

/**
 * @param {string} title
 * @param {...(Node | string | false | null)} content
 */
export function section(title, ...content) {
  return make("section.part", null, make("h3", null, title), ...content);
}
