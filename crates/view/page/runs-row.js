// One row of the runs table: made once, then given the run to show.

import { glyph, make, say, setGlyph, visible } from "./dom.js";
import { exactly } from "./units.js";

/** @import { TableColumn, TableRow } from "./answers" */

/** The name of a run, or what `run_head.rs` shows for one that has none. @param {string | null | undefined} name */
export const runName = (name) => name ?? "(unnamed)";

/** @param {string} status @param {...(Node | string)} rest */
export function statusBadge(status, ...rest) {
  return make("span.run-status", { data: { runStatus: status } }, glyph(status), status, ...rest);
}

/** @type {WeakMap<HTMLElement, ReturnType<typeof makeParts>>} */
const partsOf = new WeakMap();

/** @param {TableColumn[]} columns */
function makeParts(columns) {
  const [sign, word] = [glyph("ok"), make("span")];
  const status = make("span.run-status", null, sign, word);
  const name = make("a.run-name", { tabindex: -1 });
  const thread = make("button.thread", { tabindex: -1, hidden: true });
  const origin = make("span.origin", { hidden: true });
  const marks = make("span.run-marks", { hidden: true });
  const subtitle = make("span.subtitle");
  /** @type {Record<string, Node[]>} */
  const content = { status: [status], name: [name, thread, origin, marks, subtitle] };
  const cells = columns.map(({ key }) => {
    const called = key === "model" || key === "tool" ? make("button.called-name", { tabindex: -1 }) : null;
    const more = make("span.more-called");
    const cell = make("div", { class: `cell ${key}-cell`, role: "gridcell" }, content[key] ?? (called && [called, more]));
    return { key, cell, called, more };
  });
  const mark = make("input", { type: "checkbox", tabindex: -1 });
  const path = make("span.path", { "aria-hidden": "true" });
  const pathWords = make("span.unseen");
  const menu = make("button.icon", { tabindex: -1, "aria-haspopup": "menu" }, glyph("more"));
  return { status, sign, word, name, thread, origin, marks, subtitle, cells, mark, path, pathWords, menu };
}

/** @param {TableColumn[]} columns @returns {HTMLDivElement} */
export function createRunRow(columns) {
  const parts = makeParts(columns);
  const row = make(
    "div.run-row",
    { role: "row", tabindex: -1 },
    make("div.cell.mark-cell", { role: "gridcell" }, parts.mark),
    parts.cells.map(({ cell }) => cell),
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
  const { details, thread } = run;
  const name = runName(run.run_name);
  element.setAttribute("aria-selected", String(marked));
  parts.mark.checked = marked;
  parts.mark.setAttribute("aria-label", `Mark ${name}`);
  parts.menu.setAttribute("aria-label", `More for ${name}`);
  parts.status.dataset.runStatus = run.run_status;
  setGlyph(parts.sign, run.run_status);
  say(parts.word, run.run_status);
  say(parts.name, name);
  parts.name.href = address;
  parts.name.title = `${name}\n${run.trace_id}`;
  parts.origin.hidden = !run.origin;
  // A bucket without the scheme of its URL: there is little room in a row.
  say(parts.origin, run.origin?.replace(/^[a-z0-9+]+:\/\//, "") ?? "");
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
  for (const { key, cell, called, more } of parts.cells) {
    if (key === "status" || key === "name") continue;
    const { text, title = "", query, more: others } = run.cells[key];
    say(called ?? cell, text);
    cell.title = key === "started" && run.started_at ? exactly(Date.parse(run.started_at)) : visible(title);
    if (!called) continue;
    called.hidden = query === undefined;
    called.dataset.query = query;
    say(more, others ? `+${others}` : "");
  }
  const path = details?.path ?? [];
  while (parts.path.childElementCount < path.length) parts.path.append(make("i"));
  parts.path.querySelectorAll("i").forEach((cell, place) => {
    cell.hidden = place >= path.length;
    cell.dataset.kind = path[place] ?? "";
  });
  // A run of ten times the steps has a longer strip, which 10,000 steps fill.
  parts.path.style.setProperty("--length", `${Math.min(100, 25 * Math.max(1, Math.log10(details?.steps ?? 1)))}%`);
  const isPart = details !== null && !details.is_whole;
  parts.path.classList.toggle("part", isPart);
  say(parts.pathWords, path.length > 0 ? `${isPart ? "First steps" : "Steps"}: ${path.join(", ")}` : "");
}
