// The steps of a run as a tree with bars over time: a treegrid of which only the rows on the screen have elements. It keeps the selected
// row in place, and keeps the focus on it while rows come and go.

import { fill, kindWord, make } from "./dom.js";
import { Grid } from "./grid.js";
import { createStepRow, renderStepRow } from "./step-row.js";
import { keep, kept } from "./storage.js";
import { effect, untracked } from "./store.js";
import { TimeAxis } from "./time-axis.js";
import { Timescale } from "./units.js";

/** @import { Columns } from "./columns.js" */
/** @import { Outline } from "./outline.js" */
/** @import { RunModel, Selection } from "./run-model.js" */

const WIDE_KEY = "tracer-wide-bars";
/** Rows of ancestors that stay at the upper edge. */
const MAX_PINNED_ROWS = 3;
/** A pixel of room at both ends of the time that is shown. */
const MARGIN = 0.01;
/** A text that fills a cell has no more characters than fit by this measure. */
const NARROW_CHARACTER_PX = 5;
/** Characters of a text that are rendered until the width of a row is known. */
const DEFAULT_TEXT_CHARACTERS = 100;

export class Steps {
  /** @param {RunModel} page */
  constructor(page) {
    this.page = page;
    this.axis = new TimeAxis();
    this.pinned = make("div.pinned", { "aria-hidden": "true" });
    const heads = [
      ["number", "#"],
      ["time", "Time"],
      ["step", "Step"],
      ["tokens", "Tokens"],
      ["duration", "Duration"],
    ].map(([name, label]) => make("div.cell", { role: "columnheader", class: `cell ${name}` }, label));
    const head = make(
      "div.row.head",
      { role: "row", "aria-rowindex": 1 },
      ...heads,
      make("div.cell.bars", { role: "columnheader" }, make("span.unseen", null, "Over time"), this.axis.element),
    );
    this.list = new Grid({
      role: "treegrid",
      name: "steps",
      label: "Steps",
      head: [head, this.pinned],
      createRow: createStepRow,
      renderRow: (element, index) => this.#renderRow(element, index),
      onWindow: (first, last) => this.#onWindow(first, last),
    });
    this.element = make("div.steps-pane", null, this.list.element);
    this.scale = new Timescale(0, 1);
    /** Characters of a text that fit in a row: a browser shapes all of a text, however little of it is seen. */
    this.room = DEFAULT_TEXT_CHARACTERS;
    new ResizeObserver(([entry]) => {
      const room = Math.ceil(entry.contentRect.width / NARROW_CHARACTER_PX);
      const isMore = room > this.room;
      this.room = room;
      if (isMore) this.list.render(true);
    }).observe(heads[2]);
    this.absolute = false;
    this.isWide = false;
    this.setWide(kept(WIDE_KEY) === "1");
    this.now = 0;
    /** @type {Set<number>} */
    this.hits = new Set();
    /** True when nothing that is in flight will end any more. */
    this.isOver = false;
    /** The outline that is listed. @type {Outline | null} */
    this.outline = null;
    page.texts.onLoad = () => this.list.schedule(true);
    this.#listen();
    this.#follow();
  }

  /** @param {boolean} on whether the bars get half of the width */
  setWide(on) {
    this.isWide = on;
    this.list.element.toggleAttribute("data-wide", on);
    keep(WIDE_KEY, on ? "1" : "");
  }

