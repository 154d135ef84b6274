// The line of tools above a run's views: which view, which kinds are listed, what the filters leave out; and the search, which the server
// does in the log while the page walks the hits.

import { runPath } from "./api.js";
import { capital, fill, glyph, kindWord, make, say } from "./dom.js";
import { searchBox } from "./filters.js";
import { Latest } from "./latest.js";
import { CRITICAL } from "./outline.js";
import { VIEWS } from "./route.js";
import { effect, untracked } from "./store.js";
import { Tabs } from "./tabs.js";
import { count, duration } from "./units.js";

/** @import { View } from "./route.js" */
/** @import { RunModel } from "./run-model.js" */

const FILTERS = ["llm", "tool", "state", "error", "loop", "span", CRITICAL];
/** The orders of the steps. @type {Record<string, string>} */
const ORDER_WORDS = { "": "By time", duration: "Longest first", own: "Most time of its own", tokens: "Most tokens" };

/** @param {string} kind */
function filterWord(kind) {
  return kind === CRITICAL ? "Critical path" : kindWord(kind);
}

export class RunTools {
  /** @param {RunModel} page */
  constructor(page) {
    this.page = page;
    this.search = new Search(page);
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
          title: filterWord(kind),
          onclick: () => this.#toggleKind(kind),
        },
        glyph(kind === CRITICAL ? "open" : kind),
        make("span", null, filterWord(kind)),
      ),
    );
    this.order = make(
      "select",
      { "aria-label": "Order", onchange: () => page.filter({ sort: this.order.value }) },
      Object.entries(ORDER_WORDS).map(([value, label]) => make("option", { value }, label)),
    );
    this.fold = make(
      "button.chip",
      { "aria-pressed": "true", title: "Fold repeats of a call (z)", onclick: () => this.toggleFolding() },
      "Fold repeats",
    );
    this.follow = make(
      "button.chip",
      { hidden: true, title: "Keep the newest step on the screen (F)", onclick: () => (page.following = !page.following) },
      glyph("running"),
      "Follow",
    );
    this.kinds.append(...this.chips, this.fold, this.follow, this.order);
    this.note = make("div.filter-note", { hidden: true, role: "status" });
    this.element = make(
      "div",
      { id: "tools" },
      make("div.tools", null, this.tabs.element, this.kinds, this.search.element),
      this.search.problem,
      this.note,
    );
    effect(() => this.#show());
  }

  /** @param {string} kind */
  #toggleKind(kind) {
    const { kinds } = this.page.route;
    this.page.filter({ kinds: kinds.includes(kind) ? kinds.filter((other) => other !== kind) : [...kinds, kind] });
  }

  toggleFolding() {
    this.page.filter({ folding: !this.page.route.folding });
  }

  /** Shows which view is open, what is filtered and how much that leaves out. */
  #show() {
    const { outline, route, overview, following } = this.page;
    this.tabs.show(route.view);
    this.kinds.hidden = route.view !== "steps";
    this.follow.hidden = overview?.run_status !== "running";
    this.follow.setAttribute("aria-pressed", String(following));
    this.chips.forEach((chip, index) => chip.setAttribute("aria-pressed", String(route.kinds.includes(FILTERS[index]))));
    this.order.value = route.sort;
    this.fold.setAttribute("aria-pressed", String(route.folding));
    this.fold.hidden = !outline?.columns.hasRepeats;
    this.note.hidden = !outline?.isFiltered || route.view !== "steps";
    if (!outline || this.note.hidden) return;
    const range = route.range ? `from +${duration(route.range[0])} to +${duration(route.range[1])}` : "";
    const words = [route.kinds.map(filterWord).join(", "), range].filter(Boolean).join(", ");
    fill(
      this.note,
      make("span", null, `${count(outline.matching)} of ${count(outline.columns.length)} rows: ${words}`),
      make("button.quiet", { onclick: () => this.clear() }, "Show all"),
    );
  }

  /** Lists every step again. */
  clear() {
    this.page.filter({ kinds: [], range: null });
  }
}

/** Small enough that the first hits arrive soon. */
const HITS_PER_REQUEST = 500;
/** Further hits are shown as "and more". */
const MAX_HITS = 20_000;

