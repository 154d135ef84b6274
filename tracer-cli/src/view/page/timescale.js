// A part of the time of a run, drawn over a width: where a moment lies, and where round times are.

import { duration } from "./units.js";

/** A part of the time, in microseconds from the start of the run. */
export class Timescale {
  /**
   * @param {number} from
   * @param {number} to
   */
  constructor(from, to) {
    this.from = from;
    this.to = Math.max(to, from + 1);
  }

  get length() {
    return this.to - this.from;
  }

  /**
   * Where a moment lies, as a fraction of the width; below 0 or above 1 when outside.
   * @param {number} time
   */
  place(time) {
    return (time - this.from) / this.length;
  }

  /**
   * @param {number} place fraction of the width
   * @returns {number} microseconds from the start of the run
   */
  timeAt(place) {
    return this.from + place * this.length;
  }

  /**
   * Round times, at most `most` of them.
   * @param {number} most
   * @returns {{ time: number, label: string }[]}
   */
  ticks(most) {
    const rough = this.length / Math.max(1, most);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = Math.max(1, ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power);
    const ticks = [];
    for (let time = Math.ceil(this.from / step) * step; time <= this.to; time += step) {
      ticks.push({ time, label: time === 0 ? "0" : roundly(time, step) });
    }
    return ticks;
  }
}

/**
 * A time with as many digits as tell it from the next one.
 * @param {number} time
 * @param {number} step
 */
function roundly(time, step) {
  for (const [unit, name] of /** @type {const} */ ([[1_000_000, "s"], [1_000, "ms"]])) {
    if (step >= unit / 100 && time >= unit && time < 120_000_000) {
      const decimals = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
      return `${(time / unit).toFixed(decimals)} ${name}`;
    }
  }
  return duration(time);
}
