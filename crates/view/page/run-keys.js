// The keyboard shortcuts of a run's page.

import { bind } from "./frame.js";
import { VIEWS } from "./workspace.js";

/** @import { RunPage } from "./run.js" */

/** A key press zooms by this factor, and pans by this part of the visible time. */
const ZOOM_FACTOR = 2;
const PAN_FRACTION = 0.25;

/** @param {RunPage} page */
export function bindRunKeys(page) {
  const { steps, tools, workspace } = page;
  const unless = (/** @type {() => void} */ run) => () => {
    if (!page.columns || !page.outline) return;
    // A step that is moved to has to be seen.
    if (page.route.view === "compare" || page.route.view === "raw") page.setView("steps");
    run();
  };
  bind("Moving", [
    ...steps.list.keys("row", (by) => unless(() => steps.move(by))()),
    ["ArrowRight", "expand, or into", unless(() => intoRow(page))],
    ["ArrowLeft", "collapse, or to the parent", unless(() => outOfRow(page))],
    [["Enter", " "], "open the step, or a fold", unless(() => openRow(page))],
    ["[", "previous sibling", unless(() => toSibling(page, -1))],
    ["]", "next sibling", unless(() => toSibling(page, 1))],
    [".", "next call of the same name", unless(() => toSameName(page, 1))],
    [",", "previous call of the same name", unless(() => toSameName(page, -1))],
  ]);
  bind("Finding", [
    ["/", "find in run", () => tools.search.input.focus()],
    ["n", "next hit", () => tools.search.walk(1, page.selected + 1)],
    ["N", "previous hit", () => tools.search.walk(-1, page.selected)],
    ["e", "next error", unless(() => seek(page, 1, (row) => isError(page, row)))],
    ["E", "previous error", unless(() => seek(page, -1, (row) => isError(page, row)))],
    ["l", "next loop warning", unless(() => seek(page, 1, (row) => page.columns?.isLoop(row) ?? false))],
  ]);
  bind(
    "Views",
    VIEWS.map((view, index) => [String(index + 1), view, () => page.setView(view)]),
  );
  bind("Time", [
    ["+", "zoom in", unless(() => zoom(page, 1 / ZOOM_FACTOR))],
    ["-", "zoom out", unless(() => zoom(page, ZOOM_FACTOR))],
    ["0", "the whole run", () => page.setRange(null)],
    ["a", "earlier", unless(() => pan(page, -PAN_FRACTION))],
    ["d", "later", unless(() => pan(page, PAN_FRACTION))],
    ["f", "zoom to the step", unless(() => fit(page))],
    [
      "t",
      "relative or clock time",
      () => {
        steps.absolute = !steps.absolute;
        steps.list.element.toggleAttribute("data-clock", steps.absolute);
        steps.list.render(true);
      },
    ],
  ]);
  bind("Showing", [
    ["z", "fold repeats", () => tools.toggleFolding()],
    ["o", "collapse all", unless(() => listAgain(page, () => page.outline?.collapseAll()))],
    ["O", "expand all", unless(() => listAgain(page, () => page.outline?.expandAll()))],
    ["F", "follow a running run", () => page.setFollowing(!page.following)],
    ["c", "compare", () => page.setView("compare")],
    ["y", "copy, rename, delete", () => page.openMenu(document.getElementById("run-menu") ?? document.body)],
    [
      "Escape",
      "close, then clear, then back to the steps",
      () => {
        if (document.activeElement === tools.search.input) {
          if (tools.search.input.value) tools.search.clear();
          return steps.select(Math.max(0, page.selected), { focus: true });
        }
        if (workspace.close()) return;
        if (tools.search.asked) return tools.search.clear();
        if (page.outline?.isFiltered) return tools.clear();
        page.setView("steps");
      },
    ],
  ]);
}

/** @param {RunPage} page @param {number} row */
function isError(page, row) {
  return Boolean(page.columns && !page.columns.isRun(row) && page.columns.isFailed(row));
}

