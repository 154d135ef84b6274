// The page of a run: brings its parts together and keeps what is shown, selected and searched in one place, which the address mirrors.

import { getBytes, getJson, initialData, runPath } from "./api.js";
import { readColumns, rowsMoved } from "./columns.js";
import { fill, make } from "./dom.js";
import { banner, showError, startFrame } from "./frame.js";
import { Latest } from "./latest.js";
import { follow } from "./live.js";
import { Minimap } from "./minimap.js";
import { Outline } from "./outline.js";
import { CachedList } from "./cached-list.js";
import { released } from "./press.js";
import { runBanners, runHead } from "./run-about.js";
import { bindRunKeys } from "./run-keys.js";
import { RunTools } from "./run-tools.js";
import { Steps } from "./steps.js";
import { readRoute, Workspace, writeRoute } from "./workspace.js";

/** @import { Columns } from "./columns.js" */
/** @import { Overview, RowText } from "./answers" */
/** @import { Route, View } from "./workspace.js" */

const LOADING_NOTICE_DELAY_MS = 150;
/** Rows whose texts are loaded at once. */
const ROWS_PER_PART = 60;
/** Rows that are shown while a large run loads. */
const PREVIEW_ROWS = 200;
/** A run that has ended is followed later than one that is running. */
const FOLLOW_DELAY_MS = 5_000;

export class RunPage {
  /**
   * @param {any} initial what the server put into the page
   * @param {Columns | null} columns of a run whose rows are known already
   */
  constructor(initial, columns) {
    this.id = /** @type {string} */ (initial.overview?.run_id ?? initial.run_id ?? location.pathname.split("/")[2]);
    /** @type {Overview | null} */
    this.overview = initial.overview ?? null;
    /** @type {Route} */
    this.route = readRoute();
    /** @type {Columns | null} */
    this.columns = null;
    /** @type {Outline | null} */
    this.outline = null;
    this.selected = -1;
    /** A step that was waited for does not lead away from where the reader went meanwhile. */
    this.latest = new Latest();
    /** True once the reader went elsewhere. */
    this.hasMoved = false;
    /** True if a person, or a link, selected the step: only then the address names it. */
    this.isChosen = true;
    this.following = false;
    this.lastChange = Date.now();
    /** The texts of the rows. @type {CachedList<RowText>} */
    this.texts = new CachedList(
      ROWS_PER_PART,
      async (from, limit) => (await getJson(runPath(this.id, "/rows", { from, limit }))).rows,
      () => this.steps.list.schedule(true),
    );
    if (initial.rows) this.texts.put(0, initial.rows.rows);
    this.minimap = new Minimap({ onRange: (range) => this.setRange(range), onJump: (time) => this.jumpToTime(time) });
    this.steps = new Steps({
      texts: this.texts,
      onSelect: (row, open) => this.select(row, { focus: true, open }),
      onSeen: (seen) => this.minimap.setRange(this.outline?.range ?? null, seen),
    });
    this.tools = new RunTools(this);
    this.workspace = new Workspace(this);
    this.head = make("div", { id: "run-head" }, make("div.run-head", null, make("h1", null, "Run ", this.id.slice(0, 8))));
    const main = startFrame({ left: [make("span.place", null, this.overview?.run_name ?? "run")] });
    main.append(this.head, this.minimap.element, this.tools.element, this.workspace.element);
    this.showOverview();
    if (columns) this.showColumns(columns);
    bindRunKeys(this);
    addEventListener("popstate", () => this.applyRoute());
  }

  /** Loads what the first paint did not need. */
  async start() {
    // The rows come first: of a large run they are there long before all of it has been checked.
    if (!this.columns) {
      const slow = setTimeout(() => {
        if (!this.columns) this.workspace.showLoading(this.overview);
      }, LOADING_NOTICE_DELAY_MS);
      try {
        await this.loadFromFirst();
      } catch (error) {
        return this.workspace.showFailure(error);
      } finally {
        clearTimeout(slow);
      }
    }
    await this.applyRoute(true);
    if (!this.overview) {
      this.overview = await getJson(runPath(this.id, "/overview"));
      this.showOverview();
    }
    const { run_status: status, first_cause: cause } = this.overview ?? {};
    // A link to a place, and a choice made meanwhile, win.
    if (status === "failed" && cause && this.#isUntouched()) await this.#openAt(cause);
    this.workspace.showRun();
    this.following = this.overview?.run_status === "running" && this.selected < 0;
    this.tools.showFilters();
    // A run that has ended can only be deleted; that is not urgent.
    setTimeout(
      () => follow(this),
      this.overview?.run_status === "running" || this.overview?.run_status === "interrupted" ? 0 : FOLLOW_DELAY_MS,
    );
  }

  /** True until a step, another view, or a part of the steps is wanted. */
  #isUntouched() {
    const { at, query, range, kinds, view } = this.route;
    return this.selected < 0 && !this.hasMoved && !at && !query && !range && kinds.length === 0 && view === "steps";
  }

