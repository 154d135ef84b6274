// A grid of rows of which one is in the tab order, with the keys that move it.

import { make } from "./dom.js";
import { VirtualList } from "./virtual-list.js";

/**
 * @template {HTMLElement} Row
 * @typedef {object} Options
 * @property {"grid" | "treegrid"} role
 * @property {string} name class of the grid
 * @property {string} label
 * @property {HTMLElement[]} head what stays at the upper edge: the row of headings, and more
 * @property {() => Row} createRow
 * @property {(row: Row, index: number) => void} renderRow
 * @property {(first: number, last: number) => boolean | void} onWindow see `VirtualList`
 */

/**
 * @template {HTMLElement} Row
 * @extends {VirtualList<Row>}
 */
export class Grid extends VirtualList {
  /** @param {Options<Row>} options */
  constructor({ role, name, label, head, createRow, renderRow, onWindow }) {
    const body = make("div.rows", { role: "rowgroup" });
    const element = make(`div.${name}`, { role, "aria-label": label }, make("div.sticky", { role: "rowgroup" }, head), body);
    super({
      scroller: element,
      body,
      createRow,
      renderRow: (row, index) => {
        row.dataset.index = String(index);
        row.setAttribute("aria-rowindex", String(index + 2));
        row.tabIndex = index === this.kept ? 0 : -1;
        renderRow(row, index);
      },
      onWindow,
    });
    this.element = element;
    this.body = body;
  }

  /**
   * Shows another list, or the same one after a change.
   * @param {number} length
   * @param {number} [place] the row in the tab order
   */
  reset(length, place = 0) {
    this.kept = place;
    this.element.setAttribute("aria-rowcount", String(length + 1));
    super.reset(length);
  }

  /**
   * Puts a row into the tab order and onto the screen.
   * @param {number} index
   * @param {{ focus?: boolean, how?: "nearest" | "center" }} [options]
   */
  moveTo(index, { focus = false, how = "nearest" } = {}) {
    this.kept = index;
    this.show(index, how);
    this.render(true);
    if (focus) this.rendered.get(index)?.focus({ preventScroll: true });
  }

  /**
   * The row that something in it happened to.
   * @param {Event} event
   */
  rowOf({ target }) {
    const row = target instanceof Element ? target.closest("[data-index]") : null;
    return row instanceof HTMLElement && this.body.contains(row) ? row : null;
  }

  /**
   * Actions of the keys that move by rows.
   * @param {(by: number) => void} move
   */
  moves(move) {
    return {
      next: () => move(1),
      previous: () => move(-1),
      first: () => move(-Infinity),
      last: () => move(Infinity),
      pageDown: () => move(this.pageSize),
      pageUp: () => move(-this.pageSize),
    };
  }
}
