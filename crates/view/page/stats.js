// The page of statistics: all runs as a whole and by group. Every number leads to the runs behind it.

import { initialData, listen } from "./api.js";
import { capital, fill, make } from "./dom.js";
import { Filters } from "./filters.js";
import { bind, showConnection, showError, startFrame } from "./frame.js";
import { KEYS } from "./keys.js";
import { Latest } from "./latest.js";
import { count, counted } from "./units.js";

/** @import { StatsAnswer, StatsCell, StatsRow } from "./answers" */

const USUAL = { q: "", since: "", by: "name", sort: "", reverse: "", trials: "" };
/** Groups that are shown, and that are added when more are wanted. */
const PART_GROUPS = 60;
/** Time between two requests during the first reading. */
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
    this.filters = new Filters(USUAL, "Only runs that match", () => {
      this.limit = PART_GROUPS;
      this.ask();
    });
    this.chips = make("div.chips", { role: "group", "aria-label": "Group by" });
    this.trials = make(
      "button.chip",
      { "aria-pressed": "false", onclick: () => this.filters.set({ trials: this.filters.values.trials ? "" : "true" }) },
      "Count trials",
    );
    this.note = make("div.filter-note", { hidden: true, role: "status" });
    this.table = make("table.stats", { role: "grid", "aria-label": "Statistics" });
    this.scroll = make("div.stats-scroll", null, this.table);
    this.more = make("p.more-below", { hidden: true });
    const main = startFrame({ search: this.filters.search });
    main.append(
      make("h1.unseen", null, "Statistics"),
      make(
        "div.runs-filters",
        null,
        make("span.muted", { "aria-hidden": "true" }, "By"),
        this.chips,
        make("span.grow"),
        this.trials,
        this.filters.since,
      ),
      this.note,
      this.scroll,
      this.more,
    );
    this.listen();
    const { stats } = initialData();
    if (stats) this.show(stats);
    else this.ask();
  }

  listen() {
    this.table.addEventListener("keydown", (event) => this.onKey(event));
    this.table.addEventListener("focusin", (event) => {
      const place = placeOf(/** @type {Element} */ (event.target));
      if (place) this.setPlace(place);
    });
    bind(KEYS.stats, {
      next: () => this.focus(this.place.row + 1),
      previous: () => this.focus(this.place.row - 1),
      nextKind: () => this.groupBy(1),
      previousKind: () => this.groupBy(-1),
      find: () => this.filters.input.focus(),
      escape: () => this.filters.set({ q: "", since: "" }),
    });
    const path = () => `/api/stream?version=${encodeURIComponent(this.stats?.version ?? "")}`;
    listen(path, { change: () => this.ask() }, showConnection);
  }

  /** @param {number} step */
  groupBy(step) {
    if (!this.stats) return;
    const { groupings, by } = this.stats;
    const next = groupings.at((groupings.indexOf(by ?? "") + step) % groupings.length);
    if (next) this.setGrouping(next);
  }

  /** Another grouping begins in its own order. @param {string} by */
  setGrouping(by) {
    this.place = { row: 0, column: 0 };
    this.filters.set({ by, sort: "", reverse: "" });
  }

  /** Asks the server for what the address says. */
  async ask() {
    clearTimeout(this.reading);
    const { q, since, by } = this.filters.values;
    const parameters = this.filters.query;
    parameters.delete("since");
    const query = [q, since && `since:${since}`].filter(Boolean).join(" ");
    if (query) parameters.set("q", query);
    parameters.set("by", by);
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
    this.showChips(stats);
    this.trials.setAttribute("aria-pressed", String(this.filters.values.trials !== ""));
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
    else fill(this.more, `No ${stats.by} in ${counted(stats.all.stats.runs, "run")}.`);
  }

  /** @param {string | undefined} column */
  headOf(column) {
    return [...this.table.querySelectorAll("button")].find((button) => button.dataset.column === column);
  }

  showMore() {
    this.limit += PART_GROUPS;
    this.ask();
  }

  /** @param {StatsAnswer} stats */
  showChips({ groupings, by }) {
    const focused = this.chips.contains(document.activeElement);
    fill(
      this.chips,
      groupings.map((grouping) =>
        make("button.chip", { "aria-pressed": String(grouping === by), onclick: () => this.setGrouping(grouping) }, capital(grouping)),
      ),
    );
    if (focused) /** @type {HTMLElement | null} */ (this.chips.querySelector("[aria-pressed=true]"))?.focus();
  }

  /** @param {StatsAnswer} stats @param {boolean} hasBars */
  heads(stats, hasBars) {
    const { sort, reverse } = this.filters.values;
    /** @param {string} column @param {string} label @param {string} name @param {boolean} isAscending */
    const head = (column, label, name, isAscending) => {
      const order = sort === column ? ((reverse === "") === isAscending ? "ascending" : "descending") : null;
      return make(
        "th",
        { scope: "col", class: name, "aria-sort": order },
        make("button.sort", { data: { column }, onclick: () => this.sortBy(column) }, label),
      );
    };
    return make(
      "tr",
      null,
      head("group", capital(stats.by ?? "group"), "group", true),
      stats.columns.map(({ key, heading, is_ascending: isAscending }) => head(key, heading, `number stat-${key}`, isAscending)),
      hasBars && make("th.bars", { scope: "col" }, stats.is_of_calls ? "Calls by day" : "Runs by day"),
    );
  }

  /** @param {string} column */
  sortBy(column) {
    const { sort, reverse } = this.filters.values;
    this.filters.set({ sort: column, reverse: sort === column && reverse === "" ? "true" : "" });
  }

  /** @param {StatsRow} row @param {StatsAnswer} stats @param {boolean} hasBars @param {boolean} isAll */
  row(row, stats, hasBars, isAll) {
    const name = isAll ? "All runs" : (row.label ?? "(none)");
    const { group } = row.cells;
    return make(
      isAll ? "tr.all" : "tr",
      null,
      make("th", { scope: "row", class: row.label === null ? "group muted" : "group" }, linked(group, name)),
      stats.columns.map(({ key, heading }) => {
        const cell = row.cells[key];
        return make(
          "td",
          { class: `number stat-${key}`, data: { tone: cell.tone, label: heading }, title: cell.title },
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
