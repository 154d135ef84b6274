// The page of all runs: a table that the server searches, filters and sorts, and that fills by itself while runs are recorded.

import { initialData, listen } from "./api.js";
import { commandLine } from "./commands.js";
import { fill, make } from "./dom.js";
import { bind, copy, showConnection, showError, startFrame } from "./frame.js";
import { Grid } from "./grid.js";
import { KEYS } from "./keys.js";
import { RunsData } from "./runs-data.js";
import { createRunRow, renderRunRow } from "./runs-row.js";
import { RunsFilters } from "./runs-filters.js";
import { keep, kept } from "./storage.js";
import { count } from "./units.js";

/** @import { TableColumn, TableRow } from "./answers" */

/** Time between two refreshes of times and durations. */
const REFRESH_INTERVAL_MS = 10_000;

/** Storage key of the run that was opened last. */
const LAST_RUN_KEY = "tracer-last-run";

class RunsPage {
  constructor() {
    this.data = new RunsData((isOtherList) => (isOtherList ? this.showList() : this.list.render(true)));
    /** @type {Map<string, TableRow>} */
    this.marked = new Map();
    /** True once a list has been shown. */
    this.isShown = false;
    /** The run that has the focus, wherever it is in another list. @type {string | null} */
    this.focused = null;
    const columns = /** @type {TableColumn[]} */ (initialData().columns);
    this.filters = new RunsFilters(columns, () => this.ask());
    this.heads = columns.map((column) => {
      const { key, heading } = column;
      const head = make(
        "div",
        { role: "columnheader", class: `cell ${key}-cell` },
        make("button.sort", { onclick: () => this.filters.sortBy(column) }, heading),
      );
      return { key, head };
    });
    const head = make(
      "div.run-row.head",
      { role: "row", "aria-rowindex": 1 },
      make("div.cell.mark-cell", { role: "columnheader" }, make("span.unseen", null, "Marked")),
      ...this.heads.map(({ head }) => head),
      make("div.cell.path-cell", { role: "columnheader" }, "Path"),
      make("div.cell.menu-cell", { role: "columnheader" }, make("span.unseen", null, "More")),
    );
    this.list = new Grid({
      role: "grid",
      name: "runs",
      label: "Runs",
      head: [head],
      createRow: () => createRunRow(columns),
      renderRow: (element, index) => {
        const run = this.data.at(index);
        const isMarked = run !== undefined && this.marked.has(run.trace_id);
        renderRunRow(element, run, isMarked, this.data.addressOf(run?.trace_id ?? ""));
      },
      onWindow: (first, last) => this.data.need(first, last),
    });
    this.list.element.ariaMultiSelectable = "true";
    this.empty = make("div.empty", { hidden: true });
    this.note = make("div.filter-note", { hidden: true, role: "status" });
    this.actions = make("div.actions", { hidden: true, role: "group", "aria-label": "The marked runs" });
    const main = startFrame({
      left: [make("span.place", { title: this.data.table.data_dir }, this.data.table.data_dir)],
      search: this.filters.search,
    });
    main.append(make("h1.unseen", null, "Runs"), this.filters.element, this.note, this.list.element, this.empty, this.actions);
    this.listen();
    if (this.data.isMissing || this.filters.question) this.ask();
    else this.showList();
  }

  /** Takes up the run that was open before, when somebody comes back from it. */
  comeBack() {
    const entry = performance.getEntriesByType("navigation")[0];
    if (!(entry instanceof PerformanceNavigationTiming) || entry.type !== "back_forward") return;
    const place = this.data.placeOf(kept(LAST_RUN_KEY, "sessionStorage"));
    if (place >= 0) this.focus(place);
  }

