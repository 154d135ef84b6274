// The line of tools above a run's views: which view, which kinds are listed, what the filters leave out; and the search, which the server
// does in the log while the page walks the hits.

import { runPath } from "./api.js";
import { capital, fill, glyph, kindWord, make, say } from "./dom.js";
import { searchBox } from "./filters.js";
import { Latest } from "./latest.js";
import { count, duration } from "./units.js";
import { Tabs } from "./tabs.js";
import { VIEWS } from "./workspace.js";

/** @import { StepKind } from "./answers" */
/** @import { RunPage } from "./run.js" */
/** @import { View } from "./workspace.js" */

/** @type {StepKind[]} */
const FILTERS = ["llm", "tool", "state", "error", "loop", "span"];

export class RunTools {
  /** @param {RunPage} page */
  constructor(page) {
    this.page = page;
    this.search = new Search({
      run: page.id,
      onQuery: (query) => page.setRoute({ query }),
      onProblem: (problem) => {
        this.problem.hidden = problem === "";
        say(this.problem, problem);
      },
      onHits: (rows) => {
        page.steps.hits = new Set(rows);
        page.steps.list.render(true);
        page.minimap.setHits(rows);
      },
      onHit: (row) => {
        page.select(row, { center: true, focus: true });
        // The keys that walk on are no text.
        if (document.activeElement === this.search.input) page.workspace.focusView();
      },
    });
    this.tabs = new Tabs(
      "Views",
      "view",
      VIEWS.map((view, index) => [view, capital(view), `${capital(view)} (${index + 1})`]),
      (view) => page.setView(/** @type {View} */ (view)),
    );
    this.kinds = make("div.chips", { role: "group", "aria-label": "Kinds of steps" });
    this.chips = FILTERS.map((kind) =>
      make(
        "button.chip",
        {
          "aria-pressed": "false",
          data: { kind },
          title: kindWord(kind),
          onclick: () => this.#toggleKind(kind),
        },
        glyph(kind),
        make("span", null, kindWord(kind)),
      ),
    );
    this.fold = make(
      "button.chip",
      { "aria-pressed": "true", title: "Fold repeats of a call (z)", onclick: () => this.toggleFolding() },
      "Fold repeats",
    );
    this.follow = make(
      "button.chip",
      { hidden: true, title: "Keep the newest step on the screen (F)", onclick: () => page.setFollowing(!page.following) },
      glyph("running"),
      "Follow",
    );
    this.kinds.append(...this.chips, this.fold, this.follow);
    this.note = make("div.filter-note", { hidden: true, role: "status" });
    this.problem = make("div.filter-note", { hidden: true, role: "alert" });
    this.element = make(
      "div",
      { id: "tools" },
      make("div.tools", null, this.tabs.element, this.kinds, this.search.element),
      this.problem,
      this.note,
    );
  }

  /** @param {StepKind} kind */
  #toggleKind(kind) {
    const kinds = this.page.outline?.kinds;
    if (!kinds) return;
    if (!kinds.delete(kind)) kinds.add(kind);
    this.page.refilter();
  }

  toggleFolding() {
    const { outline } = this.page;
    if (!outline) return;
    outline.folding = !outline.folding;
    outline.unfolded.clear();
    this.page.refilter();
  }

  /** Shows which view is open, what is filtered and how much that leaves out. */
  showFilters() {
    const { outline, columns, route, overview, following } = this.page;
    this.tabs.show(route.view);
    this.kinds.hidden = route.view !== "steps";
    this.follow.hidden = overview?.run_status !== "running";
    this.follow.setAttribute("aria-pressed", String(following));
    if (!outline || !columns) return;
    this.chips.forEach((chip, index) => {
      chip.setAttribute("aria-pressed", String(outline.kinds.has(FILTERS[index])));
    });
    this.fold.setAttribute("aria-pressed", String(outline.folding));
    this.fold.hidden = !columns.hasRepeats;
    this.note.hidden = !outline.isFiltered || route.view !== "steps";
    if (this.note.hidden) return;
    const words = [...outline.kinds].map(kindWord);
    const range = outline.range ? `from +${duration(outline.range[0])} to +${duration(outline.range[1])}` : "";
    fill(
      this.note,
      make(
        "span",
        null,
        `${count(outline.matching)} of ${count(columns.length)} rows: ${[words.join(", "), range].filter(Boolean).join(", ")}`,
      ),
      make("button.quiet", { onclick: () => this.clear() }, "Show all"),
    );
  }

  /** Lists every step again. */
  clear() {
    const { outline } = this.page;
    if (!outline) return;
    outline.kinds.clear();
    outline.range = null;
    this.page.refilter();
  }
}

