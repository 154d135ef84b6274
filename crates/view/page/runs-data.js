// The runs of the table: what the server sent when the page opened, its updates, and the details of the runs on the screen.

import { getJson, initialData } from "./api.js";
import { showError } from "./frame.js";

/** @import { RunRow, RunTable } from "./contract" */

const MAX_DETAILS_PER_REQUEST = 60;
const RETRY_DELAY_MS = 2_000;
/** How often to look for an answer that another caller waits for. */
const POLL_INTERVAL_MS = 50;

export class RunsData {
  /** @param {(isOtherList: boolean) => void} onChange called with whether the list changed, or only details of its runs */
  constructor(onChange) {
    this.onChange = onChange;
    const { table, problem } = initialData();
    /** @type {RunTable} */
    this.table = table ?? { data_dir: "", version: "", runs: [] };
    /** Why the runs cannot be listed. */
    this.problem = /** @type {string} */ (problem ?? "");
    /** Runs that were asked about, of which the server may know nothing. @type {Set<string>} */
    this.asked = new Set();
    /** Runs that the answer is waited for. @type {Set<string>} */
    this.awaited = new Set();
    this.isAskingAll = false;
  }

  /** How many runs have their details, as far as these can be read. */
  get known() {
    return this.table.runs.filter(({ details, trace_id: id }) => details || (this.asked.has(id) && !this.awaited.has(id))).length;
  }

  /** Requests the details of all runs, a part at a time, while needed. @param {() => boolean} isNeeded */
  async needAll(isNeeded) {
    if (this.isAskingAll) return;
    this.isAskingAll = true;
    while (isNeeded() && this.known < this.table.runs.length) {
      if (await this.needDetails(this.table.runs)) continue;
      const pause = this.awaited.size > 0 ? POLL_INTERVAL_MS : RETRY_DELAY_MS;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
    this.isAskingAll = false;
  }

  /** @param {{ runs: RunRow[], removed: string[], reload: boolean }} change */
  takeUp({ runs, removed, reload }) {
    // Without a list there is nothing that could change.
    if (reload || this.problem) return this.reload().catch(showError);
    const changed = new Map(runs.map((run) => [run.trace_id, run]));
    const gone = new Set(removed);
    const kept = this.table.runs
      .filter((run) => !gone.has(run.trace_id))
      .map((run) => {
        const now = changed.get(run.trace_id);
        changed.delete(run.trace_id);
        if (now) this.asked.delete(run.trace_id);
        return now ? { ...now, details: now.details ?? run.details } : run;
      });
    // Newest first, as the server lists them.
    this.table.runs = [...changed.values(), ...kept].sort((a, b) => (b.started_at ?? "").localeCompare(a.started_at ?? ""));
    this.onChange(true);
    return undefined;
  }

  async reload() {
    const known = new Map(this.table.runs.map((run) => [run.trace_id, run.details]));
    this.table = await getJson("/api/table");
    this.problem = "";
    for (const run of this.table.runs) {
      // What was known is shown until what is known now arrives.
      if (run.details === null) this.asked.delete(run.trace_id);
      run.details ??= known.get(run.trace_id) ?? null;
    }
    this.onChange(true);
  }

  /**
   * Requests the details of runs that have none yet.
   * @param {RunRow[]} runs
   * @returns {Promise<boolean>} whether there was something to ask, and an answer
   */
  async needDetails(runs) {
    const missing = runs.filter((run) => !run.details && !this.asked.has(run.trace_id)).slice(0, MAX_DETAILS_PER_REQUEST);
    if (missing.length === 0) return false;
    for (const { trace_id: id } of missing) {
      this.asked.add(id);
      this.awaited.add(id);
    }
    try {
      const answer = /** @type {RunTable} */ (await getJson(`/api/table?ids=${missing.map((run) => run.trace_id).join(",")}`));
      const found = new Map(answer.runs.map((run) => [run.trace_id, run.details]));
      for (const run of this.table.runs) run.details = found.get(run.trace_id) ?? run.details;
    } catch {
      for (const run of missing) this.asked.delete(run.trace_id);
      return false;
    } finally {
      for (const run of missing) this.awaited.delete(run.trace_id);
    }
    this.onChange(false);
    return true;
  }
}
