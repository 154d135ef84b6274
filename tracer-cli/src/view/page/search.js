// Searching in a run: the server searches the log, the page walks the hits.

import { getJson, runPath } from "./api.js";
import { glyph, make, say } from "./dom.js";
import { count } from "./units.js";

/** Hits that are asked for at once, so that the first ones are there soon. */
const PART = 500;
/** More hits are told as "and more". */
const MOST_HITS = 20_000;

/**
 * @typedef {object} Options
 * @property {string} run
 * @property {(rows: number[]) => void} onHits
 * @property {(row: number) => void} onHit a hit was walked to
 * @property {(query: string) => void} onQuery
 * @property {(query: string) => [string, string] | null} [explain]
 */

export class Search {
  /** @param {Options} options */
  constructor(options) {
    this.options = options;
    this.input = make("input", {
      type: "search", placeholder: "Find in run", "aria-label": "Find in run, for example: refund, kind:tool, name:search, error:true, dur:>1s",
      title: "Text, or kind:tool name:search error:true dur:>1s", spellcheck: "false", autocomplete: "off", id: "find",
    });
    this.output = make("output", { for: "find", "aria-live": "polite" });
    this.element = make("div.find", { role: "search" },
      make("label.search", null, glyph("search"), this.input),
      this.output,
      make("button.icon", { "aria-label": "Previous hit (N)", title: "Previous hit (N)", onclick: () => this.walk(-1) }, glyph("up")),
      make("button.icon", { "aria-label": "Next hit (n)", title: "Next hit (n)", onclick: () => this.walk(1) }, glyph("down")));
    /** Rows that were found, in ascending order. @type {number[]} */
    this.hits = [];
    this.current = -1;
    this.done = true;
    this.asked = "";
    /** Whether to go to the first hit as soon as there is one. */
    this.walking = false;
    /** @type {AbortController | null} */
    this.running = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    this.input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.find(this.input.value.trim()), 150);
    });
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        clearTimeout(timer);
        if (this.input.value.trim() !== this.asked) this.find(this.input.value.trim());
        if (this.hits.length === 0) this.walking = !this.done;
        else this.walk(event.shiftKey ? -1 : 1);
      }
    });
  }

  /**
   * @param {string} query
   */
  async find(query) {
    if (query === this.asked) return;
    this.asked = query;
    this.running?.abort();
    if (this.input.value.trim() !== query) this.input.value = query;
    this.options.onQuery(query);
    this.hits = [];
    this.current = -1;
    this.walking = false;
    this.done = query === "";
    this.#tell();
    this.options.onHits([]);
    if (query === "") return;
    const running = new AbortController();
    this.running = running;
    try {
      let after = /** @type {number | null} */ (null);
      do {
        const part = await getJson(runPath(this.options.run, "/search", { q: query, after, limit: PART }), { signal: running.signal });
        const walkedTo = this.hits[this.current];
        // What was found later may stand before what was found first.
        this.hits = [...this.hits, ...part.hits].sort((a, b) => a - b);
        if (this.current >= 0) this.current = this.hits.indexOf(walkedTo);
        after = part.next ?? null;
        this.done = Boolean(part.done) || after === null;
        this.#tell();
        this.options.onHits(this.hits);
        if (this.walking && this.hits.length > 0) {
          this.walking = false;
          this.walk(1);
        }
      } while (!this.done && this.hits.length < MOST_HITS);
    } catch (error) {
      if (running.signal.aborted) return;
      this.done = true;
      say(this.output, error instanceof Error ? error.message : "failed");
    }
  }

  /**
   * Goes to the next hit or the previous one.
   * @param {1 | -1} step
   * @param {number} [from] row
   */
  walk(step, from) {
    if (this.hits.length === 0) return;
    if (this.current < 0 && from !== undefined) {
      const next = this.hits.findIndex((row) => row >= from);
      this.current = step > 0 ? (next < 0 ? 0 : next) : (next < 0 ? this.hits.length : next) - 1;
    } else {
      this.current += step;
    }
    this.current = (this.current + this.hits.length) % this.hits.length;
    this.#tell();
    this.options.onHit(this.hits[this.current]);
  }

  #tell() {
    if (this.asked === "") return say(this.output, "");
    const all = `${count(this.hits.length)}${this.done ? "" : "+"}`;
    if (this.hits.length === 0) return say(this.output, this.done ? "no hits" : "…");
    say(this.output, this.current < 0 ? `${all} ${this.hits.length === 1 ? "hit" : "hits"}` : `${count(this.current + 1)}/${all}`);
  }

  clear() {
    this.input.value = "";
    this.find("");
  }
}
