// The model of a run's page: what is shown, selected, filtered and searched. Views follow its signals and call its methods; it knows no
// view.

import { getBytes, getJson, runPath } from "./api.js";
import { CachedList } from "./cached-list.js";
import { readColumns, rowsMoved } from "./columns.js";
import { Latest } from "./latest.js";
import { Outline } from "./outline.js";
import { released } from "./press.js";
import { readRoute, writeRoute } from "./route.js";
import { batch, effect, signals, untracked } from "./store.js";

/** @import { Columns } from "./columns.js" */
/** @import { Overview, RowText, StepJson } from "./answers" */
/** @import { Route, View } from "./route.js" */

const LOADING_NOTICE_DELAY_MS = 150;
/** Rows whose texts are loaded at once. */
const ROWS_PER_PART = 60;

/**
 * A selection of a step.
 * @typedef {object} Selection
 * @property {number} row -1 before anything is selected
 * @property {boolean} [focus] whether the row takes the focus
 * @property {boolean} [center] whether it goes into the middle of the list
 * @property {boolean} [open] whether a narrow page shows it in the place of the steps
 * @property {boolean} [isChosen] whether a person, or a link, selected it: only then the address names it
 */

export class RunModel {
  /** @param {any} initial what the server put into the page */
  constructor(initial) {
    this.id = /** @type {string} */ (initial.overview?.run_id ?? initial.run_id ?? location.pathname.split("/")[2]);
    /** @type {Overview | null} */
    this.overview = initial.overview ?? null;
    /** @type {Route} */
    this.route = readRoute();
    /** @type {Columns | null} */
    this.columns = null;
    /** @type {Outline | null} */
    this.outline = null;
    /** Counts the changes of the outline. */
    this.listed = 0;
    /** @type {Selection} */
    this.selection = { row: -1 };
    /** True while the newest step is kept on the screen. */
    this.following = false;
    /** Rows that a search found, in ascending order. @type {number[]} */
    this.hits = [];
    /** The time that is on the screen; null for all of it. @type {[number, number] | null} */
    this.seen = null;
    /** The step that the inspector shows. @type {StepJson | null} */
    this.step = null;
    /** True of a run that takes long to read. */
    this.isSlow = false;
    /** Why the run cannot be read. @type {unknown} */
    this.failure = null;
    /** True once a link led to a step that is not there. */
    this.isMissing = false;
    signals(
      this,
      "overview",
      "route",
      "columns",
      "outline",
      "listed",
      "selection",
      "following",
      "hits",
      "seen",
      "step",
      "isSlow",
      "failure",
      "isMissing",
    );
    /** The selected row, wherever it is now. */
    this.selected = -1;
    /** The answer about a step that is here before it is selected. @type {StepJson | null} */
    this.loaded = null;
    /** A step that was waited for does not lead away from where the reader went meanwhile. */
    this.latest = new Latest();
    /** True once the reader went elsewhere. */
    this.hasMoved = false;
    this.lastChange = Date.now();
    /** The texts of the rows. @type {CachedList<RowText>} */
    this.texts = new CachedList(ROWS_PER_PART, async (from, limit) => {
      await this.whole;
      return (await getJson(runPath(this.id, "/rows", { from, limit }))).rows;
    });
    const { view, at, kinds, range, query } = this.route;
    /** True of a large run, whose beginning is shown before all of it is read: anything else may lie anywhere in the run. */
    this.hasBeginning = Boolean(initial.rows) && !initial.overview && view === "steps" && !at && !query && kinds.length === 0 && !range;
    if (initial.rows && (initial.overview || this.hasBeginning)) this.texts.put(0, initial.rows.rows);
    /** Settles when all rows are there, as the server counts them. @type {Promise<void>} */
    this.whole = Promise.resolve();
    effect(() => {
      const { columns, route } = this;
      const before = untracked(() => this.outline);
      if (columns && !before?.isOf(columns, route)) this.outline = new Outline(columns, route, before);
    });
    addEventListener("popstate", () => {
      this.route = readRoute();
      if (this.route.at) this.goTo(this.route.at, { center: false, keepView: true });
    });
  }

