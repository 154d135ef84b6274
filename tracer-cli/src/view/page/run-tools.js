// The line of tools above a run's views: which view, which kinds are listed, what is searched for; and what the filters leave out.

import { fill, glyph, make } from "./dom.js";
import { Search } from "./search.js";
import { KIND } from "./step-row.js";
import { VIEWS } from "./route.js";
import { count, duration } from "./units.js";

/** @import { Kind } from "./contract" */
/** @import { RunPage } from "./run.js" */
/** @import { View } from "./route.js" */

/** @type {Record<View, string>} */
const VIEW_NAMES = { steps: "Steps", transcript: "Transcript", state: "State", compare: "Compare", raw: "Raw" };
/** @type {Kind[]} */
const FILTERS = ["llm", "tool", "state", "error", "loop", "other"];

export class RunTools {
  /** @param {RunPage} page */
  constructor(page) {
    this.page = page;
    this.search = new Search({
      run: page.id,
      onQuery: (query) => page.setRoute({ query }),
      onHits: (rows) => {
        page.steps.hits = new Set(rows);
        page.steps.list.render(true);
        page.minimap.setHits(rows);
      },
      onHit: (row) => page.select(row, { center: true }),
    });
    this.tabs = make("div.tabs", { role: "tablist", "aria-label": "Views" });
    this.tabList = VIEWS.map((view, index) => make("button", {
      role: "tab", id: `tab-${view}`, "aria-controls": "view", title: `${VIEW_NAMES[view]} (${index + 1})`,
      onclick: () => page.setView(view),
    }, VIEW_NAMES[view]));
    this.tabs.append(...this.tabList);
    this.tabs.addEventListener("keydown", (event) => this.#walkTabs(event));
    this.kinds = make("div.chips", { role: "group", "aria-label": "Kinds of steps" });
    this.chips = FILTERS.map((kind) => make("button.chip", {
      "aria-pressed": "false", data: { kind }, onclick: () => this.#toggleKind(kind),
    }, glyph(KIND[kind].glyph), KIND[kind].word));
    this.fold = make("button.chip", { "aria-pressed": "true", title: "Fold repeats of a call (z)", onclick: () => this.toggleFolding() }, "Fold repeats");
    this.follow = make("button.chip", { hidden: true, title: "Keep the newest step on the screen (F)", onclick: () => page.setFollowing(!page.following) },
      glyph("running"), "Follow");
    this.kinds.append(...this.chips, this.fold, this.follow);
    this.note = make("div.filter-note", { hidden: true, role: "status" });
    this.element = make("div", { id: "tools" },
      make("div.tools", null, this.tabs, this.kinds, this.search.element), this.note);
  }

  /** @param {KeyboardEvent} event */
  #walkTabs(event) {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const next = VIEWS[(VIEWS.indexOf(this.page.route.view) + step + VIEWS.length) % VIEWS.length];
    this.page.setView(next);
    document.getElementById(`tab-${next}`)?.focus();
  }

  /** @param {Kind} kind */
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
    this.tabList.forEach((tab, index) => {
      const isOpen = VIEWS[index] === route.view;
      tab.setAttribute("aria-selected", String(isOpen));
      tab.tabIndex = isOpen ? 0 : -1;
    });
    this.kinds.hidden = route.view !== "steps";
    this.follow.hidden = overview?.standing !== "running";
    this.follow.setAttribute("aria-pressed", String(following));
    if (!outline || !columns) return;
    this.chips.forEach((chip, index) => {
      chip.setAttribute("aria-pressed", String(outline.kinds.has(FILTERS[index])));
    });
    this.fold.setAttribute("aria-pressed", String(outline.folding));
    this.fold.hidden = !columns.hasRepeats;
    this.note.hidden = !outline.isFiltered || route.view !== "steps";
    if (this.note.hidden) return;
    const told = [...outline.kinds].map((kind) => KIND[/** @type {Kind} */ (kind)]?.word ?? kind);
    const range = outline.range ? `from +${duration(outline.range[0])} to +${duration(outline.range[1])}` : "";
    fill(this.note,
      make("span", null, `${count(outline.matching)} of ${count(columns.length)} rows: ${[told.join(", "), range].filter(Boolean).join(", ")}`),
      make("button.quiet", { onclick: () => this.clear() }, "Show all"));
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
