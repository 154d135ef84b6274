// One row of the runs table: made once, then given the run to show.

import { glyph, make, say, setGlyph } from "./dom.js";
import { STATUS } from "./run-about.js";
import { ago, count, duration, exactly, quantity } from "./units.js";

/** @import { RunRow } from "./contract" */

/**
 * @typedef {object} Parts
 * @property {HTMLInputElement} mark
 * @property {HTMLElement} status
 * @property {SVGSVGElement} sign
 * @property {HTMLElement} word
 * @property {HTMLAnchorElement} name
 * @property {HTMLElement} thread
 * @property {HTMLElement} subtitle
 * @property {HTMLElement} started
 * @property {HTMLElement} duration
 * @property {HTMLElement} steps
 * @property {HTMLElement} tokens
 * @property {HTMLElement} path
 * @property {HTMLElement} pathWords
 * @property {HTMLButtonElement} menu
 */

/** @type {WeakMap<HTMLElement, Parts>} */
const partsOf = new WeakMap();

/** @returns {HTMLDivElement} */
export function createRunRow() {
  const sign = glyph("ok");
  const parts = {
    mark: make("input", { type: "checkbox", tabindex: -1 }),
    sign,
    word: make("span"),
    status: make("span.run-status"),
    name: make("a.run-name", { tabindex: -1 }),
    thread: make("button.thread", { tabindex: -1, hidden: true }),
    subtitle: make("span.subtitle"),
    started: make("div.cell.started", { role: "gridcell" }),
    duration: make("div.cell.duration", { role: "gridcell" }),
    steps: make("div.cell.count", { role: "gridcell" }),
    tokens: make("div.cell.tokens", { role: "gridcell" }),
    pathWords: make("span.unseen"),
    path: make("span.path", { "aria-hidden": "true" }),
    menu: make("button.icon", { tabindex: -1, "aria-haspopup": "menu" }, glyph("more")),
  };
  parts.status.append(sign, parts.word);
  const row = make(
    "div.run-row",
    { role: "row", tabindex: -1 },
    make("div.cell.mark-cell", { role: "gridcell" }, parts.mark),
    make("div.cell.status-cell", { role: "gridcell" }, parts.status),
    make("div.cell.run-cell", { role: "gridcell" }, parts.name, parts.thread, parts.subtitle),
    parts.started,
    parts.duration,
    parts.steps,
    parts.tokens,
    make("div.cell.path-cell", { role: "gridcell" }, parts.path, parts.pathWords),
    make("div.cell.menu-cell", { role: "gridcell" }, parts.menu),
  );
  partsOf.set(row, parts);
  return row;
}

/**
 * @param {HTMLElement} element
 * @param {number} index
 * @param {RunRow | undefined} run a row that has not arrived yet is empty
 * @param {boolean} marked
 */
export function renderRunRow(element, index, run, marked) {
  const parts = partsOf.get(element);
  if (!parts) return;
  element.dataset.index = String(index);
  element.setAttribute("aria-rowindex", String(index + 2));
  element.classList.toggle("awaited", !run);
  if (!run) return;
  const { details, counts, thread } = run;
  const name = run.run_name ?? "unnamed run";
  element.setAttribute("aria-selected", String(marked));
  parts.mark.checked = marked;
  parts.mark.setAttribute("aria-label", `Mark ${name}`);
  parts.menu.setAttribute("aria-label", `More for ${name}`);
  parts.status.dataset.runStatus = run.run_status;
  const { word, glyph: sign } = STATUS[run.run_status] ?? STATUS.damaged;
  setGlyph(parts.sign, sign);
  say(parts.word, word);
  say(parts.name, name);
  parts.name.href = `/r/${run.trace_id}`;
  parts.name.title = `${name}\n${run.trace_id}`;
  parts.thread.hidden = !thread;
  if (thread) {
    say(parts.thread, `${thread.number}/${thread.count}`);
    parts.thread.title = `Run ${thread.number} of ${thread.count} in the thread ${thread.id}: show them`;
    parts.thread.setAttribute("aria-label", parts.thread.title);
  }
  say(parts.subtitle, run.problem ?? details?.subtitle ?? "");
  const started = run.started_at ? Date.parse(run.started_at) : NaN;
  say(parts.started, Number.isNaN(started) ? "" : ago(started, Date.now()));
  parts.started.title = Number.isNaN(started) ? "" : exactly(started);
  const running = run.run_status === "running" && !Number.isNaN(started);
  say(parts.duration, running ? `${duration((Date.now() - started) * 1_000)}+` : run.duration_us === null ? "" : duration(run.duration_us));
  const steps = details ? details.steps : counts ? counts.llm_calls + counts.tool_calls : null;
  // Of a long run only the first part was read.
  const more = details && !details.is_whole ? "+" : "";
  say(parts.steps, steps === null ? "" : `${count(steps)}${more}`);
  say(parts.tokens, details?.tokens == null ? "" : `${quantity(details.tokens)}${more}`);
  parts.tokens.title = [details?.token_shares, details?.tokens == null ? null : run.cost?.words].filter(Boolean).join(" · ");
  const path = details?.path ?? [];
  while (parts.path.childElementCount < path.length) parts.path.append(make("i"));
  parts.path.querySelectorAll("i").forEach((cell, place) => {
    cell.hidden = place >= path.length;
    cell.dataset.kind = path[place] ?? "";
  });
  parts.path.classList.toggle("part", more !== "");
  say(parts.pathWords, path.length > 0 ? `${more ? "First steps" : "Steps"}: ${path.join(", ")}` : "");
}
