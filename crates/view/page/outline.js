// Which rows of a run are listed: what is collapsed, folded, filtered or out of the time range is left out. Pure; no element of the page.

/** @import { Columns } from "./columns.js" */

/** The kind that stands for the steps of the critical path. */
export const CRITICAL = "critical";
/** Marks an entry of the list as a fold rather than a row. */
const FOLD = 0x8000_0000;

/**
 * The filters of the list.
 * @typedef {object} Asked
 * @property {Iterable<string>} [kinds] that are listed; none lists all
 * @property {[number, number] | null} [range] time that is listed, in microseconds from the start of the run
 * @property {boolean} [folding] whether repeats are folded
 * @property {string} [sort] the largest come first, of one of the orders; nothing lists by time
 */

/** Numbers that steps are sorted by, of a row. @type {Record<string, ((columns: Columns, row: number) => number) | undefined>} */
export const ORDERS = {
  duration: (columns, row) => columns.duration[row],
  own: (columns, row) => columns.ownTime(row),
  tokens: (columns, row) => columns.tokens[row],
};

export class Outline {
  /**
   * @param {Columns} columns
   * @param {Asked} [asked]
   * @param {Outline | null} [before] what was collapsed and unfolded
   */
  constructor(columns, asked = {}, before = null) {
    this.columns = columns;
    this.asked = asked;
    const { kinds = [], range = null, folding = true, sort = "" } = asked;
    this.kinds = new Set(kinds);
    /** The number that rows are sorted by; null by time, in the tree. */
    this.order = ORDERS[sort] ?? null;
    this.range = range;
    this.folding = folding;
    this.collapsed = /** @type {Set<number>} */ (before ? before.collapsed : new Set());
    /** Folds that were opened one by one, by their first row. */
    this.unfolded = /** @type {Set<number>} */ (before?.folding === folding ? before.unfolded : new Set());
    /** Rows, or folds; in the order of the list. */
    this.entries = new Uint32Array(0);
    /** Number of rows that pass the filters, without the ancestors shown for context. */
    this.matching = columns.length;
    /** @type {Uint8Array | null} rows that pass the filters: 1 itself, 2 for the sake of a descendant */
    this.passing = null;
    this.update();
  }

  /**
   * Returns whether it lists these rows, filtered so.
   * @param {Columns} columns
   * @param {Asked} asked
   */
  isOf(columns, { kinds, range, folding, sort }) {
    const { asked } = this;
    const isSame = columns === this.columns && kinds === asked.kinds && range === asked.range;
    return isSame && folding === asked.folding && sort === asked.sort;
  }

  /** @returns {boolean} whether a filter leaves rows out */
  get isFiltered() {
    return this.kinds.size > 0 || this.range !== null;
  }

  /** Computes the list, after a change of what is collapsed or unfolded, too. */
  update() {
    this.#filter();
    const { columns, passing, order } = this;
    if (order) {
      const numbers = Float64Array.from(columns.start, (_, row) => order(columns, row));
      const listed = columns.start
        .map((_, row) => row)
        .filter((row) => numbers[row] > 0 && !columns.isRun(row) && passing?.[row] !== 2 && passing?.[row] !== 0);
      this.entries = Uint32Array.from(listed.sort((a, b) => numbers[b] - numbers[a] || a - b));
      return;
    }
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
    const path = kinds.has(CRITICAL) ? columns.criticalPath() : null;
    const ofKinds = kinds.size - (path ? 1 : 0);
    this.matching = 0;
    for (let row = columns.length - 1; row >= 0; row -= 1) {
      const isKind = ofKinds === 0 || kinds.has(columns.kindName(row)) || (kinds.has("error") && columns.isFailed(row));
      const inKinds = isKind && (!path || path[row] === 1);
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
    if (this.order) return this.entries.indexOf(row);
    let low = 0;
    let high = this.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.rowAt(middle) <= row) low = middle;
      else high = middle - 1;
    }
    return high < 0 ? -1 : low;
  }

  /** @param {number} row @returns {boolean} whether the filters leave the row out */
  leavesOut(row) {
    return this.passing?.[row] === 0 || (this.order !== null && !this.entries.includes(row));
  }

  /**
   * Opens what hides a row.
   * @param {number} row
   * @returns {boolean} whether the list changed
   */
  reveal(row) {
    let changed = false;
    for (let above = this.columns.parent[row]; above >= 0; above = this.columns.parent[above]) {
      changed = this.collapsed.delete(above) || changed;
    }
    if (changed) this.update();
    const index = this.indexOf(row);
    if (index >= 0 && this.isFold(index) && this.rowAt(index) <= row) {
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
  }
}
