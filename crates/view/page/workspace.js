// The place below the tools: the open view at the left, what the selected step holds at the right, and the splitter between them. The
// address of the page holds all of that, and what is filtered and searched, so that a copied link shows the same.

import { commandLine } from "./commands.js";
import { fill, make } from "./dom.js";
import { showError } from "./frame.js";
import { runPanel } from "./run-about.js";
import { keep, kept } from "./storage.js";
import { bytes } from "./units.js";

/** @import { Overview } from "./answers" */
/** @import { RunPage } from "./run.js" */

export const VIEWS = /** @type {const} */ (["steps", "transcript", "state", "compare", "raw"]);

/** @typedef {typeof VIEWS[number]} View */
/**
 * Any view but the steps.
 * @typedef {object} OtherView
 * @property {HTMLElement} element
 * @property {HTMLElement} [scroller] what takes the focus, when it is not the element
 * @property {() => void | Promise<void>} show
 * @property {(number: number) => void} [reveal] brings a step into sight
 */
/**
 * @typedef {object} Route
 * @property {View} view
 * @property {string} at event that is selected
 * @property {string} tab of the inspector
 * @property {string[]} kinds that are listed; none lists all
 * @property {string} query what is searched for
 * @property {[number, number] | null} range microseconds from the start of the run
 * @property {boolean} folding whether repeats are folded
 * @property {string} against run, or `baseline:` and a name, that is compared with
 */

/**
 * @param {string} [search]
 * @returns {Route}
 */
export function readRoute(search = location.search) {
  const query = new URLSearchParams(search);
  const [from, to] = [query.get("t0"), query.get("t1")].map((text) => (text === null || text === "" ? NaN : Number(text)));
  return {
    view: VIEWS.find((view) => view === query.get("view")) ?? "steps",
    at: query.get("at") ?? "",
    tab: query.get("tab") ?? "",
    kinds: (query.get("kind") ?? "").split(",").filter(Boolean),
    query: query.get("q") ?? "",
    range: from < to ? [from, to] : null,
    folding: query.get("fold") !== "0",
    against: query.get("against") ?? "",
  };
}

/**
 * @param {Route} route
 * @returns {string} the address, without what is as always
 */
export function address(route) {
  const query = new URLSearchParams();
  if (route.view !== "steps") query.set("view", route.view);
  if (route.at) query.set("at", route.at);
  if (route.tab) query.set("tab", route.tab);
  if (route.kinds.length > 0) query.set("kind", route.kinds.join(","));
  if (route.query) query.set("q", route.query);
  if (route.range) {
    query.set("t0", String(Math.round(route.range[0])));
    query.set("t1", String(Math.round(route.range[1])));
  }
  if (!route.folding) query.set("fold", "0");
  if (route.against) query.set("against", route.against);
  const text = query.toString();
  return location.pathname + (text ? `?${text}` : "");
}

/**
 * Writes a route into the address bar: a new view can be gone back from, a new selection cannot.
 * @param {Route} route
 * @param {boolean} [push]
 */
export function writeRoute(route, push = false) {
  const next = address(route);
  if (next === location.pathname + location.search) return;
  if (push) history.pushState(null, "", next);
  else history.replaceState(null, "", next);
}

const SPLIT_KEY = "tracer-split";
/** A step loads once the selection rests, so that holding an arrow key loads one step and not all. */
const SELECTION_DELAY_MS = 60;

export class Workspace {
  /** @param {RunPage} page */
  constructor(page) {
    this.page = page;
    this.view = make(
      "div.view",
      { id: "view", role: "tabpanel", "aria-labelledby": "view-tab-steps" },
      page.route.view === "steps" && page.steps.element,
    );
    this.splitter = make("div.splitter", {
      role: "separator",
      tabindex: 0,
      "aria-orientation": "vertical",
      "aria-label": "Width of the steps",
      "aria-valuemin": 25,
      "aria-valuemax": 80,
    });
    this.side = make("aside.side", { "aria-label": "The selected step", id: "inspector", tabindex: -1 });
    this.element = make("div.workspace", null, this.view, this.splitter, this.side);
    /** @type {import("./inspector.js").Inspector | null} */
    this.inspector = null;
    /** @type {any} */
    this.loaded = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    /** @type {Map<View, OtherView>} */
    this.views = new Map();
    this.shown = /** @type {View} */ ("steps");
    /** The overview that is shown, to skip equal updates. */
    this.shownOverview = "";
    this.#listen();
    this.#split(Number(kept(() => localStorage, SPLIT_KEY)) || 62);
  }