/** @param {RunPage} page @param {1 | -1} step @param {(row: number) => boolean} fits */
function seek(page, step, fits) {
  const found = page.columns?.seek(page.selected, step, fits) ?? -1;
  if (found >= 0) page.select(found, { focus: true, center: true });
}

/** @param {RunPage} page */
function openRow(page) {
  const { steps, outline } = page;
  if (outline?.isFold(steps.index)) steps.toggle(steps.selected, steps.index);
  else page.select(Math.max(0, page.selected), { focus: true, open: true });
}

/** @param {RunPage} page */
function intoRow(page) {
  const { steps, outline, columns, selected } = page;
  if (!outline || !columns || selected < 0) return steps.move(1);
  if (outline.isFold(steps.index) || outline.collapsed.has(selected)) steps.toggle(selected);
  else if (columns.hasChildren(selected)) steps.move(1);
}

/** @param {RunPage} page */
function outOfRow(page) {
  const { steps, outline, columns, selected } = page;
  if (!outline || !columns || selected < 0) return;
  if (columns.hasChildren(selected) && !outline.collapsed.has(selected)) steps.toggle(selected);
  else if (columns.parent[selected] >= 0) page.select(columns.parent[selected], { focus: true });
}

/** @param {RunPage} page @param {1 | -1} step */
function toSibling(page, step) {
  const { columns, selected } = page;
  if (!columns || selected < 0) return;
  const parent = columns.parent[selected];
  for (let row = selected + step; row >= 0 && row < columns.length && row > parent; row += step) {
    if (columns.parent[row] === parent) return page.select(row, { focus: true });
    if (columns.depth[row] < columns.depth[selected]) return;
  }
}

/** @param {RunPage} page @param {1 | -1} step */
function toSameName(page, step) {
  const { columns, selected } = page;
  if (!columns || selected < 0) return;
  const same = (/** @type {number} */ row) =>
    columns.nameId[row] === columns.nameId[selected] && columns.kind[row] === columns.kind[selected];
  seek(page, step, same);
}

/** @param {RunPage} page @param {() => void} change */
function listAgain(page, change) {
  change();
  page.steps.changed();
  if (page.selected >= 0) page.steps.list.show(page.steps.index);
}

/** @param {RunPage} page @returns {[number, number]} */
function range(page) {
  return page.outline?.range ?? [page.steps.scale.from, page.steps.scale.to];
}

/** @param {RunPage} page @param {number} from @param {number} to */
function setRange(page, from, to) {
  const end = page.columns?.end ?? 1;
  const [first, last] = [Math.max(0, from), Math.min(end, to)];
  page.setRange(first <= 0 && last >= end ? null : [first, Math.max(first + 1, last)]);
}

/** @param {RunPage} page @param {number} factor */
function zoom(page, factor) {
  const [from, to] = range(page);
  const { columns, selected } = page;
  const start = columns && selected >= 0 ? columns.start[selected] : NaN;
  const middle = start >= from && start <= to ? start : (from + to) / 2;
  setRange(page, middle - (middle - from) * factor, middle + (to - middle) * factor);
}

/** @param {RunPage} page @param {number} part */
function pan(page, part) {
  const [from, to] = range(page);
  const by = Math.max(-from, Math.min((page.columns?.end ?? 1) - to, (to - from) * part));
  setRange(page, from + by, to + by);
}

/** Zooms to the selected step, and when that is shown already to what is nested in it. @param {RunPage} page */
function fit(page) {
  const { columns, selected, outline } = page;
  if (!columns || selected < 0) return;
  const [from, to] = [columns.start[selected], Math.max(columns.endOf(selected), columns.start[selected] + 1)];
  if (outline?.range?.[0] !== from || outline.range[1] !== to || !columns.hasChildren(selected)) return page.setRange([from, to]);
  let [first, last] = [Infinity, -Infinity];
  for (let row = selected + 1; row < columns.subtreeEnd[selected]; row += 1) {
    first = Math.min(first, columns.start[row]);
    last = Math.max(last, columns.endOf(row));
  }
  page.setRange([first, Math.max(last, first + 1)]);
}
