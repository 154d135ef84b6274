// Which runs are listed, and in which order.

import { fill, make } from "./dom.js";
import { Filters } from "./filters.js";
import { statusBadge } from "./runs-row.js";
import { count } from "./units.js";

/** @import { RunTable, TableColumn } from "./answers" */

/** @type {string[]} */
const STATUSES = ["running", "failed", "loop", "interrupted", "damaged", "ok"];
const USUAL = { q: "", status: "", agent: "", since: "", sort: "-started", group: "" };

/** @extends {Filters<typeof USUAL>} */
export class RunsFilters extends Filters {
  /** @param {TableColumn[]} columns @param {() => void} onChange */
  constructor(columns, onChange) {
    super(USUAL, "Search runs: words, or tool:search_kb tokens>10k", onChange);
    this.columns = columns;
    this.chips = make("div.chips", { role: "group", "aria-label": "Status" });
    this.agent = make("select", { "aria-label": "Name", onchange: () => this.set({ agent: this.agent.value }) });
    this.group = make(
      "button.chip",
      { "aria-pressed": "false", hidden: true, onclick: () => this.set({ group: this.values.group ? "" : "thread" }) },
      "Group threads",
    );
    this.element = make("div.runs-filters", null, this.chips, make("span.grow"), this.group, this.agent, this.since);
  }

  read() {
    super.read();
    this.values.status = [...this.statuses].join(",");
    if (this.values.group !== "thread") this.values.group = "";
    this.values.q ||= this.input.value = new URLSearchParams(location.search).get("filter") ?? "";
  }

  /** The statuses that are listed; none lists all. */
  get statuses() {
    const { status } = this.values;
    return new Set(STATUSES.filter((known) => status.split(",").includes(known)));
  }

  /** The parameters of the request; empty for all runs, the newest first. */
  get question() {
    const { agent, sort } = this.values;
    const column = this.columns.find(({ key }) => key === field(sort));
    const parameters = this.query;
    parameters.delete("agent");
    parameters.delete("sort");
    if (agent) parameters.set("name", agent);
    if (column && sort !== USUAL.sort) {
      parameters.set("sort", column.key);
      if (sort.startsWith("-") === column.is_ascending) parameters.set("reverse", "true");
    }
    return parameters.toString();
  }

  /** Filters by a further term. @param {string} term */
  add(term) {
    if (!this.values.q.includes(term)) this.set({ q: `${this.values.q} ${term}`.trim() });
  }

  clear() {
    this.set({ q: "", status: "", agent: "", since: "" });
  }

  /**
   * Sorts by a column: the largest, newest or worst first, and the other way round the second time.
   * @param {TableColumn} column
   */
  sortBy({ key, is_ascending: isAscending }) {
    const [first, second] = isAscending ? [key, `-${key}`] : [`-${key}`, key];
    this.set({ sort: this.values.sort === first ? second : first });
  }

  /** @param {string} key */
  order(key) {
    const { sort } = this.values;
    return field(sort) === key ? (sort === key ? "ascending" : "descending") : null;
  }

  /** The filters in words, for when they leave nothing. */
  inWords() {
    const { q, agent, since } = this.values;
    const { statuses } = this;
    const filters = [
      q && `“${q}”`,
      statuses.size > 0 && `status ${[...statuses].join(" or ")}`,
      agent && `the name ${agent}`,
      since && this.since.selectedOptions[0]?.label.toLowerCase(),
    ];
    return filters.filter(Boolean).join(", ");
  }

  /**
   * Shows what there is to choose from.
   * @param {RunTable} table
   */
  show({ statuses, names, threads, reading }) {
    const isGrouped = this.values.group !== "";
    this.group.hidden = threads === 0 && !isGrouped;
    this.group.setAttribute("aria-pressed", String(isGrouped));
    // While the runs are read for the first time, nothing can be said of the others.
    if (!reading || names.length > 0) this.#showNames(names);
    this.#showChips(statuses);
  }

  /** @param {RunTable["statuses"]} counts */
  #showChips(counts) {
    const chosen = this.statuses;
    const focused = this.chips.contains(document.activeElement) ? document.activeElement?.getAttribute("data-run-status") : null;
    /** @param {string} status @param {Node | string} label @param {number} number */
    const chip = (status, label, number) =>
      make(
        "button.chip",
        {
          "aria-pressed": String(status ? chosen.has(status) : chosen.size === 0),
          data: { runStatus: status },
          onclick: () => {
            if (!chosen.delete(status)) chosen.add(status);
            this.set({ status: status ? [...chosen].join(",") : "" });
          },
        },
        label,
        " ",
        make("b", null, count(number)),
      );
    fill(
      this.chips,
      chip(
        "",
        "All",
        Object.values(counts).reduce((sum, number) => sum + number, 0),
      ),
      STATUSES.filter((status) => counts[status] || chosen.has(status)).map((status) =>
        chip(status, statusBadge(status), counts[status] ?? 0),
      ),
    );
    const again = [...this.chips.querySelectorAll("button")].find((button) => button.dataset.runStatus === focused);
    again?.focus();
  }

  /** @param {string[]} names */
  #showNames(names) {
    const list = names.join("\n");
    if (this.agent.dataset.names !== list) {
      this.agent.dataset.names = list;
      fill(
        this.agent,
        make("option", { value: "" }, "Any name"),
        names.map((name) => make("option", { value: name }, name)),
      );
    }
    this.agent.value = this.values.agent;
  }
}

/** @param {string} sort */
function field(sort) {
  return sort.replace(/^-/, "");
}
