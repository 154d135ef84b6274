// The whole run in a strip: what kind of call was going on when, every failure and every loop however narrow, the range that is listed.
// Dragging chooses a range; the two sliders do the same from the keyboard.

import { EVIDENCE, KINDS } from "./columns.js";
import { make } from "./dom.js";
import { effect } from "./store.js";
import { duration, Timescale } from "./units.js";

/** @import { Columns } from "./columns.js" */
/** @import { RunModel } from "./run-model.js" */

const HEIGHT = 28;
const SLIDER_STEPS = 1_000;
const MIN_DRAG_PX = 4;

export class Minimap {
  /** @param {RunModel} page */
  constructor(page) {
    this.page = page;
    this.canvas = make("canvas", { role: "img", height: HEIGHT, "aria-label": "The run has not been read yet" });
    this.window = make("div.minimap-window", { hidden: true });
    this.position = make("div.minimap-position", { hidden: true });
    this.startSlider = this.#slider("Start of the listed time range", 0);
    this.endSlider = this.#slider("End of the listed time range", SLIDER_STEPS);
    this.startLabel = make("span", null, "0");
    this.endLabel = make("span");
    this.element = make(
      "section.minimap",
      { "aria-label": "The whole run over time" },
      make("div.minimap-strip", null, this.canvas, this.window, this.position, this.startSlider, this.endSlider),
      make("div.minimap-times", { "aria-hidden": "true" }, this.startLabel, this.endLabel),
    );
    this.scale = new Timescale(0, 1);
    /** The range that is shown; nothing while somebody is choosing another. */
    this.label = "";
    this.#listenToPointer();
    this.waiting = false;
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    new MutationObserver(() => this.draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    effect(() => {
      const { columns, overview, hits } = page;
      if (!columns || !hits) return;
      this.scale = new Timescale(0, columns.end);
      this.endLabel.textContent = duration(columns.end);
      this.canvas.setAttribute("aria-label", overview?.facts.join(", ") || "The run over time");
      this.draw();
    });
    effect(() => {
      if (page.columns) this.#setRange(page.route.range, page.seen);
    });
  }

  /**
   * @param {string} label
   * @param {number} value
   */
  #slider(label, value) {
    const slider = make("input", { type: "range", min: 0, max: SLIDER_STEPS, value, step: 5, "aria-label": label });
    slider.addEventListener("input", () => {
      this.label = "";
      const [from, to] = [Number(this.startSlider.value), Number(this.endSlider.value)].sort((a, b) => a - b);
      this.#choose((from ?? 0) / SLIDER_STEPS, (to ?? SLIDER_STEPS) / SLIDER_STEPS);
    });
    return slider;
  }

