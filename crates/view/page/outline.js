// Which rows of a run are listed: what is collapsed, folded, filtered or out of the time range is left out. Pure; no element of the page.

/** @import { Columns } from "./columns.js" */

/** Marks an entry of the list as a fold rather than a row. */
const FOLD = 0x8000_0000;

/**
 * The filters of the list.
 * @typedef {object} Asked
 * @property {Iterable<string>} [kinds] that are listed; none lists all
 * @property {[number, number] | null} [range] time that is listed, in microseconds from the start of the run
 * @property {boolean} [folding] whether repeats are folded
 */

export class Outline {
  /**
   * @param {Columns} columns
   * @param {Asked} [asked]
   */
  constructor(columns, { kinds = [], range = null, folding = true } = {}) {
    this.columns = columns;
    this.kinds = new Set(kinds);
    this.range = range;
    this.folding = folding;
    /** @type {Set<number>} */
    this.collapsed = new Set();
    /** Folds that were opened one by one, by their first row. @type {Set<number>} */
    this.unfolded = new Set();
    /** Rows, or folds; in the order of the list. */
    this.entries = new Uint32Array(0);
    /** Number of rows that pass the filters, without the ancestors shown for context. */
    this.matching = columns.length;
    /** @type {Uint8Array | null} rows that pass the filters: 1 itself, 2 for the sake of a descendant */
    this.passing = null;
    this.update();
  }

  /** @returns {boolean} whether a filter leaves rows out */
  get isFiltered() {
    return this.kinds.size > 0 || this.range !== null;
  }

  /** Computes the list after a change of the filters. */
  update() {
    this.#filter();
    const { columns, passing } = this;
    // A fold covers all of its rows; these filters may leave some of them out.
    const folding = this.folding && !this.range && !this.kinds.has("error");
    const entries = new Uint32Array(columns.length);
    let length = 0;
    let row = 0;
    while (row < columns.length) {
      if (passing && passing[row] === 0) {
        row += 1;
        continue;
      }
      const foldEnd = folding && !this.unfolded.has(row) ? columns.repeatEnd[row] : 0;
      if (foldEnd > 0) {
        entries[length] = row + FOLD;
        length += 1;
        row = foldEnd;
        continue;
      }
      entries[length] = row;
      length += 1;
      row = this.collapsed.has(row) ? columns.subtreeEnd[row] : row + 1;
    }
    this.entries = entries.slice(0, length);
  }

  #filter() {
    const { columns, kinds, range } = this;
    if (!this.isFiltered) {
      this.passing = null;
      this.matching = columns.length;
      return;
    }
    const passing = new Uint8Array(columns.length);
    this.matching = 0;
    for (let row = columns.length - 1; row >= 0; row -= 1) {
      const inKinds = kinds.size === 0 || kinds.has(columns.kindName(row)) || (kinds.has("error") && columns.isFailed(row));
      const inRange = !range || (columns.start[row] <= range[1] && columns.endOf(row) >= range[0]);
      if (inKinds && inRange) {
        passing[row] = 1;
        this.matching += 1;
      }
      const above = columns.parent[row];
      if (passing[row] !== 0 && above >= 0 && passing[above] === 0) passing[above] = 2;
    }
    this.passing = passing;
  }

  get length() {
    return this.entries.length;
  }

  /** @param {number} index of an entry; a fold answers with its first row */
  rowAt(index) {
    return this.entries[index] & ~FOLD;
  }

  /** @param {number} index */
  isFold(index) {
    return this.entries[index] >= FOLD;
  }

  /**
   * Number of rows that an entry covers.
   * @param {number} index
   */
  sizeOf(index) {
    const row = this.rowAt(index);
    return this.isFold(index) ? this.columns.repeatEnd[row] - row : 1;
  }

  /**
   * The entry of a row, or of the fold or collapsed row that it is in.
   * @param {number} row
   * @returns {number} -1 when the list is empty
   */
  indexOf(row) {
    let low = 0;
    let high = this.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.rowAt(middle) <= row) low = middle;
      else high = middle - 1;
    }
    return high < 0 ? -1 : low;
  }

  /**
   * Makes a row be listed: opens what hides it, and drops filters that leave it out.
   * @param {number} row
   * @returns {boolean} whether the list changed
   */
  reveal(row) {
    let changed = false;
    for (let above = this.columns.parent[row]; above >= 0; above = this.columns.parent[above]) {
      changed = this.collapsed.delete(above) || changed;
    }
    if (this.passing && this.passing[row] === 0) {
      this.kinds.clear();
      this.range = null;
      changed = true;
    }
    if (changed) this.update();
    const index = this.indexOf(row);
    if (this.isFold(index) && this.rowAt(index) <= row) {
      this.unfolded.add(this.rowAt(index));
      this.update();
      changed = true;
    }
    return changed;
  }

  /** Collapses every row that something is nested in, but the run itself. */
  collapseAll() {
    for (let row = 0; row < this.columns.length; row += 1) {
      if (this.columns.hasChildren(row) && this.columns.parent[row] >= 0) this.collapsed.add(row);
    }
    this.update();
  }

  /** Opens everything, folds too. */
  expandAll() {
    this.collapsed.clear();
    this.update();
  }
}