  listen() {
    this.list.body.addEventListener("click", (event) => {
      const target = /** @type {Element} */ (event.target);
      const element = this.list.rowOf(event);
      if (!element) return;
      const index = Number(element.dataset.index);
      const run = this.data.at(index);
      if (!run) return;
      this.focus(index, target.closest("button, a, input") === null);
      if (target.closest(".mark-cell")) this.mark(run);
      else if (target.closest(".thread") && run.thread) this.filters.set({ q: run.thread.query });
      else if (target.closest(".called-name")) this.filters.add(target.closest(".called-name")?.getAttribute("data-query") ?? "");
      else if (target.closest("button")) this.openMenu(run, /** @type {HTMLElement} */ (target.closest("button")));
      else if (!target.closest("a")) location.assign(this.data.addressOf(run.trace_id));
    });
    const now = () => this.data.at(this.list.kept);
    const open = () => {
      const run = now();
      if (run) location.assign(this.data.addressOf(run.trace_id));
    };
    bind(KEYS.runs, {
      ...this.list.moves((by) => this.focus(this.list.kept + by)),
      open,
      find: () => this.filters.input.focus(),
      mark: () => this.mark(now()),
      compare: () => this.compare(),
      menu: () => {
        const button = this.list.rendered.get(this.list.kept)?.querySelector(".menu-cell button");
        const run = now();
        if (button instanceof HTMLElement && run) this.openMenu(run, button);
      },
      escape: () => {
        if (this.marked.size > 0 && document.activeElement !== this.filters.input) return this.unmark();
        this.filters.clear();
        this.focus(this.list.kept);
      },
    });
    this.filters.input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || this.data.table.matching === 0) return;
      event.preventDefault();
      this.focus(this.list.kept);
    });
    addEventListener("pagehide", () => keep(LAST_RUN_KEY, now()?.trace_id ?? "", "sessionStorage"));
    setInterval(() => !document.hidden && this.data.refresh(this.list.first, this.list.last), REFRESH_INTERVAL_MS);
    // Whatever was recorded since the table was made comes first.
    const path = () => `/api/stream?version=${encodeURIComponent(this.data.table.version)}`;
    listen(path, { change: () => this.data.takeUp() }, showConnection);
  }

  /** Asks the server for the runs that the filters say. */
  ask() {
    this.data.ask(this.filters.question).catch(showError);
    this.showNote();
  }

  /** Shows the list that there is now. */
  showList() {
    const { table } = this.data;
    const focused = this.focused;
    const place = focused ? this.data.placeOf(focused) : -1;
    const current = Math.max(0, Math.min(place >= 0 ? place : this.list.kept, table.matching - 1));
    for (const { key, head } of this.heads) {
      const order = this.filters.order(key);
      if (order) head.setAttribute("aria-sort", order);
      else head.removeAttribute("aria-sort");
    }
    this.filters.show(table);
    this.list.reset(table.matching, current);
    this.focused = this.data.at(current)?.trace_id ?? null;
    this.showNote();
    this.showEmpty();
    this.showActions();
    if (!this.isShown) this.comeBack();
    this.isShown = true;
  }

  /** Says why there is no answer, or that it is not all of it yet. */
  showNote() {
    const { refusal, table } = this.data;
    const { reading } = table;
    this.note.hidden = !refusal && !reading;
    this.note.classList.toggle("refusal", refusal !== "");
    if (refusal) fill(this.note, `The search cannot be read: ${refusal}`);
    else if (reading)
      fill(
        this.note,
        `The runs are read for the first time: ${count(reading.read_runs)} of ${count(reading.runs)}. The newest are listed already.`,
      );
  }

  showEmpty() {
    const { total, matching } = this.data.table;
    const hidden = total - matching;
    this.list.element.hidden = matching === 0;
    this.empty.hidden = matching > 0 || this.data.refusal !== "";
    if (matching > 0) return;
    if (this.data.problem) {
      fill(this.empty, make("p", null, make("strong", null, "The runs cannot be listed. "), this.data.problem));
    } else if (hidden > 0) {
      fill(
        this.empty,
        make(
          "p",
          null,
          "No run matches ",
          `${this.filters.inWords()}; ${count(hidden)} ${hidden === 1 ? "is" : "are"} hidden. `,
          make("button.quiet", { onclick: () => this.filters.clear() }, "Show all"),
        ),
      );
    } else {
      const lines = `${commandLine("demo")}\n#[tracer_sdk::trace]        // on a function of your agent\ntracer view --data-dir DIR  # runs that are elsewhere`;
      fill(
        this.empty,
        make(
          "p",
          null,
          make("strong", null, `No runs in ${this.data.table.data_dir || "the data directory"} yet. `),
          "They appear here as they are recorded.",
        ),
        make("pre", null, lines),
        make("p", null, make("button.quiet", { onclick: () => copy(commandLine("demo"), "Copied") }, "Copy tracer demo")),
      );
    }
  }

  /** @param {number} index @param {boolean} [focus] */
  focus(index, focus = true) {
    const place = Math.max(0, Math.min(this.data.table.matching - 1, index));
    this.focused = this.data.at(place)?.trace_id ?? null;
    this.list.moveTo(place, { focus });
  }

  /** @param {TableRow | undefined} run */
  mark(run) {
    if (!run) return;
    if (!this.marked.delete(run.trace_id)) this.marked.set(run.trace_id, run);
    this.list.render(true);
    this.showActions();
  }

  unmark() {
    this.marked.clear();
    this.list.render(true);
    this.showActions();
  }

  showActions() {
    const size = this.marked.size;
    this.actions.hidden = size === 0;
    if (size === 0) return;
    const compare = make(
      "button.primary",
      { disabled: size !== 2, title: "Two marked runs are compared (c)", onclick: () => this.compare() },
      "Compare",
    );
    fill(
      this.actions,
      make("span", { role: "status" }, `${count(size)} marked`),
      compare,
      size === 1 && make("a.button", { href: `/r/${[...this.marked.keys()][0]}/export.html`, download: "" }, "Export"),
      make("button", { onclick: () => this.remove([...this.marked.keys()]) }, "Delete"),
      make("button.quiet", { onclick: () => this.unmark() }, "Clear"),
    );
  }

  compare() {
    // The older run is what was before.
    const chosen = [...this.marked.values()].sort((a, b) => (a.started_at ?? "").localeCompare(b.started_at ?? ""));
    if (chosen.length === 2) location.assign(`/diff/${chosen[0].trace_id}/${chosen[1].trace_id}`);
  }

  /** @param {string[]} runs */
  async remove(runs) {
    const { remove } = await import("./run-changes.js");
    await remove(runs, () => this.data.reload().catch(showError));
    for (const run of runs) this.marked.delete(run);
    this.showActions();
    this.focus(this.list.kept);
  }

  /** @param {TableRow} run @param {HTMLElement} button */
  async openMenu(run, button) {
    const [{ openMenu }, { rename }] = await Promise.all([import("./menu.js"), import("./run-changes.js")]);
    openMenu(button, "Run", [
      { label: "Open", run: () => location.assign(this.data.addressOf(run.trace_id)) },
      { label: "Copy the link", run: () => copy(`${location.origin}/r/${run.trace_id}`, "Link copied") },
      { label: "Copy the command", run: () => copy(commandLine("show", run.trace_id.slice(0, 8)), "Command copied") },
      { label: "Save as one HTML file", run: () => location.assign(`/r/${run.trace_id}/export.html`) },
      { label: "Rename …", run: () => rename(run.trace_id, run.run_name ?? "", () => this.data.reload().catch(showError)) },
      { label: "Delete", run: () => this.remove([run.trace_id]) },
    ]);
  }
}

new RunsPage();