  /** Loads what the first paint did not need, and selects what the address or the verdict names. */
  async start() {
    // The rows come first: of a large run they are there long before all of it has been checked.
    if (!this.columns) {
      const slow = setTimeout(() => (this.isSlow = true), LOADING_NOTICE_DELAY_MS);
      try {
        await this.#loadFromBeginning();
      } catch (error) {
        this.failure = error;
        return;
      } finally {
        clearTimeout(slow);
      }
    }
    if (this.route.at) await this.goTo(this.route.at, { keepView: true });
    this.overview ??= /** @type {Overview} */ (await getJson(runPath(this.id, "/overview")));
    const { run_status: status, first_cause: cause } = this.overview;
    // A link to a place, and a choice made meanwhile, win.
    if ((status === "failed" || status === "loop") && cause && this.#isUntouched()) await this.#openAt(cause);
    this.following = status === "running" && this.selected < 0;
  }

  /** True until a step, another view or order, or a part of the steps is wanted. */
  #isUntouched() {
    const { at, query, range, kinds, sort, view } = this.route;
    return this.selected < 0 && !this.hasMoved && !at && !query && !range && !sort && kinds.length === 0 && view === "steps";
  }

  /**
   * Selects a step that the page chose itself: the focus and the address stay as they are.
   * @param {string} event
   */
  async #openAt(event) {
    const step = await this.#ask(event).catch(() => null);
    if (step) this.select(step.row, { focus: document.activeElement === document.body, center: true, isChosen: false });
  }

  /** @param {string} event */
  async #ask(event) {
    this.loaded = /** @type {StepJson | null} */ (await this.latest.ask(runPath(this.id, `/steps/${encodeURIComponent(event)}`)));
    return this.loaded;
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

  /** Loads the rows; of a large run those of the beginning are shown until the others are there. */
  async #loadFromBeginning() {
    const all = columnsOf(this.id);
    const shown = all.then(async (columns) => {
      await nextTask();
      this.showColumns(columns);
    });
    this.whole = shown.catch(() => {});
    if (this.hasBeginning) {
      const first = await Promise.race([columnsOf(this.id, { beginning: "true" }).catch(() => all), all]);
      if (first.length > 0) this.columns = first;
    }
    await shown;
  }

  /**
   * Shows the rows, and keeps everybody's place in them.
   * @param {Columns} columns
   */
  showColumns(columns) {
    const { columns: before, outline } = this;
    if (before && outline) {
      const moved = rowsMoved(before, columns);
      this.texts.forget((row, text) => row >= columns.firstChange || text.in_flight);
      outline.collapsed = new Set([...outline.collapsed].map(moved));
      outline.unfolded = new Set([...outline.unfolded].map(moved));
      if (this.selected >= 0) this.selected = moved(this.selected);
    }
    this.columns = columns;
  }

  /** @param {Partial<Route>} change @param {boolean} [push] */
  setRoute(change, push = false) {
    this.route = { ...this.route, ...change };
    writeRoute(this.route, push);
  }

  /** @param {View} view */
  setView(view) {
    if (view === this.route.view) return;
    this.move();
    this.setRoute({ view }, true);
  }

  /** Lists other steps. @param {Partial<Route>} filters */
  filter(filters) {
    this.move();
    this.setRoute(filters);
  }

  /** Lists the rows after a change of what is collapsed or unfolded. @param {(outline: Outline) => void} change */
  relist(change) {
    const { outline } = this;
    if (!outline) return;
    change(outline);
    outline.update();
    this.listed += 1;
  }

  /** The reader goes elsewhere. */
  move() {
    this.hasMoved = true;
    this.latest.drop();
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
   * Selects a row, which filters and folds do not hide any longer.
   * @param {number} row
   * @param {Omit<Selection, "row">} [how]
   */
  select(row, { focus = false, center = false, open = false, isChosen = true } = {}) {
    if (!this.columns || row < 0 || row >= this.columns.length) return;
    this.move();
    if (this.outline?.leavesOut(row)) this.setRoute({ kinds: [], range: null, sort: "" });
    const isRevealed = this.outline?.reveal(row) ?? false;
    this.selected = row;
    batch(() => {
      if (isRevealed) this.listed += 1;
      this.selection = { row, focus, center: center || isRevealed, open, isChosen };
    });
  }

  /**
   * Selects the row of an event.
   * @param {string} event
   * @param {{ center?: boolean, keepView?: boolean }} [how]
   */
  async goTo(event, { center = true, keepView = false } = {}) {
    this.move();
    try {
      const step = await this.#ask(event);
      await this.whole;
      if (!step) return;
      if (!keepView) this.setView("steps");
      this.select(step.row, { focus: true, center, open: true });
    } catch {
      this.isMissing = true;
    }
  }
}

/** Lets the page answer to what was done with it meanwhile. */
export function nextTask() {
  return new Promise((resolve) => setTimeout(resolve));
}

/**
 * @param {string} id
 * @param {{ beginning?: "true", since?: number }} [part]
 * @param {Columns | null} [before] the rows that are known
 */
export async function columnsOf(id, part = {}, before = null) {
  return readColumns(await getBytes(runPath(id, "/columns", part)), before);
}