  #follow() {
    const { page, list } = this;
    effect(() => {
      const { outline, listed } = page;
      if (!outline || listed < 0) return;
      untracked(() => {
        this.now = Math.max(this.now, outline.columns.end);
        list.reset(outline.length, Math.max(0, this.index));
        const isFiltered = this.outline !== outline && this.outline?.columns === outline.columns;
        this.outline = outline;
        if (page.following) list.show(outline.length - 1);
        else if (isFiltered) list.show(outline.leavesOut(page.selected) ? 0 : this.index);
      });
    });
    effect(() => {
      const { selection } = page;
      untracked(() => this.reach(selection));
    });
    effect(() => {
      if (page.following) untracked(() => list.show(list.length - 1));
    });
    effect(() => {
      this.hits = new Set(page.hits);
      this.isOver = page.overview !== null && page.overview.run_status !== "running";
      untracked(() => list.render(true));
    });
  }

  #listen() {
    this.list.body.addEventListener("click", (event) => {
      const target = /** @type {Element} */ (event.target);
      const element = this.list.rowOf(event);
      if (!element) return;
      const row = Number(element.dataset.row);
      const index = Number(element.dataset.index);
      if (target.closest(".toggle") || this.page.outline?.isFold(index)) this.toggle(row, index);
      else this.#select(row, true);
      element.focus({ preventScroll: true });
    });
    this.pinned.addEventListener("click", (event) => {
      const element = /** @type {Element} */ (event.target).closest("[data-row]");
      if (element instanceof HTMLElement) this.#select(Number(element.dataset.row), false);
    });
  }

  /** @param {number} row @param {boolean} open whether to show what it holds */
  #select(row, open) {
    this.page.select(row, { focus: true, open });
  }

  /**
   * @param {HTMLElement} element
   * @param {number} index
   */
  #renderRow(element, index) {
    const { columns, outline, texts, selected } = this.page;
    const { room, scale, absolute, now, hits, isOver } = this;
    if (columns && outline) renderStepRow(element, index, { columns, outline, texts, selected, room, scale, absolute, now, hits, isOver });
  }

  /**
   * @param {number} first
   * @param {number} last
   * @returns {boolean} whether the bars are drawn over another time than before
   */
  #onWindow(first, last) {
    const { columns, outline } = this.page;
    if (!columns || !outline || outline.length === 0) return false;
    const rows = [];
    for (let index = first; index <= last; index += 1) rows.push(outline.rowAt(index));
    this.page.texts.need(rows);
    this.#pin(rows[0] ?? 0, columns);
    const isAll = first === 0 && last === outline.length - 1;
    const scale = this.#scaleOf(rows, isAll, columns, outline);
    const isOther = scale.from !== this.scale.from || scale.to !== this.scale.to;
    if (isOther) {
      this.scale = scale;
      this.axis.show(scale);
    }
    this.page.seen = isAll ? null : [scale.from, scale.to];
    return isOther;
  }

  /**
   * The time that the bars are drawn over: the chosen range, all of a run that fits, or what is going on in the rows on the screen: over
   * a long run's whole time every bar would be a sliver.
   * @param {number[]} rows
   * @param {boolean} isAll
   * @param {Columns} columns
   * @param {Outline} outline
   */
  #scaleOf(rows, isAll, columns, outline) {
    if (outline.range) return new Timescale(outline.range[0], outline.range[1]);
    const end = Math.max(columns.end, this.now);
    if (isAll) return new Timescale(-end * MARGIN, end * (1 + MARGIN));
    let from = Infinity;
    let to = -Infinity;
    for (const row of rows) {
      if (columns.hasChildren(row) && !outline.collapsed.has(row)) continue;
      from = Math.min(from, columns.start[row]);
      to = Math.max(to, columns.endOf(row, this.now));
    }
    if (to < from) return new Timescale(0, end);
    const margin = (to - from) * MARGIN;
    return new Timescale(from - margin, to + margin);
  }

  /**
   * Keeps the innermost ancestors of the first row at the upper edge.
   * @param {number} row
   * @param {Columns} columns
   */
  #pin(row, columns) {
    const ancestors = [];
    for (let above = columns.parent[row] ?? -1; above >= 0; above = columns.parent[above]) {
      if (!columns.isRun(above)) ancestors.unshift(above);
    }
    const pinned = ancestors.slice(-MAX_PINNED_ROWS);
    this.list.covered = pinned.length;
    const rows = pinned.join();
    if (this.pinned.dataset.rows === rows) return;
    this.pinned.dataset.rows = rows;
    fill(
      this.pinned,
      pinned.map((above) => {
        const line = make(
          "div.pinned-row",
          { data: { row: above } },
          make("span.kind", { data: { kind: columns.kindName(above) } }, kindWord(columns.kindName(above))),
          columns.name(above),
        );
        line.style.setProperty("--depth", String(Math.min(columns.depth[above], 14)));
        return line;
      }),
    );
  }

  /** Brings the selected row onto the screen. @param {Selection} selection */
  reach({ row, focus = false, center = false }) {
    if (row < 0 || !this.page.outline) return;
    const takesFocus = (focus && this.page.route.view === "steps") || this.list.hasFocus;
    this.list.moveTo(this.index, { focus: takesFocus, how: center ? "center" : "nearest" });
  }

  /** Shows them again, at the selected row. @param {boolean} focus */
  show(focus) {
    this.list.measure();
    this.reach({ row: this.page.selected, focus });
  }

  /** @returns {HTMLElement | undefined} the row that takes the focus: the selected one, or the first on the screen */
  get place() {
    return this.list.rendered.get(this.list.kept) ?? this.list.rendered.get(this.list.first);
  }

  /** @returns {number} position of the selected row in the list, -1 when none is selected */
  get index() {
    const { outline, selected } = this.page;
    return outline && selected >= 0 ? outline.indexOf(selected) : -1;
  }

  /**
   * Selects the row this many entries further on.
   * @param {number} by
   */
  move(by) {
    const { outline } = this.page;
    if (!outline || outline.length === 0) return;
    this.#select(outline.rowAt(Math.min(outline.length - 1, Math.max(0, this.index + by))), false);
  }

  /**
   * Collapses or expands a row, or opens a fold.
   * @param {number} row
   * @param {number} [index]
   */
  toggle(row, index = this.page.outline?.indexOf(row) ?? -1) {
    this.page.relist((outline) => {
      if (outline.isFold(index)) outline.unfolded.add(row);
      else if (outline.columns.hasChildren(row) && !outline.collapsed.delete(row)) outline.collapsed.add(row);
    });
  }

  /** Marks the rows of what is in flight as going on until now. @param {number} now microseconds from the start of the run */
  tick(now) {
    this.now = now;
    const { outline, columns } = this.page;
    for (const [index, element] of this.list.rendered) {
      if (outline && columns?.isInFlight(outline.rowAt(index))) this.#renderRow(element, index);
    }
  }
}
