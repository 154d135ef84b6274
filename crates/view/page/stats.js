// The page of statistics: all runs as a whole and by group. Every number leads to the runs behind it.

import { initialData, listen } from "./api.js";
import { fill, glyph, make } from "./dom.js";
import { bind, showConnection, showError, startFrame } from "./frame.js";
import { Latest } from "./latest.js";
import { SINCE } from "./runs-filters.js";
import { count, counted } from "./units.js";

/** @import { StatsAnswer, StatsCell, StatsRow } from "./answers" */

/** @type {[string, string][]} value, label */
const GROUPINGS = [
  ["name", "Name"],
  ["model", "Model"],
  ["tool", "Tool"],
  ["day", "Day"],
  ["tag", "Tag"],
  ["commit", "Commit"],
  ["error", "Error"],
];
const FIRST_GROUPING = "name";
/** @type {Record<string, string>} column, heading */
const HEADINGS = {
  runs: "Runs",
  failed: "Failed",
  loops: "Loops",
  errors: "Errors",
  calls: "Calls",
  p50: "p50",
  p95: "p95",
  tokens: "Tokens",
  cached: "Cached",
  cost: "Cost",
};
/** Groups that are shown, and that are added when more are wanted. */
const PART_GROUPS = 60;
/** A question is asked when nothing was typed for so long. */
const TYPING_DELAY_MS = 150;
/** How often to ask again while the runs are read for the first time. */
const READING_INTERVAL_MS = 1_000;
/** Measures of a row's bars, in pixels. */
const BAR_WIDTH = 4;
const BARS_HEIGHT = 16;

const SVG = "http://www.w3.org/2000/svg";

class StatsPage {
  constructor() {
    /** @type {StatsAnswer | null} */
    this.stats = null;
    this.limit = PART_GROUPS;
    this.latest = new Latest();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.reading = undefined;
    /** The row and the column of the cell that has the focus, or gets it. */
    this.place = { row: 0, column: 0 };
    this.query = "";
    this.by = FIRST_GROUPING;
    this.sort = "";
    this.isReversed = false;
    /** Whether the trials of gates are counted, too. */
    this.hasTrials = false;
    this.input = make("input", {
      type: "search",
      placeholder: "Only runs that match",
      "aria-label": "Search runs",
      spellcheck: "false",
      autocomplete: "off",
    });
    this.since = make(
      "select",
      { "aria-label": "Started" },
      SINCE.map(([value, label]) => make("option", { value }, label)),
    );
    this.chips = make("div.chips", { role: "group", "aria-label": "Group by" });
    this.trials = make(
      "button.chip",
      { "aria-pressed": "false", onclick: () => this.set(() => (this.hasTrials = !this.hasTrials)) },
      "Count trials",
    );
    this.note = make("div.filter-note", { hidden: true, role: "status" });
    this.table = make("table.stats", { role: "grid", "aria-label": "Statistics" });
    this.scroll = make("div.stats-scroll", null, this.table);
    this.more = make("p.more-below", { hidden: true });
    const main = startFrame({ search: make("label.search", null, glyph("search"), this.input) });
    main.append(
      make("h1.unseen", null, "Statistics"),
      make(
        "div.runs-filters",
        null,
        make("span.muted", { "aria-hidden": "true" }, "By"),
        this.chips,
        make("span.grow"),
        this.trials,
        this.since,
      ),
      this.note,
      this.scroll,
      this.more,
    );
    this.readAddress();
    this.listen();
    const { stats } = initialData();
    if (stats) this.show(stats);
    else this.ask();
  }

  readAddress() {
    const query = new URLSearchParams(location.search);
    this.query = query.get("q") ?? "";
    this.input.value = this.query;
    this.since.value = query.get("since") ?? "";
    const by = query.get("by") ?? "";
    this.by = GROUPINGS.some(([value]) => value === by) ? by : FIRST_GROUPING;
    this.sort = query.get("sort") ?? "";
    this.isReversed = query.get("reverse") === "true";
    this.hasTrials = query.get("trials") === "true";
  }

  /** What is kept in the address. */
  get address() {
    const query = new URLSearchParams();
    if (this.query) query.set("q", this.query);
    if (this.since.value) query.set("since", this.since.value);
    if (this.by !== FIRST_GROUPING) query.set("by", this.by);
    if (this.sort) query.set("sort", this.sort);
    if (this.isReversed) query.set("reverse", "true");
    if (this.hasTrials) query.set("trials", "true");
    return query;
  }

  /** @param {() => void} change */
  set(change) {
    change();
    this.limit = PART_GROUPS;
    const text = this.address.toString();
    history.replaceState(null, "", text ? `/stats?${text}` : "/stats");
    this.ask();
  }

