// One row of the runs table: made once, then given the run to show.

import { glyph, make, say, setGlyph, visible } from "./dom.js";
import { STATUS, runName } from "./run-about.js";
import { ago, count, duration, exactly, quantity } from "./units.js";

/** @import { TableRow } from "./answers" */

/**
 * What a run called: the name with the most calls, and how many others there are.
 * @typedef {{ cell: HTMLElement, name: HTMLButtonElement, more: HTMLElement }} Called
 */

/**
 * @typedef {object} Parts
 * @property {HTMLInputElement} mark
 * @property {HTMLElement} status
 * @property {SVGSVGElement} sign
 * @property {HTMLElement} word
 * @property {HTMLAnchorElement} name
 * @property {HTMLElement} thread
 * @property {HTMLElement} origin
 * @property {HTMLElement} marks
 * @property {HTMLElement} subtitle
 * @property {HTMLElement} started
 * @property {HTMLElement} duration
 * @property {HTMLElement} steps
 * @property {HTMLElement} tokens
 * @property {HTMLElement} cost
 * @property {Called} models
 * @property {Called} tools
 * @property {HTMLElement} path
 * @property {HTMLElement} pathWords
 * @property {HTMLButtonElement} menu
 */

/** @type {WeakMap<HTMLElement, Parts>} */
const partsOf = new WeakMap();

/** @param {"model" | "tool"} field @returns {Called} */
function createCalled(field) {
  const name = make("button.called-name", { tabindex: -1, data: { field } });
  const more = make("span.more-called");
  return { cell: make(`div.cell.called.${field}-cell`, { role: "gridcell" }, name, more), name, more };
}

/** @param {Called} parts @param {string[]} names @param {number} number */
function renderCalled({ cell, name, more }, names, number) {
  const first = names[0] ?? "";
  name.hidden = number === 0;
  name.dataset.name = first;
  say(name, first);
  say(more, number > 1 ? `+${count(number - 1)}` : "");
  const rest = number > names.length ? ` and ${count(number - names.length)} more` : "";
  cell.title = visible(names.join(", ") + rest);
}

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
    origin: make("span.origin", { hidden: true }),
    marks: make("span.run-marks", { hidden: true }),
    subtitle: make("span.subtitle"),
    started: make("div.cell.started", { role: "gridcell" }),
    duration: make("div.cell.duration", { role: "gridcell" }),
    steps: make("div.cell.count", { role: "gridcell" }),
    tokens: make("div.cell.tokens", { role: "gridcell" }),
    cost: make("div.cell.cost", { role: "gridcell" }),
    models: createCalled("model"),
    tools: createCalled("tool"),
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
    make("div.cell.run-cell", { role: "gridcell" }, parts.name, parts.thread, parts.origin, parts.marks, parts.subtitle),
    parts.started,
    parts.duration,
    parts.steps,
    parts.tokens,
    parts.cost,
    parts.models.cell,
    parts.tools.cell,
    make("div.cell.path-cell", { role: "gridcell" }, parts.path, parts.pathWords),
    make("div.cell.menu-cell", { role: "gridcell" }, parts.menu),
  );
  partsOf.set(row, parts);
  return row;
}

/**
 * @param {HTMLElement} element
 * @param {TableRow | undefined} run a row that has not arrived yet is empty
 * @param {boolean} marked
 * @param {string} address where it is opened
 */
export function renderRunRow(element, run, marked, address) {
  const parts = partsOf.get(element);
  if (!parts) return;
  element.classList.toggle("awaited", !run);
  if (!run) return;
  const { details, counts, thread } = run;
  const name = runName(run.run_name);
  element.setAttribute("aria-selected", String(marked));
  parts.mark.checked = marked;
  parts.mark.setAttribute("aria-label", `Mark ${name}`);
  parts.menu.setAttribute("aria-label", `More for ${name}`);
  parts.status.dataset.runStatus = run.run_status;
  const { word, glyph: sign } = STATUS[run.run_status] ?? STATUS.damaged;
  setGlyph(parts.sign, sign);
  say(parts.word, word);
  say(parts.name, name);
  parts.name.href = address;
  parts.name.title = `${name}\n${run.trace_id}`;
  parts.origin.hidden = !run.origin;
  say(parts.origin, run.origin ? placeOf(run.origin) : "");
  parts.origin.title = run.origin ? `Read from ${run.origin}` : "";
  parts.thread.hidden = !thread;
  if (thread) {
    say(parts.thread, `${thread.number}/${thread.count}`);
    parts.thread.title = `Run ${thread.number} of ${thread.count} in the thread ${thread.id}: show them`;
    parts.thread.setAttribute("aria-label", parts.thread.title);
  }
  parts.marks.hidden = !run.marks;
  say(parts.marks, run.marks ?? "");
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
  say(parts.cost, run.cost_cell);
  parts.cost.title = run.cost_cell === "" ? "" : (run.cost?.words ?? "");
  renderCalled(parts.models, run.models, run.model_count);
  renderCalled(parts.tools, run.tools, run.tool_count);
  const path = details?.path ?? [];
  while (parts.path.childElementCount < path.length) parts.path.append(make("i"));
  parts.path.querySelectorAll("i").forEach((cell, place) => {
    cell.hidden = place >= path.length;
    cell.dataset.kind = path[place] ?? "";
  });
  parts.path.classList.toggle("part", more !== "");
  say(parts.pathWords, path.length > 0 ? `${more ? "First steps" : "Steps"}: ${path.join(", ")}` : "");
}

/**
 * A bucket without the scheme of its URL: there is little room in a row.
 * @param {string} url
 */
function placeOf(url) {
  return url.replace(/^[a-z0-9+]+:\/\//, "");
}
