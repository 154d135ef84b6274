// The steps of a run as a tree with bars over time: a treegrid of which only the rows on the screen have elements. Which row is selected
// is reported by `onSelect`; the list keeps it in place, and keeps the focus on it while rows come and go.

import { fill, kindWord, make } from "./dom.js";
import { Grid } from "./grid.js";
import { createStepRow, renderStepRow } from "./step-row.js";
import { TimeAxis } from "./time-axis.js";
import { Timescale } from "./units.js";

/** @import { Columns } from "./columns.js" */
/** @import { RowText } from "./answers" */
/** @import { Outline } from "./outline.js" */
/** @import { CachedList } from "./cached-list.js" */

/** Rows of ancestors that stay at the upper edge. */
const MAX_PINNED_ROWS = 3;
/** A pixel of room at both ends of the time that is shown. */
const MARGIN = 0.01;
/** A text that fills a cell has no more characters than fit by this measure. */
const NARROW_CHARACTER_PX = 5;
/** Characters of a text that are rendered until the width of a row is known. */
const DEFAULT_TEXT_CHARACTERS = 100;

/**
 * @typedef {object} Options
 * @property {CachedList<RowText>} texts
 * @property {(row: number, open: boolean) => void} onSelect a row was chosen; `open` to show what it holds
 * @property {(seen: [number, number] | null) => void} onSeen which time is on the screen
 */

export class Steps {
  /** @param {Options} options */
  constructor(options) {
    this.options = options;
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
    this.empty = make("div.empty", { hidden: true });
    this.element = make("div.steps-pane", null, this.list.element, this.empty);
    /** @type {Columns | null} */
    this.columns = null;
    /** @type {Outline | null} */
    this.outline = null;
    this.selected = -1;
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
    /** True when no call in flight can end any more. */
    this.isOver = false;
    this.now = 0;
    /** @type {Set<number>} */
    this.hits = new Set();
    this.#listen();
  }

  #listen() {
    this.list.body.addEventListener("click", (event) => {
      const target = /** @type {Element} */ (event.target);
      const element = this.list.rowOf(event);
      if (!element) return;
      const row = Number(element.dataset.row);
      const index = Number(element.dataset.index);
      if (target.closest(".toggle") || this.outline?.isFold(index)) this.toggle(row, index);
      else this.options.onSelect(row, true);
      element.focus({ preventScroll: true });
    });
    this.pinned.addEventListener("click", (event) => {
      const element = /** @type {Element} */ (event.target).closest("[data-row]");
      if (element instanceof HTMLElement) this.options.onSelect(Number(element.dataset.row), false);
    });
  }

  /**
   * Shows a run, or the same run with more rows.
   * @param {Columns} columns
   * @param {Outline} outline
   */
  show(columns, outline) {
    this.columns = columns;
    this.outline = outline;
    this.now = Math.max(this.now, columns.end);
    this.changed();
  }

  /** Lists the rows after a change of the outline. */
  changed() {
    const { outline } = this;
    if (!outline) return;
    this.list.reset(outline.length, this.selected >= 0 ? outline.indexOf(this.selected) : 0);
  }

  /**
   * @param {HTMLElement} element
   * @param {number} index
   */
  #renderRow(element, index) {
    const { columns, outline } = this;
    if (!columns || !outline) return;
    renderStepRow(element, index, {
      columns,
      outline,
      texts: this.options.texts,
      room: this.room,
      scale: this.scale,
      absolute: this.absolute,
      now: this.now,
      selected: this.selected,
      hits: this.hits,
      isOver: this.isOver,
    });
  }

  /**
   * @param {number} first
   * @param {number} last
   * @returns {boolean} whether the bars are drawn over another time than before
   */
  #onWindow(first, last) {
    const { columns, outline } = this;
    if (!columns || !outline || outline.length === 0) return false;
    const rows = [];
    for (let index = first; index <= last; index += 1) rows.push(outline.rowAt(index));
    this.options.texts.need(rows);
    this.#pin(rows[0] ?? 0, columns);
    const isAll = first === 0 && last === outline.length - 1;
    const scale = this.#scaleOf(rows, isAll, columns, outline);
    const isOther = scale.from !== this.scale.from || scale.to !== this.scale.to;
    if (isOther) {
      this.scale = scale;
      this.axis.show(scale);
    }
    this.options.onSeen(isAll ? null : [scale.from, scale.to]);
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

  /**
   * Selects a row and brings it onto the screen.
   * @param {number} row
   * @param {{ focus?: boolean, center?: boolean }} [how]
   */
  select(row, { focus = false, center = false } = {}) {
    const { outline } = this;
    if (!outline || outline.length === 0) return;
    const takesFocus = focus || this.list.hasFocus;
    const revealed = outline.reveal(row);
    this.selected = row;
    const index = outline.indexOf(row);
    if (revealed) this.changed();
    this.list.moveTo(index, { focus: takesFocus, how: center || revealed ? "center" : "nearest" });
  }

  /** @returns {HTMLElement | undefined} the row that takes the focus: the selected one, or the first on the screen */
  get place() {
    return this.list.rendered.get(this.list.kept) ?? this.list.rendered.get(this.list.first);
  }

  /** @returns {number} position of the selected row in the list, 0 when none is selected */
  get index() {
    return this.outline && this.selected >= 0 ? this.outline.indexOf(this.selected) : -1;
  }

  /**
   * Selects the row this many entries further on.
   * @param {number} by
   */
  move(by) {
    const { outline } = this;
    if (!outline || outline.length === 0) return;
    const index = Math.min(outline.length - 1, Math.max(0, this.index + by));
    this.options.onSelect(outline.rowAt(index), false);
  }

  /**
   * Collapses or expands a row, or opens a fold.
   * @param {number} row
   * @param {number} [index]
   */
  toggle(row, index = this.outline?.indexOf(row) ?? -1) {
    const { outline, columns } = this;
    if (!outline || !columns) return;
    if (outline.isFold(index)) outline.unfolded.add(row);
    else if (!columns.hasChildren(row)) return;
    else if (!outline.collapsed.delete(row)) outline.collapsed.add(row);
    outline.update();
    this.changed();
  }

  /** Marks the rows of what is in flight as going on until now. @param {number} now microseconds from the start of the run */
  tick(now) {
    this.now = now;
    for (const [index, element] of this.list.rendered) {
      if (this.outline && this.columns?.isInFlight(this.outline.rowAt(index))) this.#renderRow(element, index);
    }
  }
}
