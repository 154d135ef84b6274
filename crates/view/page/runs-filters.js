// Which runs are listed, and in which order: kept in the address, so that a link or a reload shows the same.

import { fill, glyph, make } from "./dom.js";
import { STATUS } from "./run-about.js";
import { count } from "./units.js";

/** @import { RunRow, Standing } from "./contract" */

/** @type {[string, string, number][]} value, label, milliseconds */
const SINCE = [
  ["", "Any time", 0],
  ["1h", "Last hour", 3_600_000],
  ["24h", "Last 24 hours", 86_400_000],
  ["7d", "Last 7 days", 604_800_000],
  ["30d", "Last 30 days", 2_592_000_000],
];
/** @type {Standing[]} */
const STATUSES = ["running", "failed", "loop", "interrupted", "damaged", "ok"];

/** What each column is sorted by. */
const FIELDS = new Map(
  /** @type {[string, (run: RunRow) => string | number][]} */ ([
    ["standing", (run) => STATUSES.indexOf(run.standing)],
    ["name", (run) => (run.run_name ?? "").toLowerCase()],
    ["started", (run) => run.started_at ?? ""],
    ["duration", (run) => run.duration_us ?? -1],
    ["steps", (run) => run.details?.steps ?? (run.counts ? run.counts.llm_calls + run.counts.tool_calls : -1)],
    ["tokens", (run) => run.details?.tokens ?? -1],
  ]),
);
const NEWEST_FIRST = "-started";
/** Sort keys that need the spans of each run. */
const SORTED_BY_SPANS = ["steps", "tokens"];

export class RunsFilters {
  /** @param {() => void} onChange */
  constructor(onChange) {
    this.onChange = onChange;
    this.input = make("input", {
      type: "search",
      placeholder: "Search runs",
      "aria-label": "Search runs",
      spellcheck: "false",
      autocomplete: "off",
    });
    this.search = make("label.search", null, glyph("search"), this.input);
    this.chips = make("div.chips", { role: "group", "aria-label": "Status" });
    this.agent = make("select", { "aria-label": "Name" });
    this.since = make(
      "select",
      { "aria-label": "Started" },
      SINCE.map(([value, label]) => make("option", { value }, label)),
    );
    this.element = make("div.runs-filters", null, this.chips, make("span.grow"), this.agent, this.since);
    this.query = "";
    /** @type {Set<Standing>} */
    this.standings = new Set();
    this.sort = NEWEST_FIRST;
    this.name = "";
    this.input.addEventListener("input", () => this.#set(() => (this.query = this.input.value.trim())));
    this.agent.addEventListener("change", () => this.#set(() => (this.name = this.agent.value)));
    this.since.addEventListener("change", () => this.#set(() => {}));
    this.#readAddress();
  }

  /** @param {() => void} change */
  #set(change) {
    change();
    this.#write();
    this.onChange();
  }

  #readAddress() {
    const query = new URLSearchParams(location.search);
    this.query = query.get("q") ?? query.get("filter") ?? "";
    this.input.value = this.query;
    this.standings = new Set(STATUSES.filter((standing) => (query.get("status") ?? "").split(",").includes(standing)));
    this.name = query.get("agent") ?? "";
    this.since.value = query.get("since") ?? "";
    const sort = query.get("sort") ?? "";
    this.sort = FIELDS.has(field(sort)) ? sort : NEWEST_FIRST;
  }

  /** Whether the order or the search needs the details of all runs. */
  get needsSpans() {
    return this.query !== "" || SORTED_BY_SPANS.includes(field(this.sort));
  }

  /** Takes the filters from the address again. */
  read() {
    this.#readAddress();
    this.onChange();
  }

  #write() {
    const query = new URLSearchParams();
    if (this.query) query.set("q", this.query);
    if (this.standings.size > 0) query.set("status", [...this.standings].join(","));
    if (this.name) query.set("agent", this.name);
    if (this.since.value) query.set("since", this.since.value);
    if (this.sort !== NEWEST_FIRST) query.set("sort", this.sort);
    const text = query.toString();
    history.replaceState(null, "", text ? `/?${text}` : "/");
  }

