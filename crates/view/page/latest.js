// Requests that abort the one before.

import { getJson } from "./api.js";
import { released } from "./press.js";

export class Latest {
  #running = new AbortController();

  /** Drops the answer that is waited for. */
  drop() {
    this.#running.abort();
  }

  /**
   * @param {string} path
   * @returns {Promise<any>} null when it was dropped, or something newer asked, meanwhile
   */
  async ask(path) {
    this.drop();
    const { signal } = (this.#running = new AbortController());
    try {
      const answer = await getJson(path, { signal });
      await released();
      return signal.aborted ? null : answer;
    } catch (error) {
      if (signal.aborted) return null;
      throw error;
    }
  }
}
