// What rows say: their gists are asked for in ranges when they come onto the screen, and the latest are kept.

import { getJson, runPath } from "./api.js";

/** @import { RowText } from "./contract" */

/** Most rows of one answer. */
const LARGEST_RANGE = 200;
/** Rows that nobody asked for are fetched too when so few lie between two that somebody did. */
const SMALLEST_GAP = 40;
/** Rows that are kept. */
const MOST_KEPT = 8_000;

export class Texts {
  /**
   * @param {string} run
   * @param {() => void} onLoad
   */
  constructor(run, onLoad) {
    this.run = run;
    this.onLoad = onLoad;
    /** @type {Map<number, RowText>} */
    this.rows = new Map();
    /** @type {Set<number>} */
    this.asked = new Set();
  }

  /**
   * @param {number} row
   * @returns {RowText | undefined}
   */
  get(row) {
    return this.rows.get(row);
  }

  /** @param {RowText[]} rows */
  put(rows) {
    for (const row of rows) this.rows.set(row.row, row);
    for (const oldest of this.rows.keys()) {
      if (this.rows.size <= MOST_KEPT) break;
      this.rows.delete(oldest);
      this.asked.delete(oldest);
    }
  }

  /**
   * Asks for the rows that are not here yet.
   * @param {number[]} rows in ascending order
   */
  need(rows) {
    const missing = rows.filter((row) => !this.rows.has(row) && !this.asked.has(row));
    let first = missing[0];
    if (first === undefined) return;
    let last = first;
    for (const row of missing.slice(1)) {
      if (row - last > SMALLEST_GAP || row - first >= LARGEST_RANGE) {
        this.#ask(first, last);
        first = row;
      }
      last = row;
    }
    this.#ask(first, last);
  }

  /**
   * @param {number} first
   * @param {number} last
   */
  async #ask(first, last) {
    for (let row = first; row <= last; row += 1) this.asked.add(row);
    try {
      const answer = await getJson(runPath(this.run, "/rows", { from: first, limit: last - first + 1 }));
      this.put(answer.rows);
      this.onLoad();
    } catch {
      // The rows show their names; scrolling to them again asks again.
      for (let row = first; row <= last; row += 1) this.asked.delete(row);
    }
  }

  /**
   * Forgets what is no longer true: rows from `row` on, and those that were in flight.
   * @param {number} row
   */
  forgetFrom(row) {
    for (const [known, text] of this.rows) {
      if (known >= row || text.in_flight) this.rows.delete(known);
    }
    this.asked.clear();
  }
}