  /**
   * @param {number} from fraction of the width
   * @param {number} to
   */
  #choose(from, to) {
    const whole = from <= 0 && to >= 1;
    this.page.filter({ range: whole || to <= from ? null : [this.scale.timeAt(from), this.scale.timeAt(to)] });
  }

  #listenToPointer() {
    /** @type {number | null} */
    let began = null;
    /** @param {PointerEvent} event */
    const place = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      began = place(event);
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (began === null) return;
      this.label = "";
      this.window.hidden = false;
      this.#showWindow(Math.min(began, place(event)), Math.max(began, place(event)));
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (began === null) return;
      const [from, to] = [Math.min(began, place(event)), Math.max(began, place(event))];
      began = null;
      if ((to - from) * this.canvas.clientWidth >= MIN_DRAG_PX) this.#choose(from, to);
      else this.page.jumpToTime(this.scale.timeAt(to));
    });
    this.canvas.addEventListener("dblclick", () => this.page.filter({ range: null }));
  }

  /**
   * Shows which range is listed, and which rows are on the screen.
   * @param {[number, number] | null} range
   * @param {[number, number] | null} seen
   */
  #setRange(range, seen) {
    const [from, to] = range ? [this.scale.place(range[0]), this.scale.place(range[1])] : [0, 1];
    const label = `${range} of ${this.scale.to}`;
    // Scrolling reports the same range with every frame.
    if (label !== this.label) {
      this.label = label;
      this.#showWindow(from, to);
      this.window.hidden = range === null;
      for (const [slider, place] of /** @type {const} */ ([
        [this.startSlider, from],
        [this.endSlider, to],
      ])) {
        slider.value = String(Math.round(place * SLIDER_STEPS));
        slider.setAttribute("aria-valuetext", duration(this.scale.timeAt(place)));
      }
    }
    this.position.hidden = seen === null;
    if (seen) {
      const start = Math.max(0, this.scale.place(seen[0]));
      this.position.style.left = `${start * 100}%`;
      this.position.style.width = `${Math.max(0, Math.min(1, this.scale.place(seen[1])) - start) * 100}%`;
    }
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  #showWindow(from, to) {
    this.window.style.left = `${from * 100}%`;
    this.window.style.width = `${(to - from) * 100}%`;
  }

  /** Draws after the next frame: measuring the strip in the middle of a change would lay the page out once more. */
  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() =>
      setTimeout(() => {
        this.waiting = false;
        this.#draw();
      }),
    );
  }

  #draw() {
    const { canvas } = this;
    const { columns, hits } = this.page;
    const context = canvas.getContext("2d");
    if (!columns || !context || canvas.clientWidth === 0) return;
    const width = Math.min(2_000, Math.round(canvas.clientWidth));
    const ratio = devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = HEIGHT * ratio;
    context.scale(ratio, ratio);
    const probe = make("span.probe");
    this.element.append(probe);
    /** A colour of the style sheet in this theme. @param {string} name */
    const colour = (name) => {
      probe.style.color = `var(--${name})`;
      return getComputedStyle(probe).color;
    };
    const { busy, worst } = measure(columns, this.scale, width);
    const most = Math.max(1, ...busy.map((counts) => Math.max(...counts)));
    const floor = HEIGHT - 7;
    // Muted: what failed or repeats is what the eye is to meet.
    context.globalAlpha = 0.4;
    for (const kind of [6, 3, 2, 1]) {
      context.fillStyle = colour(`kind-${KINDS[kind]}`);
      const counts = busy[kind] ?? [];
      for (let pixel = 0; pixel < width; pixel += 1) {
        const height = counts[pixel] ? Math.max(4, (Math.log1p(counts[pixel]) / Math.log1p(most)) * (floor - 9)) : 0;
        if (height > 0) context.fillRect(pixel, floor - height, 1, height);
      }
    }
    context.globalAlpha = 1;
    // The worst of each pixel is drawn last and at least two pixels wide: a failure never averages away.
    context.fillStyle = colour("kind-loop");
    worst.forEach((severity, pixel) => severity & LOOPED && context.fillRect(pixel, HEIGHT - 5, 2, 4));
    context.fillStyle = colour("kind-error");
    worst.forEach((severity, pixel) => severity & BROKEN && context.fillRect(pixel - 1, 0, 2, HEIGHT - 7));
    context.fillStyle = colour("accent");
    for (const row of hits) context.fillRect(Math.round(this.scale.place(columns.start[row]) * (width - 1)) - 1, 0, 2, 7);
    probe.remove();
  }
}

const LOOPED = 1;
const BROKEN = 2;

/**
 * For each pixel: how many steps of each kind were going on, and whether something failed or was part of a loop.
 * @param {Columns} columns
 * @param {Timescale} scale
 * @param {number} width
 */
function measure(columns, scale, width) {
  const busy = KINDS.map(() => new Int32Array(width + 1));
  const worst = new Uint8Array(width);
  for (let row = 0; row < columns.length; row += 1) {
    const start = Math.floor(scale.place(columns.start[row]) * (width - 1));
    const first = start < 0 ? 0 : start >= width ? width - 1 : start;
    if (!columns.isRun(row) && columns.isFailed(row)) worst[first] = worst[first] | BROKEN;
    if (columns.isLoop(row) || columns.flags[row] & EVIDENCE) worst[first] = worst[first] | LOOPED;
    if (columns.hasChildren(row)) continue;
    const end = Math.floor(scale.place(columns.endOf(row)) * (width - 1));
    // The pixel in which it ends belongs to what comes next.
    const last = end <= first ? first : end >= width ? width - 1 : end - 1;
    const changes = busy[columns.kind[row]];
    if (!changes) continue;
    changes[first] = changes[first] + 1;
    changes[last + 1] = changes[last + 1] - 1;
  }
  for (const changes of busy) {
    for (let pixel = 1; pixel <= width; pixel += 1) changes[pixel] = changes[pixel] + changes[pixel - 1];
  }
  return { busy, worst };
}
