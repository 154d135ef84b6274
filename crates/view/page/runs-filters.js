// Which runs are listed, and in which order: kept in the address, so that a link or a reload shows the same.

import { fill, glyph, make } from "./dom.js";
import { STATUS } from "./run-about.js";
import { count } from "./units.js";

/** @import { RunTable } from "./answers" */

/** @type {[string, string][]} value, label */
export const SINCE = [
  ["", "Any time"],
  ["1h", "Last hour"],
  ["24h", "Last 24 hours"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
];
/** @type {string[]} */
const STATUSES = ["running", "failed", "loop", "interrupted", "damaged", "ok"];

/** The columns that runs are sorted by. */
const FIELDS = ["status", "name", "started", "duration", "steps", "tokens", "cost", "model", "tool"];
/** Those whose words come from the first to the last; numbers come from the largest to the smallest. */
const WORD_FIELDS = ["status", "name", "model", "tool"];
const NEWEST_FIRST = "-started";
/** A question is asked when nothing was typed for so long. */
const TYPING_DELAY_MS = 150;

export class RunsFilters {
  /** @param {() => void} onChange */
  constructor(onChange) {
    this.onChange = onChange;
    this.input = make("input", {
      type: "search",
      placeholder: "Search runs: words, or tool:search_kb tokens>10k",
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
    /** Whether the runs of a thread are listed together. */
    this.isGrouped = false;
    this.group = make(
      "button.chip",
      { "aria-pressed": "false", hidden: true, onclick: () => this.#set(() => (this.isGrouped = !this.isGrouped)) },
      "Group threads",
    );
    this.element = make("div.runs-filters", null, this.chips, make("span.grow"), this.group, this.agent, this.since);
    this.query = "";
    /** @type {Set<string>} */
    this.statuses = new Set();
    this.sort = NEWEST_FIRST;
    this.name = "";
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.typing = undefined;
    this.input.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.#set(() => (this.query = this.input.value.trim())), TYPING_DELAY_MS);
    });
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
    this.statuses = new Set(STATUSES.filter((status) => (query.get("status") ?? "").split(",").includes(status)));
    this.name = query.get("agent") ?? "";
    this.since.value = query.get("since") ?? "";
    const sort = query.get("sort") ?? "";
    this.sort = FIELDS.includes(field(sort)) ? sort : NEWEST_FIRST;
    this.isGrouped = query.get("group") === "thread";
  }

  /** What is asked of the server, as the parameters of the request; nothing for all runs, the newest first. */
  get question() {
    const name = field(this.sort);
    const isReversed = this.sort.startsWith("-") === WORD_FIELDS.includes(name);
    const parameters = new URLSearchParams();
    const query = [this.query, this.name && nameTerm(this.name)].filter(Boolean).join(" ");
    if (query) parameters.set("q", query);
    if (this.statuses.size > 0) parameters.set("status", [...this.statuses].join(","));
    if (this.since.value) parameters.set("since", this.since.value);
    if (this.sort !== NEWEST_FIRST) parameters.set("sort", name);
    if (isReversed) parameters.set("reverse", "true");
    if (this.isGrouped) parameters.set("group", "thread");
    return parameters.toString();
  }

  /**
   * Shows the runs of a thread alone.
   * @param {string} id
   */
  showThread(id) {
    this.#set(() => (this.query = this.input.value = term("session", id)));
  }

  /**
   * Leaves of the runs that are listed those that called this.
   * @param {DOMStringMap} called the field, `model` or `tool`, and the name
   */
  showCalled({ field = "", name = "" }) {
    const added = term(field, name);
    if (this.query.includes(added)) return;
    this.#set(() => (this.query = this.input.value = `${this.query} ${added}`.trim()));
  }

  /** Takes the filters from the address again. */
  read() {
    this.#readAddress();
    this.onChange();
  }

  #write() {
    const query = new URLSearchParams();
    if (this.query) query.set("q", this.query);
    if (this.statuses.size > 0) query.set("status", [...this.statuses].join(","));
    if (this.name) query.set("agent", this.name);
    if (this.since.value) query.set("since", this.since.value);
    if (this.sort !== NEWEST_FIRST) query.set("sort", this.sort);
    if (this.isGrouped) query.set("group", "thread");
    const text = query.toString();
    history.replaceState(null, "", text ? `/?${text}` : "/");
  }

  clear() {
    clearTimeout(this.typing);
    this.#set(() => {
      this.query = this.input.value = this.name = this.since.value = "";
      this.statuses.clear();
    });
  }

  /**
   * Sorts by a column: the largest, newest or worst first, and the other way round the second time.
   * @param {string} name
   */
  sortBy(name) {
    const first = WORD_FIELDS.includes(name) ? name : `-${name}`;
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
    if (this.statuses.size > 0) filters.push(`status ${[...this.statuses].join(" or ")}`);
    if (this.name) filters.push(`the name ${this.name}`);
    if (this.since.value) filters.push(this.since.selectedOptions[0]?.label.toLowerCase() ?? "");
    return filters.join(", ");
  }

  /**
   * Shows what there is to choose from.
   * @param {RunTable} table
   */
  show({ statuses, names, threads, reading }) {
    this.group.hidden = threads === 0 && !this.isGrouped;
    this.group.setAttribute("aria-pressed", String(this.isGrouped));
    // While the runs are read for the first time, nothing can be said of the others.
    if (!reading || names.length > 0) this.#showNames(names);
    this.#showChips(new Map(STATUSES.map((status) => [status, statuses[status] ?? 0])));
  }

  /** @param {Map<string, number>} counts */
  #showChips(counts) {
    const all = [...counts.values()].reduce((sum, number) => sum + number, 0);
    const focused = this.chips.contains(document.activeElement) ? document.activeElement?.getAttribute("data-run-status") : null;
    /** @param {string | null} status @param {(Node | string)[]} content */
    const chip = (status, content) =>
      make(
        "button.chip",
        {
          "aria-pressed": String(status ? this.statuses.has(status) : this.statuses.size === 0),
          data: { runStatus: status ?? "" },
          onclick: () =>
            this.#set(() => {
              if (!status) this.statuses.clear();
              else if (!this.statuses.delete(status)) this.statuses.add(status);
            }),
        },
        content,
      );
    fill(
      this.chips,
      chip(null, ["All ", make("b", null, count(all))]),
      STATUSES.filter((status) => (counts.get(status) ?? 0) > 0 || this.statuses.has(status)).map((status) =>
        chip(status, [
          make("span.run-status", { data: { runStatus: status } }, glyph(STATUS[status].glyph)),
          STATUS[status].word,
          " ",
          make("b", null, count(counts.get(status) ?? 0)),
        ]),
      ),
    );
    const again = [...this.chips.querySelectorAll("button")].find((button) => button.dataset.runStatus === focused);
    again?.focus();
  }

  /** @param {string[]} names */
  #showNames(names) {
    const list = names.join("\n");
    if (this.agent.dataset.names === list) return;
    this.agent.dataset.names = list;
    fill(
      this.agent,
      make("option", { value: "" }, "Any name"),
      names.map((name) => make("option", { value: name }, name)),
    );
    this.agent.value = this.name;
  }
}

/**
 * The term of a query that holds where a field has this value.
 * @param {string} name
 * @param {string} value
 */
function term(name, value) {
  return `${name}:"${value.replace(/["\\]/g, "\\$&")}"`;
}

/** How runs without a name are listed. */
const UNNAMED = "(unnamed)";

/** The term of a query that holds for runs of this name, as it is listed. @param {string} name */
export function nameTerm(name) {
  return name === UNNAMED ? "-name:*" : term("name", name);
}

/** @param {string} sort */
function field(sort) {
  return sort.replace(/^-/, "");
}
