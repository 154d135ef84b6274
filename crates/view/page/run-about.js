// The run as a whole: the evidence of its loops, where it ran, its files.

import { getJson, runPath } from "./api.js";
import { contextBill } from "./context-bill.js";
import { glyph, make } from "./dom.js";
import { bytes, count, exactly } from "./units.js";

/** @import { LoopReport } from "./answers" */
/** @import { RunModel } from "./run-model.js" */

/** More steps of a fact are counted. */
const MAX_LINKS = 24;

/**
 * @param {RunModel} page
 * @param {LoopReport} report
 * @returns {HTMLElement}
 */
export function loopCard(page, report) {
  const steps = new Map([...report.evidence, ...(report.next ? [report.next] : [])].map((step) => [step.number, step]));
  /** @param {number} number */
  const link = (number) => {
    const step = steps.get(number);
    return step && make("button.evidence-link", { title: step.name, onclick: () => page.goTo(step.event_id) }, `#${number}`);
  };
  return make(
    "section.loop-card",
    { data: { kind: "loop" } },
    make("h3", null, glyph("loop"), make("span", null, report.sentence)),
    make(
      "dl.facts-list",
      null,
      report.facts.map((fact) =>
        make(
          "div",
          null,
          make("dt", null, fact.label),
          make(
            "dd",
            null,
            ...fact.steps.slice(0, MAX_LINKS).map(link),
            fact.steps.length > MAX_LINKS ? `and ${count(fact.steps.length - MAX_LINKS)} more ` : null,
            fact.text && ` ${fact.text}`,
          ),
        ),
      ),
    ),
  );
}

/** @param {RunModel} page */
export function runPanel(page) {
  const { overview } = page;
  if (!overview) return [];
  const { environment, run, totals } = overview;
  const files = make(
    "details",
    {
      ontoggle: async () => {
        if (files.childElementCount > 1) return;
        const { paths } = await getJson(runPath(page.id, "/paths"));
        files.append(facts(Object.entries(paths).map(([name, path]) => [name.replace("_", " "), String(path)])));
      },
    },
    make("summary", null, "Files"),
  );
  return [
    ...overview.loops.map((report) => loopCard(page, report)),
    section(
      "Where it ran",
      facts([
        ["tokens", totals.tokens.shares ?? ""],
        ["tags", overview.tags.join(", ")],
        ["arguments", environment?.argv.join(" ") ?? (overview.run_status === "running" ? "known when it has ended" : "not recorded")],
        ["directory", environment?.cwd ?? ""],
        ["platform", environment?.platform ?? ""],
        ["language", environment?.language_version ?? ""],
        ["started", overview.started_at ? exactly(Date.parse(overview.started_at)) : ""],
        ["ended", run?.ended_at ? exactly(Date.parse(run.ended_at)) : ""],
        ["log", bytes(overview.log_bytes)],
      ]),
    ),
    totals.llm_calls > 0 && contextBill(page),
    files,
  ];
}

/** @param {[string, string][]} list */
export function facts(list) {
  return make(
    "dl.facts-list",
    null,
    list.filter(([, value]) => value !== "").map(([name, value]) => make("div", null, make("dt", null, name), make("dd", null, value))),
  );
}

/**
 * @param {string} title
 * @param {...(Node | string | false | null)} content
 */
export function section(title, ...content) {
  return make("section.part", null, make("h3", null, title), ...content);
}
