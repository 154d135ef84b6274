// A list of any length in a few elements. Rows have one height; the elements are a pool that is reused while scrolling. A browser
// limits the height of an element, so a longer list is scrolled through a shorter one: the place of the bar is the place in the list.

/** Safely below what browsers allow an element to be, in pixels. */
const TALLEST = 15_000_000;
/** Rows rendered beyond each edge, so that fast scrolling shows no gap. */
const BEYOND = 4;
/** How much of the window's height the list has, until it is known. */
const LIKELY_SHARE = 0.75;

/**
 * @template {HTMLElement} Row
 * @typedef {object} Options
 * @property {HTMLElement} scroller what scrolls
 * @property {HTMLElement} body where the rows go; it gets the height of the whole list
 * @property {() => Row} createRow
 * @property {(row: Row, index: number) => void} renderRow
 * @property {(first: number, last: number) => boolean | void} [onWindow] told which rows are on the screen, before they are rendered; answers
 *   whether every row has to be rendered anew
 */

/** @template {HTMLElement} Row */
export class VirtualList {
  /** @param {Options<Row>} options */
  constructor(options) {
    this.options = options;
    this.length = 0;
    this.rowHeight = 28;
    /** The row that keeps its element, seen or not, because it may hold the focus. */
    this.kept = -1;
    /** How many rows at the upper edge are covered by something else. */
    this.covered = 0;
    /** @type {Map<number, Row>} */
    this.rendered = new Map();
    /** @type {Row[]} */
    this.spare = [];
    this.first = 0;
    this.last = -1;
    this.frame = 0;
    /** Whether the page has been laid out since the list is there. */
    this.measured = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.ordering = undefined;
    options.scroller.addEventListener("scroll", () => this.schedule(), { passive: true });
    new ResizeObserver(() => this.measure()).observe(options.scroller);
  }

  /** Reads the height of a row from the style sheet and renders. */
  measure() {
    const height = parseFloat(getComputedStyle(this.options.body).getPropertyValue("--row-height"));
    if (height > 0) this.rowHeight = height;
    this.measured = true;
    this.#resize();
    this.render();
  }

  /**
   * Shows another list, or the same one after a change: every row is rendered again.
   * @param {number} length
   */
  reset(length) {
    const hadFocus = this.hasFocus;
    this.length = length;
    this.#resize();
    this.render(true);
    if (hadFocus) this.rendered.get(this.kept)?.focus({ preventScroll: true });
  }

  /** @returns {boolean} whether the focus is on a row, so that it must not get lost when rows change */
  get hasFocus() {
    return this.options.body.contains(document.activeElement);
  }

  #resize() {
    this.options.body.style.height = `${Math.min(this.length * this.rowHeight, TALLEST)}px`;
  }

  /** Renders with the next frame. */
  schedule() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.render();
    });
  }

  /** How many whole rows are seen at once. */
  get pageSize() {
    return Math.max(1, Math.floor(this.#viewHeight() / this.rowHeight) - 1);
  }

  #viewHeight() {
    const { scroller, body } = this.options;
    // Asking before the first frame would lay the page out twice; and a list that is not shown has no height.
    if (!this.measured || scroller.clientHeight === 0) return innerHeight * LIKELY_SHARE;
    return Math.max(0, scroller.clientHeight - body.offsetTop);
  }

  /** Rows above the upper edge, with the fraction of the row that is cut. */
  #position() {
    const { scroller } = this.options;
    if (!this.measured) return 0;
    const height = this.length * this.rowHeight;
    if (height <= TALLEST) return scroller.scrollTop / this.rowHeight;
    const view = this.#viewHeight();
    const travelled = scroller.scrollTop / Math.max(1, TALLEST - view);
    return travelled * (this.length - view / this.rowHeight);
  }

  /** @param {number} position rows above the upper edge */
  #scrollTo(position) {
    const { scroller } = this.options;
    const height = this.length * this.rowHeight;
    const view = this.#viewHeight();
    const top =
      height <= TALLEST ? position * this.rowHeight : (position / Math.max(1, this.length - view / this.rowHeight)) * (TALLEST - view);
    scroller.scrollTop = Math.max(0, top);
  }

  /**
   * Brings a row onto the screen with the least movement, or into the middle.
   * @param {number} index
   * @param {"nearest" | "center"} [how]
   */
  show(index, how = "nearest") {
    this.measured = true;
    const seen = this.#viewHeight() / this.rowHeight;
    const position = this.#position();
    if (how === "center") this.#scrollTo(index - seen / 2 + 0.5);
    else if (index < position + this.covered) this.#scrollTo(index - this.covered);
    else if (index + 1 > position + seen) this.#scrollTo(index + 1 - seen);
    this.render();
  }

  /** @returns {boolean} whether the end of the list is on the screen */
  get isAtEnd() {
    return this.#position() + this.#viewHeight() / this.rowHeight >= this.length - 1;
  }

  /**
   * @param {boolean} [again] whether rows that stay are rendered anew
   */
  render(again = false) {
    const { scroller, body, renderRow, onWindow } = this.options;
    // Read before anything is written: reading in between would lay the page out for every row.
    const position = this.#position();
    const seen = this.#viewHeight() / this.rowHeight;
    const scrollTop = this.measured ? scroller.scrollTop : 0;
    this.first = Math.max(0, Math.floor(position) - BEYOND);
    this.last = Math.min(this.length - 1, Math.ceil(position + seen) + BEYOND);
    const anew = onWindow?.(Math.max(0, Math.floor(position)), Math.min(this.length - 1, Math.ceil(position + seen) - 1)) || again;
    const lowest = Math.max(0, Math.min(this.length * this.rowHeight, TALLEST) - this.rowHeight);
    const wanted = new Set();
    for (let index = this.first; index <= this.last; index += 1) wanted.add(index);
    if (this.kept >= 0 && this.kept < this.length) wanted.add(this.kept);
    for (const [index, row] of this.rendered) {
      if (wanted.has(index)) continue;
      this.rendered.delete(index);
      row.hidden = true;
      this.spare.push(row);
    }
    for (const index of wanted) {
      let row = this.rendered.get(index);
      const isNew = !row;
      if (!row) {
        row = this.spare.pop();
        if (!row) {
          row = this.options.createRow();
          body.append(row);
        }
        row.hidden = false;
        this.rendered.set(index, row);
      }
      if (isNew || anew) renderRow(row, index);
      const top = scrollTop + (index - position) * this.rowHeight;
      // A kept row far away must not stretch the list.
      row.style.transform = `translateY(${Math.min(Math.max(top, 0), lowest)}px)`;
    }
    clearTimeout(this.ordering);
    this.ordering = setTimeout(() => this.#order(), 200);
  }

  /** Puts the elements into the order of the list, for those who read the page in that order; the focused one stays where it is. */
  #order() {
    const { body } = this.options;
    const inOrder = [...this.rendered].sort(([a], [b]) => a - b).map(([, row]) => row);
    const pivot = inOrder.findIndex((row) => row.contains(document.activeElement));
    const fixed = inOrder[pivot];
    inOrder.forEach((row, index) => {
      if (fixed && index < pivot) body.insertBefore(row, fixed);
      else if (row !== fixed) body.append(row);
    });
  }
}