/** Small enough that the first hits arrive soon. */
const HITS_PER_REQUEST = 500;
/** Further hits are shown as "and more". */
const MAX_HITS = 20_000;

/**
 * @typedef {object} Options
 * @property {string} run
 * @property {(rows: number[]) => void} onHits
 * @property {(row: number) => void} onHit a hit was walked to
 * @property {(query: string) => void} onQuery
 * @property {(problem: string) => void} onProblem why nothing is searched for; nothing when it is
 */

export class Search {
  /** @param {Options} options */
  constructor(options) {
    this.options = options;
    const { input, element } = searchBox(
      {
        placeholder: "Find in run",
        "aria-label": "Find in run, for example: refund, kind:tool, name~search, status:failed, duration>1s",
        title: "Text, or kind:tool name~search status:failed duration>1s",
        id: "find",
      },
      (query) => this.find(query),
    );
    this.input = input;
    this.output = make("output", { for: "find", "aria-live": "polite" });
    this.element = make(
      "div.find",
      { role: "search" },
      element,
      this.output,
      make("button.icon", { "aria-label": "Previous hit (N)", title: "Previous hit (N)", onclick: () => this.walk(-1) }, glyph("up")),
      make("button.icon", { "aria-label": "Next hit (n)", title: "Next hit (n)", onclick: () => this.walk(1) }, glyph("down")),
    );
    /** Rows that were found, in ascending order. @type {number[]} */
    this.hits = [];
    this.current = -1;
    this.done = true;
    this.asked = "";
    /** True until the first hit is reached. */
    this.walking = false;
    this.latest = new Latest();
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        if (this.input.value.trim() !== this.asked) this.find(this.input.value.trim());
        if (this.hits.length === 0) this.walking = !this.done;
        else this.walk(event.shiftKey ? -1 : 1);
      }
    });
  }

  /**
   * @param {string} query
   * @param {boolean} [walks] whether to go to the first hit
   */
  async find(query, walks = false) {
    if (query === this.asked) return;
    this.asked = query;
    this.latest.drop();
    if (this.input.value.trim() !== query) this.input.value = query;
    this.options.onQuery(query);
    this.options.onProblem("");
    this.hits = [];
    this.current = -1;
    this.walking = walks;
    this.done = query === "";
    this.#announce();
    this.options.onHits([]);
    if (query === "") return;
    try {
      let after = /** @type {number | null} */ (null);
      do {
        const part = await this.latest.ask(runPath(this.options.run, "/search", { q: query, after, limit: HITS_PER_REQUEST }));
        if (!part) return;
        const walkedTo = this.hits[this.current];
        // A later hit may come before an earlier one in the run.
        this.hits = [...this.hits, ...part.hits].sort((a, b) => a - b);
        if (this.current >= 0) this.current = this.hits.indexOf(walkedTo);
        after = part.next ?? null;
        this.done = Boolean(part.done) || after === null;
        this.#announce();
        this.options.onHits(this.hits);
        if (this.walking && this.hits.length > 0) {
          this.walking = false;
          this.walk(1);
        }
      } while (!this.done && this.hits.length < MAX_HITS);
    } catch (error) {
      this.done = true;
      say(this.output, "not searched");
      this.options.onProblem(`Nothing was searched for: ${error instanceof Error ? error.message : String(error)}.`);
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
    this.#announce();
    this.options.onHit(this.hits[this.current]);
  }

  /** Goes to no hit that comes later: another step was selected meanwhile. */
  stay() {
    this.walking = false;
  }

  #announce() {
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
