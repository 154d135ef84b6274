// The runs of the table: the server searches, filters and sorts all of them; here are the parts that were on the screen.

import { getJson, initialData } from "./api.js";
import { showError } from "./frame.js";
import { Latest } from "./latest.js";

/** @import { TableRow, RunTable } from "./answers" */

/** Runs in one part. */
const PART_RUNS = 200;
/** Parts that are kept; the ones that were seen last. */
const MAX_PARTS = 20;
/** How often to look how far the first reading is. */
const READING_INTERVAL_MS = 1_000;

/** @type {RunTable} */
const NOTHING = {
  spec_version: "0.2.0",
  data_dir: "",
  version: "",
  total: 0,
  matching: 0,
  from: 0,
  statuses: {},
  names: [],
  threads: 0,
  step_query: null,
  runs: [],
};

export class RunsData {
  /** @param {(isOtherList: boolean) => void} onChange called with whether the list changed, or only some of its rows arrived */
  constructor(onChange) {
    this.onChange = onChange;
    const { table, problem } = initialData();
    /** Whether the page came without a list: it has to ask for one. */
    this.isMissing = !table && !problem;
    /** What the server says of the list as a whole. @type {RunTable} */
    this.table = table ?? NOTHING;
    /** Why the runs cannot be listed. */
    this.problem = /** @type {string} */ (problem ?? "");
    /** Why the question cannot be answered. */
    this.refusal = "";
    /** What was asked, as the parameters of the request. */
    this.question = "";
    /** The rows that are known, by their place in the list. @type {Map<number, TableRow>} */
    this.rows = new Map(this.table.runs.map((run, place) => [place, run]));
    /** The parts that were asked for. @type {Set<number>} */
    this.parts = new Set();
    this.latest = new Latest();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.reading = undefined;
    this.#followReading();
  }

  /** @param {number} place @returns {TableRow | undefined} */
  at(place) {
    return this.rows.get(place);
  }

  /**
   * The address of a run, opened at the steps that the question asks for.
   * @param {string} id
   */
  addressOf(id) {
    const { step_query: query } = this.table;
    return query === null ? `/r/${id}` : `/r/${id}?${new URLSearchParams({ q: query })}`;
  }

  /** @param {string} id @returns {number} the place of a run, or -1 where it is not among the known rows */
  placeOf(id) {
    for (const [place, run] of this.rows) if (run.trace_id === id) return place;
    return -1;
  }

  /**
   * Asks for another list, or for the same one again. What is known stays until the answer arrives.
   * @param {string} question the parameters
   */
  async ask(question) {
    this.question = question;
    clearTimeout(this.reading);
    try {
      const table = /** @type {RunTable | null} */ (await this.latest.ask(pathOf(question, 0)));
      if (!table) return;
      this.table = table;
      this.problem = "";
      this.refusal = "";
      this.rows = new Map(table.runs.map((run, place) => [place, run]));
      this.parts = new Set([0]);
    } catch (error) {
      // A question that cannot be read is being typed, perhaps.
      if (/** @type {any} */ (error).code !== "invalid_query") throw error;
      this.refusal = /** @type {Error} */ (error).message;
    }
    this.onChange(true);
    this.#followReading();
  }

  /** Asks again: runs were added, changed or removed. */
  reload() {
    return this.ask(this.question);
  }

  takeUp() {
    return this.reload().catch(showError);
  }

  /**
   * Requests rows that are not known yet.
   * @param {number} first
   * @param {number} last
   */
  need(first, last) {
    for (let part = Math.floor(first / PART_RUNS); part <= Math.floor(last / PART_RUNS); part++) {
      if (this.parts.has(part)) continue;
      const begin = Math.max(first, part * PART_RUNS);
      const end = Math.min(last, (part + 1) * PART_RUNS - 1, this.table.matching - 1);
      let isKnown = true;
      for (let place = begin; place <= end; place++) isKnown &&= this.rows.has(place);
      if (isKnown) continue;
      this.parts.add(part);
      this.#load(part).catch(showError);
    }
  }

  /**
   * Requests rows again: their times go on.
   * @param {number} first
   * @param {number} last
   */
  refresh(first, last) {
    if (this.table.reading || last < 0) return;
    for (let part = Math.floor(first / PART_RUNS); part <= Math.floor(last / PART_RUNS); part++) {
      // That the server cannot be reached is shown already.
      this.#load(part).catch(() => {});
    }
  }

  /** @param {number} part */
  async #load(part) {
    const { question } = this;
    try {
      const table = /** @type {RunTable} */ (await getJson(pathOf(question, part)));
      if (question !== this.question) return;
      // Runs have come or gone since: the places are others.
      if (table.version !== this.table.version) return void (await this.reload());
      table.runs.forEach((run, place) => this.rows.set(table.from + place, run));
      if (this.parts.size > MAX_PARTS) this.#forget(/** @type {number} */ (this.parts.values().next().value));
      this.onChange(false);
    } catch (error) {
      this.parts.delete(part);
      throw error;
    }
  }

  /** @param {number} part */
  #forget(part) {
    this.parts.delete(part);
    for (let place = part * PART_RUNS; place < (part + 1) * PART_RUNS; place++) this.rows.delete(place);
  }

  /** While the runs are read for the first time, looks now and then how far that is. */
  #followReading() {
    if (this.table.reading) this.reading = setTimeout(() => this.takeUp(), READING_INTERVAL_MS);
  }
}

/** @param {string} question @param {number} part */
function pathOf(question, part) {
  const parameters = new URLSearchParams(question);
  parameters.set("from", String(part * PART_RUNS));
  parameters.set("limit", String(PART_RUNS));
  return `/api/table?${parameters}`;
}