  clear() {
    this.#set(() => {
      this.query = this.input.value = this.name = this.since.value = "";
      this.standings.clear();
    });
  }

  /**
   * Sorts by a column: the largest, newest or worst first, and the other way round the second time.
   * @param {string} name
   */
  sortBy(name) {
    const first = name === "name" || name === "standing" ? name : `-${name}`;
    const second = first.startsWith("-") ? name : `-${name}`;
    this.#set(() => (this.sort = this.sort === first ? second : first));
  }

  /** @param {string} name */
  order(name) {
    if (this.sort === name) return "ascending";
    return this.sort === `-${name}` ? "descending" : null;
  }

  /** The filters in words, for when they leave nothing. */
  inWords() {
    const filters = [];
    if (this.query) filters.push(`“${this.query}”`);
    if (this.standings.size > 0) filters.push(`status ${[...this.standings].join(" or ")}`);
    if (this.name) filters.push(`the name ${this.name}`);
    if (this.since.value) filters.push(this.since.selectedOptions[0]?.label.toLowerCase() ?? "");
    return filters.join(", ");
  }

  /**
   * @param {RunRow[]} runs newest first
   * @returns {RunRow[]}
   */
  apply(runs) {
    const words = this.query.toLowerCase().split(/\s+/).filter(Boolean);
    const age = SINCE.find(([value]) => value === this.since.value)?.[2] ?? 0;
    const oldest = age > 0 ? Date.now() - age : 0;
    const others = runs.filter((run) => {
      if (this.name && (run.run_name ?? "unnamed run") !== this.name) return false;
      if (oldest > 0 && Date.parse(run.started_at ?? "") < oldest) return false;
      const text = `${run.run_name ?? ""} ${run.trace_id} ${run.details?.subtitle ?? ""}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    this.#showChips(others);
    this.#showNames(runs);
    const shown = this.standings.size > 0 ? others.filter((run) => this.standings.has(run.standing)) : others;
    const key = FIELDS.get(field(this.sort)) ?? (() => 0);
    const sign = this.sort.startsWith("-") ? -1 : 1;
    const keyed = shown.map((run) => ({ run, key: key(run) }));
    keyed.sort((a, b) => (a.key < b.key ? -sign : a.key > b.key ? sign : 0));
    return keyed.map(({ run }) => run);
  }

  /** @param {RunRow[]} runs */
  #showChips(runs) {
    const counts = new Map(STATUSES.map((standing) => [standing, 0]));
    for (const run of runs) counts.set(run.standing, (counts.get(run.standing) ?? 0) + 1);
    const focused = this.chips.contains(document.activeElement) ? document.activeElement?.getAttribute("data-standing") : null;
    /** @param {Standing | null} standing @param {(Node | string)[]} content */
    const chip = (standing, content) =>
      make(
        "button.chip",
        {
          "aria-pressed": String(standing ? this.standings.has(standing) : this.standings.size === 0),
          data: { standing: standing ?? "" },
          onclick: () =>
            this.#set(() => {
              if (!standing) this.standings.clear();
              else if (!this.standings.delete(standing)) this.standings.add(standing);
            }),
        },
        content,
      );
    fill(
      this.chips,
      chip(null, ["All ", make("b", null, count(runs.length))]),
      STATUSES.filter((standing) => (counts.get(standing) ?? 0) > 0 || this.standings.has(standing)).map((standing) =>
        chip(standing, [
          make("span.standing", { data: { standing } }, glyph(STATUS[standing].glyph)),
          STATUS[standing].word,
          " ",
          make("b", null, count(counts.get(standing) ?? 0)),
        ]),
      ),
    );
    const again = [...this.chips.querySelectorAll("button")].find((button) => button.dataset.standing === focused);
    again?.focus();
  }

  /** @param {RunRow[]} runs */
  #showNames(runs) {
    const names = [...new Set(runs.map((run) => run.run_name ?? "unnamed run"))].sort();
    const list = names.join("\n");
    if (this.agent.dataset.names === list) return;
    this.agent.dataset.names = list;
    fill(
      this.agent,
      make("option", { value: "" }, "Any name"),
      names.slice(0, 500).map((name) => make("option", { value: name }, name)),
    );
    this.agent.value = this.name;
  }
}

/** @param {string} sort */
function field(sort) {
  return sort.replace(/^-/, "");
}
