// A list of any length in a few elements. Rows have one height; the elements are a pool that is reused while scrolling. A browser
// limits the height of an element, so a longer list is scrolled through a shorter one: the place of the bar is the place in the list.

/** Safely below the height that browsers allow. */
const MAX_HEIGHT_PX = 15_000_000;
/** Rows rendered beyond each edge, so that scrolling shows no gap. */
const OVERSCAN_ROWS = 4;
/** The list rests when it has not been rendered for this long. */
const REST_DELAY_MS = 200;
/** Rows assumed visible until the height is known. */
const DEFAULT_VISIBLE_ROWS = 24;
/** Rows in the page's first frame, so that it comes early; the others are in the second. */
const FIRST_FRAME_ROWS = 8;

/**
 * @template {HTMLElement} Row
 * @typedef {object} Options
 * @property {HTMLElement} scroller what scrolls
 * @property {HTMLElement} body where the rows go; it gets the height of the whole list
 * @property {() => Row} createRow
 * @property {(row: Row, index: number) => void} renderRow
 * @property {(first: number, last: number) => boolean | void} [onWindow] called with the visible rows before they are rendered; answers
 *   whether every row has to be rendered again
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
    /** Number of covered rows at the upper edge. */
    this.covered = 0;
    /** @type {Map<number, Row>} */
    this.rendered = new Map();
    /** @type {Row[]} */
    this.spare = [];
    this.first = 0;
    this.last = -1;
    this.frame = 0;
    /** True if the next frame renders all rows again. */
    this.again = false;
    /** True once the page has been laid out with the list. */
    this.measured = false;
    /** True while rows beyond the edges are missing. */
    this.lacksBeyond = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.resting = undefined;
    options.scroller.addEventListener("scroll", () => this.schedule(), { passive: true });
    new ResizeObserver(() => {
      if (this.measured) this.measure();
      else requestAnimationFrame(() => this.measure());
    }).observe(options.scroller);
  }

  /** Reads the height of a row from the style sheet and renders. */
  measure() {
    const height = parseFloat(getComputedStyle(this.options.body).getPropertyValue("--row-height"));
    if (height > 0) this.rowHeight = height;
    this.measured = true;
    this.#resize();
    this.render(false, this.lacksBeyond);
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
    this.options.body.style.height = `${Math.min(this.length * this.rowHeight, MAX_HEIGHT_PX)}px`;
  }

  /**
   * Renders with the next frame.
   * @param {boolean} [again] whether rows that stay are rendered again
   */
  schedule(again = false) {
    this.again ||= again;
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.render(this.again);
    });
  }

  /** Number of whole visible rows. */
  get pageSize() {
    return Math.max(1, Math.floor(this.#viewHeight() / this.rowHeight) - 1);
  }

  #viewHeight() {
    const { scroller, body } = this.options;
    // Asking before the first frame, even for the window's height, would lay the page out twice; and a list that is not shown has none.
    if (!this.measured || scroller.clientHeight === 0) return DEFAULT_VISIBLE_ROWS * this.rowHeight;
    return Math.max(0, scroller.clientHeight - body.offsetTop);
  }

  /** Rows above the upper edge, with the fraction of the row that is cut. */
  #position() {
    const { scroller } = this.options;
    if (!this.measured) return 0;
    const height = this.length * this.rowHeight;
    if (height <= MAX_HEIGHT_PX) return scroller.scrollTop / this.rowHeight;
    const view = this.#viewHeight();
    const travelled = scroller.scrollTop / Math.max(1, MAX_HEIGHT_PX - view);
    return travelled * (this.length - view / this.rowHeight);
  }

  /** @param {number} position rows above the upper edge */
  #scrollTo(position) {
    const { scroller } = this.options;
    const height = this.length * this.rowHeight;
    const view = this.#viewHeight();
    const top =
      height <= MAX_HEIGHT_PX
        ? position * this.rowHeight
        : (position / Math.max(1, this.length - view / this.rowHeight)) * (MAX_HEIGHT_PX - view);
    scroller.scrollTop = Math.max(0, top);
  }

  /**
   * Brings a row onto the screen with the least movement, or into the middle.
   * @param {number} index
   * @param {"nearest" | "center"} [how]
   */
  show(index, how = "nearest") {
    if (!this.measured) this.measure();
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
   * @param {boolean} [again] whether rows that stay are rendered again
   * @param {boolean} [onlySeen] whether the rows beyond the edges can wait
   */
  render(again = false, onlySeen = false) {
    const { scroller, body, renderRow, onWindow } = this.options;
    this.again = false;
    // Read before anything is written: reading in between would lay the page out for every row.
    const position = this.#position();
    const seen = this.#viewHeight() / this.rowHeight;
    const scrollTop = this.measured ? scroller.scrollTop : 0;
    const firstSeen = Math.max(0, Math.floor(position));
    const lastSeen = Math.min(this.length - 1, Math.ceil(position + seen) - 1);
    // After a jump the next one is as likely as a step: only what is seen, until the list rests.
    this.lacksBeyond = this.length > 0 && (onlySeen || firstSeen > this.last || lastSeen < this.first);
    const beyond = this.lacksBeyond ? 0 : OVERSCAN_ROWS;
    this.first = Math.max(0, firstSeen - beyond);
    this.last = Math.min(this.length - 1, this.measured ? lastSeen + beyond : FIRST_FRAME_ROWS - 1);
    const anew = onWindow?.(firstSeen, lastSeen) || again;
    const lowest = Math.max(0, Math.min(this.length * this.rowHeight, MAX_HEIGHT_PX) - this.rowHeight);
    const wanted = new Set();
    for (let index = this.first; index <= this.last; index += 1) wanted.add(index);
    if (this.kept >= 0 && this.kept < this.length) wanted.add(this.kept);
    for (const [index, row] of this.rendered) {
      if (wanted.has(index)) continue;
      this.rendered.delete(index);
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
    // Not before: a row that is hidden and shown again is styled again.
    for (const row of this.spare) row.hidden = true;
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.#rest(), REST_DELAY_MS);
  }

  #rest() {
    if (this.lacksBeyond) this.render();
    else this.#order();
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