export class Search {
  /** @param {RunModel} page */
  constructor(page) {
    this.page = page;
    const { input, element } = searchBox(
      {
        placeholder: "Find in run",
        "aria-label": "Find in run, for example: refund, kind:tool, name~search, status:failed, duration>1s",
        title: "Text, or kind:tool name~search status:failed duration>1s",
        id: "find",
      },
      (query) => page.setRoute({ query }),
    );
    this.input = input;
    this.output = make("output", { for: "find", "aria-live": "polite" });
    this.problem = make("div.filter-note", { hidden: true, role: "alert" });
    this.element = make(
      "div.find",
      { role: "search" },
      element,
      this.output,
      make("button.icon", { "aria-label": "Previous hit (N)", title: "Previous hit (N)", onclick: () => this.walk(-1) }, glyph("up")),
      make("button.icon", { "aria-label": "Next hit (n)", title: "Next hit (n)", onclick: () => this.walk(1) }, glyph("down")),
    );
    this.current = -1;
    this.done = true;
    this.asked = "";
    /** True until the first hit is reached. */
    this.walking = false;
    /** A link to a search leads to its first hit. */
    this.linked = page.route.at ? "" : page.route.query;
    this.latest = new Latest();
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        if (this.input.value.trim() !== this.asked) page.setRoute({ query: this.input.value.trim() });
        if (page.hits.length === 0) this.walking = !this.done;
        else this.walk(event.shiftKey ? -1 : 1);
      }
    });
    effect(() => {
      const { query } = page.route;
      if (page.columns && query !== this.asked) untracked(() => this.#find(query));
    });
    effect(() => {
      // Another step was selected meanwhile.
      if (page.selection.row >= 0) this.walking = false;
    });
  }

  /** @param {string} query */
  async #find(query) {
    const { page, input } = this;
    this.asked = query;
    this.walking = query === this.linked && page.selected < 0;
    this.linked = "";
    this.latest.drop();
    if (input.value.trim() !== query) input.value = query;
    this.problem.hidden = true;
    page.hits = [];
    this.current = -1;
    this.done = query === "";
    this.#announce();
    if (query === "") return;
    try {
      await page.whole;
      if (query !== this.asked) return;
      let after = /** @type {number | null} */ (null);
      do {
        const part = await this.latest.ask(runPath(page.id, "/search", { q: query, after, limit: HITS_PER_REQUEST }));
        if (!part) return;
        const walkedTo = page.hits[this.current];
        // A later hit may come before an earlier one in the run.
        page.hits = [...page.hits, ...part.hits].sort((a, b) => a - b);
        if (this.current >= 0) this.current = page.hits.indexOf(walkedTo);
        after = part.next ?? null;
        this.done = Boolean(part.done) || after === null;
        this.#announce();
        if (this.walking && page.hits.length > 0) this.walk(1);
      } while (!this.done && page.hits.length < MAX_HITS);
    } catch (error) {
      this.done = true;
      say(this.output, "not searched");
      this.problem.hidden = false;
      say(this.problem, `Nothing was searched for: ${error instanceof Error ? error.message : String(error)}.`);
    }
  }

  /**
   * Goes to the next hit or the previous one.
   * @param {1 | -1} step
   * @param {number} [from] row
   */
  walk(step, from) {
    const { page } = this;
    const { hits } = page;
    if (hits.length === 0) return;
    if (this.current < 0 && from !== undefined) {
      const next = hits.findIndex((row) => row >= from);
      this.current = step > 0 ? (next < 0 ? 0 : next) : (next < 0 ? hits.length : next) - 1;
    } else {
      this.current += step;
    }
    this.current = (this.current + hits.length) % hits.length;
    this.#announce();
    // The keys that walk on are no text.
    this.input.blur();
    page.select(hits[this.current], { center: true, focus: true });
  }

  #announce() {
    const { hits } = this.page;
    if (this.asked === "") return say(this.output, "");
    const all = `${count(hits.length)}${this.done ? "" : "+"}`;
    if (hits.length === 0) return say(this.output, this.done ? "no hits" : "…");
    say(this.output, this.current < 0 ? `${all} ${hits.length === 1 ? "hit" : "hits"}` : `${count(this.current + 1)}/${all}`);
  }

  clear() {
    this.page.setRoute({ query: "" });
  }
}