  /**
   * Selects a step that the page chose itself: the focus and the address stay as they are.
   * @param {string} event
   */
  async #openAt(event) {
    const step = await this.latest.ask(runPath(this.id, `/steps/${encodeURIComponent(event)}`)).catch(() => null);
    if (!step) return;
    this.workspace.putStep(step);
    this.select(step.row, { focus: document.activeElement === document.body, center: true, isChosen: false });
  }

  /**
   * Loads the rows that have changed.
   * @param {boolean} [all] whether the others, too
   */
  async loadColumns(all = false) {
    const before = all ? null : this.columns;
    const columns = await columnsOf(this.id, before ? { since: before.logBytes } : {}, before);
    await released();
    this.showColumns(columns);
  }

  /** Loads the rows of a run that takes long; the first ones are shown as soon as they are there. */
  async loadFromFirst() {
    const all = columnsOf(this.id);
    const { view, at, kinds, range } = this.route;
    // Anything else may lie anywhere in the run.
    const isBeginning = view === "steps" && !at && kinds.length === 0 && !range;
    const first = isBeginning ? await Promise.race([columnsOf(this.id, { limit: PREVIEW_ROWS }).catch(() => all), all]) : null;
    if (first?.length === PREVIEW_ROWS) {
      this.columns = first;
      this.outline = new Outline(first, this.route);
      this.steps.show(first, this.outline);
      this.workspace.hideLoading();
      this.tools.showFilters();
    }
    const columns = await all;
    await nextTask();
    if (first?.logBytes === columns.logBytes) columns.firstChange = first.length;
    this.showColumns(columns);
  }

  /**
   * Shows the rows, and keeps everybody's place in them.
   * @param {Columns} columns
   */
  showColumns(columns) {
    const { columns: before, outline: old } = this;
    const outline = new Outline(columns, old ?? this.route);
    if (before && old) {
      const moved = rowsMoved(before, columns);
      this.texts.forget((row, text) => row >= columns.firstChange || text.in_flight);
      for (const [from, to] of [
        [old.collapsed, outline.collapsed],
        [old.unfolded, outline.unfolded],
      ]) {
        for (const row of from) to.add(moved(row));
      }
      outline.update();
      if (this.selected >= 0) this.selected = this.steps.selected = moved(this.selected);
    }
    this.columns = columns;
    this.outline = outline;
    this.minimap.setColumns(columns);
    this.steps.show(columns, outline);
    this.workspace.hideLoading();
    this.tools.showFilters();
  }

  showOverview() {
    if (!this.overview) return;
    this.steps.isOver = this.overview.run_status !== "running";
    document.title = `${this.overview.run_status}: ${this.overview.run_name ?? this.id.slice(0, 8)} · tracer`;
    this.minimap.setWords(this.overview.facts.join(", "));
    const focused = this.head.contains(document.activeElement) ? document.activeElement?.id : "";
    fill(this.head, runHead(this, this.overview));
    if (focused) document.getElementById(focused)?.focus();
    runBanners(this, this.overview);
  }

  /** @param {boolean} on */
  setFollowing(on) {
    this.following = on;
    this.tools.showFilters();
    if (on) this.steps.list.show(this.steps.list.length - 1);
  }

  /** @param {boolean} [first] whether the page has just been opened */
  async applyRoute(first = false) {
    this.route = readRoute();
    const { outline, route } = this;
    if (!outline) return;
    if (!first) {
      outline.kinds = new Set(route.kinds);
      outline.range = route.range;
      outline.folding = route.folding;
      outline.update();
      this.steps.changed();
    }
    this.tools.showFilters();
    this.workspace.showView(route.view, !first);
    // A search leads to its first hit, unless a step was selected while the rows were loaded.
    this.tools.search.find(route.query, first && !route.at && this.selected < 0);
    if (route.at) await this.goTo(route.at, { center: first, keepView: true });
  }

  /** @param {Partial<Route>} change @param {boolean} [push] */
  setRoute(change, push = false) {
    Object.assign(this.route, change);
    writeRoute(this.route, push);
  }

  /** The reader goes elsewhere. */
  move() {
    this.hasMoved = true;
    this.latest.drop();
  }

  /** @param {View} view */
  setView(view) {
    if (view === this.route.view) return;
    this.move();
    this.setRoute({ view }, true);
    this.workspace.showView(view);
  }

  /** Lists the rows after a change of the filters, with the selected row in sight. */
  refilter() {
    const { outline } = this;
    if (!outline) return;
    this.move();
    outline.update();
    this.setRoute({ kinds: [...outline.kinds], range: outline.range, folding: outline.folding });
    this.steps.changed();
    if (this.selected >= 0 && outline.passing?.[this.selected] !== 0) this.steps.list.show(outline.indexOf(this.selected));
    this.tools.showFilters();
    this.minimap.setRange(outline.range, null);
  }

  /** @param {[number, number] | null} range */
  setRange(range) {
    if (!this.outline) return;
    this.outline.range = range;
    this.refilter();
    if (range) this.steps.list.show(0);
  }

  /** @param {number} time */
  jumpToTime(time) {
    const { columns } = this;
    if (!columns) return;
    let nearest = -1;
    for (let row = 0; row < columns.length; row += 1) {
      if (columns.isRun(row) || columns.start[row] > time) continue;
      if (nearest < 0 || columns.start[row] >= columns.start[nearest]) nearest = row;
    }
    if (nearest >= 0) this.select(nearest, { focus: true, center: true });
  }

  /**
   * Selects a row and shows what it holds.
   * @param {number} row
   * @param {{ focus?: boolean, center?: boolean, open?: boolean, isChosen?: boolean }} [how]
   */
  select(row, { focus = false, center = false, open = false, isChosen = true } = {}) {
    if (!this.columns || row < 0 || row >= this.columns.length) return;
    this.move();
    this.isChosen = isChosen;
    this.tools.search.stay();
    this.selected = row;
    this.steps.select(row, { focus: focus && this.route.view === "steps", center });
    this.workspace.showStep(row, open);
    this.tools.showFilters();
  }

  /**
   * Selects the row of an event.
   * @param {string} event
   * @param {{ center?: boolean, keepView?: boolean, open?: boolean }} [how]
   */
  async goTo(event, { center = true, keepView = false, open = true } = {}) {
    this.move();
    try {
      const step = await this.latest.ask(runPath(this.id, `/steps/${encodeURIComponent(event)}`));
      if (!step) return;
      if (!keepView && this.route.view !== "steps") this.setView("steps");
      this.workspace.putStep(step);
      this.select(step.row, { focus: true, center, open });
    } catch {
      banner(
        "missing",
        ["The linked step is not in this run (any more). ", make("button.quiet", { onclick: () => banner("missing", null) }, "Dismiss")],
        "warning",
      );
    }
  }

  /** @param {HTMLElement} button */
  async openMenu(button) {
    const { openRunMenu } = await import("./run-menu.js");
    openRunMenu(this, button);
  }
}

/** Lets the page answer to what was done with it meanwhile. */
function nextTask() {
  return new Promise((resolve) => setTimeout(resolve));
}

/**
 * @param {string} id
 * @param {{ limit?: number, since?: number }} [part]
 * @param {Columns | null} [before] the rows that are known
 */
async function columnsOf(id, part = {}, before = null) {
  return readColumns(await getBytes(runPath(id, "/columns", part)), before);
}

const initial = initialData();
// The server's first data come with the script: the page is built once, with its rows, not step by step. Otherwise it is built
// in a task of its own, not in the one that ends the parsing of the document and lays it out.
const columns = initial.overview ? await columnsOf(initial.run_id).catch(() => null) : await nextTask().then(() => null);
new RunPage(initial, columns).start().catch(showError);
