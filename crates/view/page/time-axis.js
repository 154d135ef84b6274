// The axis above the bars: ticks with their times, as many as have room.

import { fill, make } from "./dom.js";
import { Timescale } from "./units.js";

const LABEL_WIDTH_PX = 64;

export class TimeAxis {
  constructor() {
    this.element = make("div.axis", { "aria-hidden": "true" });
    this.scale = new Timescale(0, 1);
    this.width = 0;
    new ResizeObserver(([entry]) => {
      this.width = entry.contentRect.width;
      this.#draw();
    }).observe(this.element);
  }

  /** @param {Timescale} scale */
  show(scale) {
    this.scale = scale;
    this.#draw();
  }

  #draw() {
    // The observer draws when the width is known.
    if (this.width === 0) return;
    const ticks = this.scale.ticks(Math.max(1, Math.floor(this.width / LABEL_WIDTH_PX)));
    fill(
      this.element,
      ticks.map(({ time, label }) => {
        const place = this.scale.place(time);
        // A label that would be cut at the edge says nothing; its line still does.
        const hasRoom = (1 - place) * this.width >= LABEL_WIDTH_PX * 0.65;
        const tick = make("span.tick", null, hasRoom ? label : "");
        tick.style.left = `${place * 100}%`;
        return tick;
      }),
    );
  }
}
