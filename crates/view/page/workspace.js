// The place below the tools: the open view at the left, what the selected step holds at the right, and the splitter between them.

import { commandLine } from "./commands.js";
import { fill, make } from "./dom.js";
import { showError } from "./frame.js";
import { keep, kept } from "./storage.js";
import { effect, untracked } from "./store.js";
import { bytes } from "./units.js";

/** @import { RunModel, Selection } from "./run-model.js" */
/** @import { Steps } from "./steps.js" */
/** @import { View } from "./route.js" */

/**
 * Any view but the steps.
 * @typedef {object} OtherView
 * @property {HTMLElement} element
 * @property {HTMLElement} [scroller] what takes the focus, when it is not the element
 * @property {() => void | Promise<void>} show
 * @property {(number: number) => void} [reveal] brings a step into sight
 */

/** Makes a view when it is opened first. @type {Record<Exclude<View, "steps">, (page: RunModel) => Promise<OtherView>>} */
const MAKE_VIEW = {
  transcript: async (page) => new (await import("./transcript.js")).Transcript(page),
  state: async (page) => new (await import("./transcript.js")).Transcript(page, "state"),
  compare: async (page) => new (await import("./comparison-tab.js")).ComparisonTab(page),
  raw: async (page) => new (await import("./raw.js")).RawView(page),
};

const SPLIT_KEY = "tracer-split";
/** A step loads once the selection rests, so that holding an arrow key loads one step and not all. */
const SELECTION_DELAY_MS = 60;

export class Workspace {
  /** @param {RunModel} page @param {Steps} steps */
  constructor(page, steps) {
    this.page = page;
    this.steps = steps;
    /** Notice in the place of the steps. */
    this.notice = make("div.empty", { hidden: true });
    this.view = make("div.view", { id: "view", role: "tabpanel" });
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
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    /** @type {Map<View, OtherView>} */
    this.views = new Map();
    /** True once a view was opened: a page that has just been opened leaves the focus where it is. */
    this.isOpened = false;
    this.#listen();
    this.#split(Number(kept(SPLIT_KEY)) || 62);
    effect(() => this.#showNotice());
    effect(() => {
      const { view } = page.route;
      if (view !== this.view.dataset.view) untracked(() => this.#showView(view));
    });
    effect(() => {
      const { selection } = page;
      // What holds a step is closed until one is selected.
      this.element.classList.toggle("alone", selection.row < 0 || page.route.view === "compare" || page.route.view === "raw");
    });
    effect(() => {
      const { selection } = page;
      if (selection.row >= 0) untracked(() => this.#showStep(selection));
    });
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
    keep(SPLIT_KEY, String(split));
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

  /** Says why there are no steps, or none yet. */
  #showNotice() {
    const { failure, columns, outline, isSlow, overview, id } = this.page;
    this.notice.hidden = !failure && (columns ? (outline?.length ?? 0) > 0 : !isSlow);
    if (this.notice.hidden) return;
    if (failure) {
      fill(
        this.notice,
        make("p", null, make("strong", null, "This run cannot be read. "), failure instanceof Error ? failure.message : String(failure)),
        make("p", null, "What is wrong with it: ", make("code", null, commandLine("validate-trace", id.slice(0, 8)))),
      );
    } else if (columns) {
      const isRunning = overview?.run_status === "running";
      fill(this.notice, make("p", null, isRunning ? "No step has finished yet; they appear here as they do." : "This run has no steps."));
    } else {
      fill(this.notice, make("p", null, `Reading the run${overview?.log_bytes ? ` of ${bytes(overview.log_bytes)}` : ""} …`));
    }
  }

  /** @param {View} view */
  async #showView(view) {
    this.view.dataset.view = view;
    this.view.setAttribute("aria-labelledby", `view-tab-${view}`);
    const { activeElement } = document;
    const takesFocus = this.isOpened && (this.view.contains(activeElement) || activeElement === document.body);
    this.isOpened = true;
    if (view === "steps") {
      this.view.replaceChildren(this.notice, this.steps.element);
      if (this.page.outline) this.steps.show(takesFocus);
    } else {
      try {
        const made = this.views.get(view) ?? (await MAKE_VIEW[view](this.page));
        this.views.set(view, made);
        if (this.page.route.view !== view) return;
        this.view.replaceChildren(this.notice, made.element);
        await made.show();
      } catch (error) {
        return showError(error);
      }
    }
    if (takesFocus) this.focusView();
  }

  /** Puts the focus into the open view, so that it is never lost. */
  focusView() {
    const made = this.views.get(this.page.route.view);
    const place = made ? (made.scroller ?? made.element) : this.steps.place;
    place?.focus({ preventScroll: true });
  }

  /** Shows what the selected row holds. @param {Selection} selection */
  #showStep({ row, focus = false, open = false, isChosen = false }) {
    const { page } = this;
    if (focus && document.activeElement === document.body) this.focusView();
    if (open) this.element.classList.add("open");
    this.views.get(page.route.view)?.reveal?.(page.columns?.number[row] ?? 0);
    clearTimeout(this.timer);
    const load = async () => {
      try {
        if (!this.inspector) {
          const { Inspector } = await import("./inspector.js");
          this.inspector = new Inspector(page, this.side, () => this.close());
        }
        await this.inspector.show(row, isChosen);
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
    if (wasOpen) this.focusView();
    return wasOpen;
  }
}