  /**
   * @param {number} percent of the width that the view gets
   * @returns {number} as much of it as it may have
   */
  #split(percent) {
    const split = Math.min(80, Math.max(25, Math.round(percent)));
    this.element.style.setProperty("--split", `${split}fr`);
    this.element.style.setProperty("--rest", `${100 - split}fr`);
    this.splitter.setAttribute("aria-valuenow", String(split));
    return split;
  }

  /** @param {number} percent of the width that the view gets from now on */
  setSplit(percent) {
    const split = this.#split(percent);
    keep(() => localStorage, SPLIT_KEY, String(split));
  }

  #listen() {
    this.splitter.addEventListener("pointerdown", (event) => this.splitter.setPointerCapture(event.pointerId));
    this.splitter.addEventListener("pointermove", (event) => {
      if (!this.splitter.hasPointerCapture(event.pointerId)) return;
      const box = this.element.getBoundingClientRect();
      this.setSplit(((event.clientX - box.left) / box.width) * 100);
    });
    this.splitter.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -2, ArrowRight: 2 }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      this.setSplit(Number(this.splitter.getAttribute("aria-valuenow")) + by);
    });
  }

  /** Shows what the run holds, until a step is selected. */
  showRun() {
    const { selected, overview } = this.page;
    if (selected >= 0 || !overview) return;
    const shown = JSON.stringify([overview.totals, overview.run_status, overview.loops, overview.environment]);
    if (shown === this.shownOverview) return;
    this.shownOverview = shown;
    fill(
      this.side,
      make(
        "div.step-panel",
        { tabindex: 0, role: "region", "aria-label": "The run" },
        make("h2.unseen", null, "The run"),
        runPanel(this.page),
      ),
    );
  }

  /** @param {Overview | null} overview */
  showLoading(overview) {
    const size = overview?.log_bytes ? ` of ${bytes(overview.log_bytes)}` : "";
    this.#announce(make("p", null, `Reading the run${size} …`));
  }

  /**
   * Says something in the place of the view.
   * @param {HTMLElement[]} content
   */
  #announce(...content) {
    const { element, empty } = this.page.steps;
    if (element.isConnected) {
      empty.hidden = false;
      fill(empty, ...content);
    } else {
      fill(this.view, make("div.empty", null, ...content));
    }
  }

  hideLoading() {
    const { empty } = this.page.steps;
    empty.hidden = (this.page.outline?.length ?? 0) > 0;
    fill(
      empty,
      make(
        "p",
        null,
        this.page.overview?.run_status === "running" ? "No step has finished yet; they appear here as they do." : "This run has no steps.",
      ),
    );
  }

  /** @param {unknown} error */
  showFailure(error) {
    this.#announce(
      make("p", null, make("strong", null, "This run cannot be read. "), error instanceof Error ? error.message : String(error)),
      make("p", null, "What is wrong with it: ", make("code", null, commandLine("validate-trace", this.page.id.slice(0, 8)))),
    );
  }

  /**
   * @param {View} view
   * @param {boolean} [focus] whether the view may take the focus; a page that has just been opened leaves it where it is
   */
  async showView(view, focus = true) {
    this.shown = view;
    this.page.tools.showFilters();
    this.view.setAttribute("aria-labelledby", `view-tab-${view}`);
    this.element.classList.toggle("alone", view === "compare" || view === "raw");
    const hadFocus = focus && (this.view.contains(document.activeElement) || document.activeElement === document.body);
    if (view === "steps") {
      const { steps, selected } = this.page;
      if (steps.element.isConnected) return;
      this.view.replaceChildren(steps.element);
      steps.list.measure();
      if (selected >= 0) steps.select(selected, { focus: hadFocus });
      else if (hadFocus) this.focusView();
      return;
    }
    try {
      const made = this.views.get(view) ?? (await (await import("./views.js")).makeView(view, this.page));
      this.views.set(view, made);
      if (this.shown !== view) return;
      this.view.replaceChildren(made.element);
      await made.show();
      if (hadFocus) this.focusView();
    } catch (error) {
      showError(error);
    }
  }

  /** Puts the focus into the open view, so that it is never lost. */
  focusView() {
    const { steps } = this.page;
    const made = this.views.get(this.shown);
    const place = this.shown === "steps" ? steps.place : (made?.scroller ?? made?.element);
    place?.focus({ preventScroll: true });
  }

  /** Takes the answer about a step that is here already. @param {any} step */
  putStep(step) {
    this.loaded = step;
  }

  /**
   * Shows what a row holds.
   * @param {number} row
   * @param {boolean} open whether a narrow page shows it in the place of the steps
   */
  showStep(row, open) {
    if (open) this.element.classList.add("open");
    this.views.get(this.shown)?.reveal?.(this.page.columns?.number[row] ?? 0);
    clearTimeout(this.timer);
    const load = async () => {
      try {
        if (!this.inspector) {
          const { Inspector } = await import("./inspector.js");
          this.inspector = new Inspector(this.page, this.side);
        }
        await this.inspector.show(row, this.loaded?.row === row ? this.loaded : null);
        this.loaded = null;
      } catch (error) {
        showError(error);
      }
    };
    this.timer = setTimeout(load, open ? 0 : SELECTION_DELAY_MS);
  }

  /**
   * Closes the step, where it covers the steps.
   * @returns {boolean} whether it was open
   */
  close() {
    const covered = getComputedStyle(this.side).position === "fixed";
    const wasOpen = this.element.classList.contains("open") && covered;
    this.element.classList.remove("open");
    if (wasOpen && this.shown === "steps") this.page.steps.select(this.page.selected, { focus: true });
    else if (wasOpen) this.focusView();
    return wasOpen;
  }
}
