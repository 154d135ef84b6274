// Durations, moments and quantities as people read them, by the same rules as the terminal's, in `crates/insight/src/units.rs`; and scales of time. Without
// `Intl`: the first use of it costs a page 15 ms before it shows anything.

const MILLISECOND = 1_000;
const SECOND = 1_000 * MILLISECOND;

/** A number that is no longer exact may come as a `bigint`, which does not mix with numbers. @typedef {number | bigint} Quantity */

/**
 * A duration in microseconds with three significant digits: `45 µs`, `8.12 ms`, `1.20 s`, `2 min 03 s`.
 * @param {Quantity} microseconds
 * @returns {string}
 */
export function duration(microseconds) {
  const value = Math.max(0, Math.round(Number(microseconds)));
  if (value < MILLISECOND) return `${value} µs`;
  const short = threeDigits(value, MILLISECOND, "ms");
  if (short) return short;
  const seconds = Math.round(value / SECOND);
  if (seconds < 60) return threeDigits(value, SECOND, "s") ?? "1 min 00 s";
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${pad(seconds % 60)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1_440) return `${Math.floor(minutes / 60)} h ${pad(minutes % 60)} min`;
  const hours = Math.floor(minutes / 60);
  return `${Math.floor(hours / 24)} d ${pad(hours % 24)} h`;
}

/**
 * @param {number} microseconds
 * @param {number} unit
 * @param {string} name
 * @returns {string | undefined} nothing when the value rounds to 1000 of the unit or more
 */
function threeDigits(microseconds, unit, name) {
  for (const decimals of [2, 1, 0]) {
    const scaled = Math.round((microseconds * 10 ** decimals) / unit);
    if (scaled < 1_000) return `${(scaled / 10 ** decimals).toFixed(decimals)} ${name}`;
  }
  return undefined;
}

/** @param {number} number */
function pad(number) {
  return String(number).padStart(2, "0");
}

/**
 * The age of a moment: `8 s ago`, `3 min ago`, `5 h ago`, `3 d ago`, and after a month the date.
 * @param {number} then milliseconds since 1970
 * @param {number} now milliseconds since 1970
 * @returns {string}
 */
export function ago(then, now) {
  const seconds = Math.floor((now - then) / 1_000);
  if (seconds < -60 || seconds >= 30 * 86_400) return new Date(then).toISOString().slice(0, 10);
  if (seconds < 1) return "now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 2 * 86_400) return `${Math.floor(seconds / 3_600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

/**
 * A moment in UTC and, where that is another, in local time, for tooltips: both, because logs have the one and people the other.
 * @param {number} time milliseconds since 1970
 * @returns {string}
 */
export function exactly(time) {
  const utc = new Date(time).toISOString().replace("T", " ").replace("Z", " UTC");
  const east = -new Date(time).getTimezoneOffset();
  const local = new Date(time + east * 60_000).toISOString().slice(0, 19).replace("T", " ");
  const offset = `${east < 0 ? "-" : "+"}${pad(Math.floor(Math.abs(east) / 60))}:${pad(Math.abs(east) % 60)}`;
  return east === 0 ? utc : `${utc}\n${local} ${offset}`;
}

/**
 * The time of day in UTC to the microsecond, `06:42:15.298557`.
 * @param {number} microseconds since 1970
 * @returns {string}
 */
export function clock(microseconds) {
  const whole = Math.floor(microseconds / SECOND);
  const rest = Math.round(microseconds - whole * SECOND);
  return `${new Date(whole * 1_000).toISOString().slice(11, 19)}.${String(rest).padStart(6, "0")}`;
}

/**
 * A size in bytes, `12.0 kB`, `1.1 GB`.
 * @param {number} number
 * @returns {string}
 */
export function bytes(number) {
  if (number < 1_000) return `${number} B`;
  if (number < 1_000_000) return `${(number / 1_000).toFixed(1)} kB`;
  if (number < 1_000_000_000) return `${(number / 1_000_000).toFixed(1)} MB`;
  return `${(number / 1_000_000_000).toFixed(1)} GB`;
}

/**
 * A whole number with separators, `10,412`.
 * @param {Quantity} number
 * @returns {string}
 */
export function count(number) {
  return String(Math.round(Number(number))).replaceAll(/\B(?=(\d{3})+$)/g, ",");
}

/**
 * `1 step`, `2 steps`, `10,412 lines`.
 * @param {number} number
 * @param {string} noun
 * @param {string} [plural]
 * @returns {string}
 */
export function counted(number, noun, plural = `${noun}s`) {
  return `${count(number)} ${number === 1 ? noun : plural}`;
}

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
   * The place of a moment as a fraction of the width; below 0 or above 1 when outside.
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
 * A time with enough digits to differ from the next one.
 * @param {number} time
 * @param {number} step
 */
function roundly(time, step) {
  for (const [unit, name] of /** @type {const} */ ([
    [1_000_000, "s"],
    [1_000, "ms"],
  ])) {
    if (step >= unit / 100 && time >= unit && time < 120_000_000) {
      const decimals = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
      return `${(time / unit).toFixed(decimals)} ${name}`;
    }
  }
  return duration(time);
}