  listen() {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let typing;
    this.input.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => this.set(() => (this.query = this.input.value.trim())), TYPING_DELAY_MS);
    });
    this.since.addEventListener("change", () => this.set(() => {}));
    this.table.addEventListener("keydown", (event) => this.onKey(event));
    this.table.addEventListener("focusin", (event) => {
      const place = placeOf(/** @type {Element} */ (event.target));
      if (place) this.setPlace(place);
    });
    addEventListener("popstate", () => {
      this.readAddress();
      this.ask();
    });
    bind("Statistics", [
      [["j", "ArrowDown"], "next group", () => this.focus(this.place.row + 1)],
      [["k", "ArrowUp"], "previous group", () => this.focus(this.place.row - 1)],
      ["b", "group by the next kind", () => this.groupBy(1)],
      ["B", "group by the previous kind", () => this.groupBy(-1)],
      ["/", "search runs", () => this.input.focus()],
      ["Escape", "clear", () => this.set(() => (this.query = this.input.value = this.since.value = ""))],
    ]);
    const path = () => `/api/stream?table=${encodeURIComponent(this.stats?.version ?? "")}`;
    listen(path, { runs: () => this.ask() }, showConnection);
  }

  /** @param {number} step */
  groupBy(step) {
    const values = GROUPINGS.map(([value]) => value);
    const next = values.at((values.indexOf(this.by) + step) % values.length) ?? FIRST_GROUPING;
    this.set(() => this.setGrouping(next));
  }

  /** Another grouping begins in its own order. @param {string} by */
  setGrouping(by) {
    this.by = by;
    this.sort = "";
    this.isReversed = false;
    this.place = { row: 0, column: 0 };
  }

  /** Asks the server for what the address says. */
  async ask() {
    clearTimeout(this.reading);
    const parameters = this.address;
    parameters.delete("since");
    const query = [this.query, this.since.value && `since:${this.since.value}`].filter(Boolean).join(" ");
    if (query) parameters.set("q", query);
    parameters.set("by", this.by);
    parameters.set("limit", String(this.limit));
    try {
      const stats = /** @type {StatsAnswer | null} */ (await this.latest.ask(`/api/stats?${parameters}`));
      if (stats) this.show(stats);
    } catch (error) {
      const { code, message } = /** @type {{ code?: string, message: string }} */ (error);
      if (code !== "invalid_query" && code !== "reading" && code !== "invalid_parameter") return showError(error);
      this.note.hidden = false;
      this.note.classList.toggle("refusal", code !== "reading");
      fill(this.note, code === "reading" ? `No statistics yet: ${message}` : `The search cannot be read: ${message}`);
      if (code === "reading") this.reading = setTimeout(() => this.ask(), READING_INTERVAL_MS);
    }
  }

  /** @param {StatsAnswer} stats */
  show(stats) {
    this.stats = stats;
    this.note.hidden = true;
    const focused = this.table.contains(document.activeElement) ? document.activeElement : null;
    this.showChips();
    this.trials.setAttribute("aria-pressed", String(this.hasTrials));
    const hasBars = stats.days.length > 1 && stats.by !== "day";
    const body = make(
      "tbody",
      null,
      this.row(stats.all, stats, hasBars, true),
      stats.groups.map((group) => this.row(group, stats, hasBars, false)),
    );
    fill(this.table, make("thead", null, this.heads(stats, hasBars)), body);
    this.setPlace(this.place);
    if (focused instanceof HTMLButtonElement) this.headOf(focused.dataset.column)?.focus();
    else if (focused) this.focus(this.place.row);
    const hidden = stats.group_count - stats.groups.length;
    this.more.hidden = hidden === 0 && stats.group_count > 0;
    if (hidden > 0)
      fill(
        this.more,
        make(
          "button",
          { onclick: () => this.showMore() },
          `Show ${count(Math.min(hidden, PART_GROUPS))} of ${counted(hidden, "more group")}`,
        ),
      );
    else if (stats.all.stats.runs === 0) fill(this.more, "No run matches.");
    else fill(this.more, `No ${this.by} in ${counted(stats.all.stats.runs, "run")}.`);
  }

  /** @param {string | undefined} column */
  headOf(column) {
    return [...this.table.querySelectorAll("button")].find((button) => button.dataset.column === column);
  }

  showMore() {
    this.limit += PART_GROUPS;
    this.ask();
  }

  showChips() {
    const focused = this.chips.contains(document.activeElement);
    fill(
      this.chips,
      GROUPINGS.map(([value, label]) =>
        make("button.chip", { "aria-pressed": String(this.by === value), onclick: () => this.set(() => this.setGrouping(value)) }, label),
      ),
    );
    if (focused) /** @type {HTMLElement | null} */ (this.chips.querySelector("[aria-pressed=true]"))?.focus();
  }

  /** @param {StatsAnswer} stats @param {boolean} hasBars */
  heads(stats, hasBars) {
    /** @param {string} column @param {string} label @param {string} name */
    const head = (column, label, name) => {
      const isFirst = column === "group" ? !this.isReversed : this.isReversed;
      const order = this.sort === column ? (isFirst ? "ascending" : "descending") : null;
      return make(
        "th",
        { scope: "col", class: name, "aria-sort": order },
        make("button.sort", { data: { column }, onclick: () => this.sortBy(column) }, label),
      );
    };
    const grouping = GROUPINGS.find(([value]) => value === stats.by)?.[1] ?? "Group";
    return make(
      "tr",
      null,
      head("group", grouping, "group"),
      stats.columns.map((column) => head(column, HEADINGS[column] ?? column, `number stat-${column}`)),
      hasBars && make("th.bars", { scope: "col" }, stats.is_of_calls ? "Calls by day" : "Runs by day"),
    );
  }

  /** @param {string} column */
  sortBy(column) {
    this.set(() => {
      this.isReversed = this.sort === column && !this.isReversed;
      this.sort = column;
    });
  }

  /** @param {StatsRow} row @param {StatsAnswer} stats @param {boolean} hasBars @param {boolean} isAll */
  row(row, stats, hasBars, isAll) {
    const name = isAll ? "All runs" : (row.label ?? "(none)");
    const { group } = row.cells;
    return make(
      isAll ? "tr.all" : "tr",
      null,
      make("th", { scope: "row", class: row.label === null ? "group muted" : "group" }, linked(group, name)),
      stats.columns.map((column) => {
        const cell = row.cells[column];
        return make(
          "td",
          { class: `number stat-${column}`, data: { tone: cell.tone, label: HEADINGS[column] ?? column }, title: cell.title },
          cell.text === "" ? null : linked(cell, cell.text),
        );
      }),
      hasBars && make("td.bars", { title: `${stats.days[0]} to ${stats.days.at(-1)}` }, bars(row.bars)),
    );
  }

  /** The links of a row. @param {number} row */
  linksOf(row) {
    return [...(this.table.tBodies[0]?.rows[row]?.querySelectorAll("a") ?? [])];
  }

  /** One link is reached with Tab, the others from there with the arrow keys. @param {{ row: number, column: number }} place */
  setPlace({ row, column }) {
    for (const link of this.table.querySelectorAll("a")) link.tabIndex = -1;
    const rows = this.table.tBodies[0]?.rows.length ?? 0;
    const kept = Math.max(0, Math.min(row, rows - 1));
    const links = this.linksOf(kept);
    this.place = { row: kept, column };
    const link = links.find((candidate) => placeOf(candidate)?.column === column) ?? links[0];
    if (link) link.tabIndex = 0;
  }

  /** @param {number} row @param {number} [column] */
  focus(row, column = this.place.column) {
    this.setPlace({ row, column });
    const link = this.linksOf(this.place.row).find((candidate) => candidate.tabIndex === 0);
    link?.focus();
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (!(event.target instanceof HTMLAnchorElement) || event.ctrlKey || event.metaKey || event.altKey) return;
    const { row, column } = this.place;
    const links = this.linksOf(row);
    const at = links.indexOf(event.target);
    /** @type {Record<string, () => void>} */
    const moves = {
      ArrowDown: () => this.focus(row + 1, column),
      ArrowUp: () => this.focus(row - 1, column),
      ArrowRight: () => links[at + 1]?.focus(),
      ArrowLeft: () => links[at - 1]?.focus(),
      Home: () => links[0]?.focus(),
      End: () => links.at(-1)?.focus(),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    move();
  }
}

