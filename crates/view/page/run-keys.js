// Actions of the keys of a run's page.

import { bind } from "./frame.js";
import { KEYS } from "./keys.js";
import { VIEWS } from "./route.js";
import { openMenu } from "./run-head.js";

/** @import { Columns } from "./columns.js" */
/** @import { RunModel } from "./run-model.js" */
/** @import { RunTools } from "./run-tools.js" */
/** @import { Steps } from "./steps.js" */
/** @import { Workspace } from "./workspace.js" */

/** A key press zooms by this factor, and pans by this part of the visible time. */
const ZOOM_FACTOR = 2;
const PAN_FRACTION = 0.25;

/**
 * @param {RunModel} page
 * @param {{ steps: Steps, tools: RunTools, workspace: Workspace }} parts
 */
export function bindRunKeys(page, { steps, tools, workspace }) {
  const { search } = tools;
  /** An action on the rows, which a step that is moved to is seen in. @param {(columns: Columns, row: number) => void} run */
  const on = (run) => () => {
    if (!page.columns) return;
    if (page.route.view === "compare" || page.route.view === "raw") page.setView("steps");
    run(page.columns, page.selected);
  };
  /** @param {1 | -1} step @param {(columns: Columns, row: number, selected: number) => boolean} fits */
  const seek = (step, fits) =>
    on((columns, selected) => {
      const found = columns.seek(selected, step, (row) => fits(columns, row, selected));
      if (found >= 0) page.select(found, { focus: true, center: true });
    });
  const isError = (/** @type {Columns} */ columns, /** @type {number} */ row) => !columns.isRun(row) && columns.isFailed(row);
  const isOfName = (/** @type {Columns} */ columns, /** @type {number} */ row, /** @type {number} */ selected) =>
    columns.nameId[row] === columns.nameId[selected] && columns.kind[row] === columns.kind[selected];
  /** @param {1 | -1} step */
  const toSibling = (step) =>
    on(({ depth, parent, length }, selected) => {
      for (let row = selected + step; row >= 0 && row < length && depth[row] >= depth[selected]; row += step) {
        if (parent[row] === parent[selected]) return page.select(row, { focus: true });
      }
    });
  /** Lists another time. @param {(from: number, to: number, columns: Columns) => [number, number]} change */
  const toTime = (change) =>
    on((columns) => {
      const [from, to] = change(...(page.route.range ?? [steps.scale.from, steps.scale.to]), columns);
      const [first, last] = [Math.max(0, from), Math.min(columns.end, to)];
      page.filter({ range: first <= 0 && last >= columns.end ? null : [first, Math.max(first + 1, last)] });
    });
  /** @param {number} factor */
  const zoom = (factor) =>
    toTime((from, to, columns) => {
      const start = columns.start[page.selected];
      const middle = start >= from && start <= to ? start : (from + to) / 2;
      return [middle - (middle - from) * factor, middle + (to - middle) * factor];
    });
  /** @param {number} part */
  const pan = (part) =>
    toTime((from, to, { end }) => {
      const by = Math.max(-from, Math.min(end - to, (to - from) * part));
      return [from + by, to + by];
    });
  /** @param {(outline: import("./outline.js").Outline) => void} change */
  const relist = (change) =>
    on(() => {
      page.relist(change);
      steps.reach({ row: page.selected });
    });
  bind(KEYS.run, {
    ...steps.list.moves((by) => on(() => steps.move(by))()),
    into: on((columns, row) => {
      if (row < 0) steps.move(1);
      else if (page.outline?.isFold(steps.index) || page.outline?.collapsed.has(row)) steps.toggle(row);
      else if (columns.hasChildren(row)) steps.move(1);
    }),
    outOf: on((columns, row) => {
      if (row >= 0 && columns.hasChildren(row) && !page.outline?.collapsed.has(row)) steps.toggle(row);
      else if (columns.parent[row] >= 0) page.select(columns.parent[row], { focus: true });
    }),
    open: on((_, row) => {
      if (page.outline?.isFold(steps.index)) steps.toggle(row);
      else page.select(Math.max(0, row), { focus: true, open: true });
    }),
    previousSibling: toSibling(-1),
    nextSibling: toSibling(1),
    nextOfName: seek(1, isOfName),
    previousOfName: seek(-1, isOfName),
    find: () => search.input.focus(),
    nextHit: () => search.walk(1, page.selected + 1),
    previousHit: () => search.walk(-1, page.selected),
    nextError: seek(1, isError),
    previousError: seek(-1, isError),
    nextLoop: seek(1, (columns, row) => columns.isLoop(row)),
    ...Object.fromEntries(VIEWS.map((view) => [view, () => page.setView(view)])),
    zoomIn: zoom(1 / ZOOM_FACTOR),
    zoomOut: zoom(ZOOM_FACTOR),
    wholeRun: () => page.filter({ range: null }),
    earlier: pan(-PAN_FRACTION),
    later: pan(PAN_FRACTION),
    // A step that is shown already gives its place to what is nested in it.
    fit: on((columns, row) => {
      if (row < 0) return;
      const own = columns.timeOf(row, row + 1);
      const isShown = page.route.range?.join() === own.join() && columns.hasChildren(row);
      page.filter({ range: isShown ? columns.timeOf(row + 1, columns.subtreeEnd[row]) : own });
    }),
    wide: () => steps.setWide(!steps.isWide),
    clock: () => {
      steps.absolute = !steps.absolute;
      steps.list.element.toggleAttribute("data-clock", steps.absolute);
      steps.list.render(true);
    },
    fold: () => tools.toggleFolding(),
    collapse: relist((outline) => outline.collapseAll()),
    expand: relist((outline) => outline.collapsed.clear()),
    follow: () => (page.following = !page.following),
    menu: () => openMenu(page),
    escape: () => {
      if (document.activeElement === search.input) {
        if (search.input.value) search.clear();
        page.select(Math.max(0, page.selected), { focus: true });
      } else if (workspace.close()) return;
      else if (search.asked) search.clear();
      else if (page.outline?.isFiltered) tools.clear();
      else page.setView("steps");
    },
  });
}
