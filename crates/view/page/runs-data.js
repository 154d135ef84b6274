// The runs of the table: the server searches, filters and sorts all of them; here are the parts that were on the screen.

import { getJson, initialData } from "./api.js";
import { showError } from "./frame.js";
import { Latest } from "./latest.js";
import { CachedList } from "./cached-list.js";

/** @import { TableRow, RunTable } from "./answers" */

/** Runs in one part. */
const PART_RUNS = 200;
/** Time between two requests during the first reading. */
const READING_INTERVAL_MS = 1_000;

/** @type {RunTable} */
const NOTHING = {
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
    /** True for a page without a list: it requests one. */
    this.isMissing = !table && !problem;
    /** The answer about the list as a whole. @type {RunTable} */
    this.table = table ?? NOTHING;
    /** Why the runs cannot be listed. */
    this.problem = /** @type {string} */ (problem ?? "");
    /** Why the question cannot be answered. */
    this.refusal = "";
    /** The parameters of the request. */
    this.question = "";
    /** @type {CachedList<TableRow>} */
    this.rows = new CachedList(
      PART_RUNS,
      (from) => this.#load(from),
      () => onChange(false),
    );
    this.rows.put(0, this.table.runs);
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
    for (const [place, run] of this.rows.items) if (run.trace_id === id) return place;
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
      this.rows.forget(() => true);
      this.rows.put(0, table.runs);
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
    const end = Math.min(last, this.table.matching - 1);
    this.rows.need(Array.from({ length: Math.max(0, end - first + 1) }, (_, index) => first + index));
  }

  /**
   * Requests rows again, since their times change.
   * @param {number} first
   * @param {number} last
   */
  refresh(first, last) {
    if (this.table.reading || last < 0) return;
    for (let part = Math.floor(first / PART_RUNS); part <= Math.floor(last / PART_RUNS); part++) this.rows.ask(part);
  }

  /** @param {number} from */
  async #load(from) {
    const { question } = this;
    const table = /** @type {RunTable} */ (await getJson(pathOf(question, from)));
    const isSame = question === this.question;
    if (isSame && table.version === this.table.version) return table.runs;
    // Runs have come or gone since: the places are others.
    if (isSame) await this.reload();
    throw new Error("another list is shown");
  }

  /** While the runs are read for the first time, looks now and then how far that is. */
  #followReading() {
    if (this.table.reading) this.reading = setTimeout(() => this.takeUp(), READING_INTERVAL_MS);
  }
}

/** @param {string} question @param {number} from */
function pathOf(question, from) {
  const parameters = new URLSearchParams(question);
  parameters.set("from", String(from));
  parameters.set("limit", String(PART_RUNS));
  return `/api/table?${parameters}`;
}