/**
 * The row and the column of what is in the table.
 * @param {Element} element
 */
function placeOf(element) {
  const cell = element.closest("tbody th, tbody td");
  const row = cell?.closest("tr");
  if (!(cell instanceof HTMLTableCellElement) || !row) return null;
  return { row: row.sectionRowIndex, column: cell.cellIndex };
}

/**
 * A number that leads to the runs behind it.
 * @param {StatsCell} cell
 * @param {string} text
 */
function linked(cell, text) {
  if (cell.query === null) return make("span", null, text);
  const address = new URLSearchParams();
  if (cell.query) address.set("q", cell.query);
  if (cell.sort !== "started") address.set("sort", `-${cell.sort}`);
  return make("a", { href: `/?${address}`, tabindex: "-1" }, text);
}

/**
 * A bar for each day, the highest for the day with the most.
 * @param {number[]} days
 */
function bars(days) {
  const most = Math.max(1, ...days);
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "day-bars");
  svg.setAttribute("width", String(days.length * BAR_WIDTH));
  svg.setAttribute("height", String(BARS_HEIGHT));
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  const drawn = days.map((number, day) => {
    // A day with one run among thousands is seen, too.
    const height = number === 0 ? 0 : Math.max(1.5, (number / most) * BARS_HEIGHT);
    return number === 0 ? "" : `M${day * BAR_WIDTH} ${BARS_HEIGHT}v${-height}h${BAR_WIDTH - 1}v${height}z`;
  });
  path.setAttribute("d", drawn.join(""));
  svg.append(path);
  return svg;
}

new StatsPage();
