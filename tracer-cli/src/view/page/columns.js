// The structure of a run as columns: one typed array a property, read in place from the server's binary answer, so that a million rows
// cost no more than their bytes. `docs/viewer-api.md` describes the layout.

/** @import { Kind } from "./contract" */

const MAGIC = "TRCCOL01";
const HEADER_BYTES = 64;
const UNKNOWN = 0xffff_ffff;

/** @type {Kind[]} */
export const KINDS = ["run", "llm", "tool", "state", "error", "loop", "other"];
export const FAILED = 1;
export const IN_FLIGHT = 2;
export const EVIDENCE = 4;
export const REDACTED = 8;
export const TRUNCATED = 16;

const RUN = 0;
const ERROR = 4;
const LOOP = 5;

/** A run's rows, parents before their children. */
export class Columns {
  /** @param {ArrayBuffer} buffer */
  constructor(buffer) {
    const view = new DataView(buffer);
    const magic = String.fromCharCode(...new Uint8Array(buffer, 0, MAGIC.length));
    if (magic !== MAGIC) throw new Error("the viewer and this page are of different versions; reload the page");
    const rows = view.getUint32(8, true);
    const nameCount = view.getUint32(12, true);
    let at = HEADER_BYTES;
    /**
     * @template T
     * @param {{ new (buffer: ArrayBuffer, offset: number, length: number): T, BYTES_PER_ELEMENT: number }} Column
     * @returns {T}
     */
    const column = (Column) => {
      const read = new Column(buffer, at, rows);
      at += Math.ceil((rows * Column.BYTES_PER_ELEMENT) / 8) * 8;
      return read;
    };
    this.length = rows;
    /** Microseconds since 1970 at which the run started. */
    this.runStart = view.getFloat64(24, true);
    /** Microseconds from the start of the run. */
    this.start = column(Float64Array);
    /** Microseconds; not a number where a step has none, -1 while it is in flight. */
    this.duration = column(Float64Array);
    /** Row of the parent, -1 where there is none. */
    this.parent = column(Int32Array);
    /** What the terminal calls a step, counted by time; 0 is the run. */
    this.number = column(Uint32Array);
    this.nameId = column(Uint32Array);
    /** Line in the span log, 0 where there is none. */
    this.line = column(Uint32Array);
    /** Equal for the same question: kind, name and arguments; 0 is none. */
    this.signature = column(Uint32Array);
    this.depth = column(Uint16Array);
    this.kind = column(Uint8Array);
    this.flags = column(Uint8Array);
    this.tokensIn = column(Uint32Array);
    this.tokensOut = column(Uint32Array);
    this.names = readNames(buffer, at, nameCount);
    this.subtreeEnd = subtreeEnds(this.parent);
    this.repeatEnd = repeats(this);
    this.hasRepeats = this.repeatEnd.some((end) => end > 0);
    /** Microseconds from the start of the run to the end of the last step. */
    this.end = this.#lastEnd();
  }

  #lastEnd() {
    let end = 0;
    let last = 0;
    for (let row = 0; row < this.length; row += 1) {
      const start = this.start[row];
      const length = this.duration[row];
      if (start > last) last = start;
      if (length > 0 && start + length > end) end = start + length;
    }
    return Math.max(end, last, 1);
  }

  /** @param {number} row */
  name(row) {
    return this.names[this.nameId[row]] ?? "";
  }

  /** @param {number} row */
  kindName(row) {
    return KINDS[this.kind[row]] ?? "other";
  }

  /** @param {number} row */
  hasChildren(row) {
    return this.subtreeEnd[row] > row + 1;
  }

  /** @param {number} row */
  isFailed(row) {
    return this.kind[row] === ERROR || (this.flags[row] & FAILED) !== 0;
  }

  /** @param {number} row */
  isRun(row) {
    return this.kind[row] === RUN;
  }

  /** @param {number} row */
  isLoop(row) {
    return this.kind[row] === LOOP;
  }

  /** @param {number} row */
  isInFlight(row) {
    return (this.flags[row] & IN_FLIGHT) !== 0;
  }

  /**
   * Where a row ends, in microseconds from the start of the run; what is in flight goes on until `now`.
   * @param {number} row
   * @param {number} [now]
   */
  endOf(row, now = this.end) {
    const start = this.start[row];
    const length = this.duration[row];
    if (length >= 0) return start + length;
    return length < 0 ? Math.max(start, now) : start;
  }

  /**
   * @param {number} row
   * @returns {{ input: number | null, output: number | null }}
   */
  tokens(row) {
    const [input, output] = [this.tokensIn[row], this.tokensOut[row]];
    return { input: input === UNKNOWN ? null : input, output: output === UNKNOWN ? null : output };
  }

  /**
   * The next row from `row` on, in a direction and around the end, for which a question is answered with yes.
   * @param {number} row
   * @param {1 | -1} step
   * @param {(row: number) => boolean} fits
   * @returns {number} -1 when no row fits
   */
  seek(row, step, fits) {
    for (let tried = 1; tried <= this.length; tried += 1) {
      const next = (((row + step * tried) % this.length) + this.length) % this.length;
      if (fits(next)) return next;
    }
    return -1;
  }
}

/**
 * @param {ArrayBuffer} buffer
 * @param {number} offset
 * @param {number} count
 */
function readNames(buffer, offset, count) {
  const view = new DataView(buffer);
  const decoder = new TextDecoder();
  const names = [];
  let position = offset;
  for (let index = 0; index < count; index += 1) {
    const length = view.getUint32(position, true);
    names.push(decoder.decode(new Uint8Array(buffer, position + 4, length)));
    position += 4 + length;
  }
  return names;
}

/**
 * For each row the first row that is not nested in it.
 * @param {Int32Array} parent
 */
function subtreeEnds(parent) {
  const ends = new Uint32Array(parent.length);
  for (let row = parent.length - 1; row >= 0; row -= 1) {
    if (ends[row] === 0) ends[row] = row + 1;
    const above = parent[row];
    const end = ends[row];
    if (above >= 0 && ends[above] < end) ends[above] = end;
  }
  return ends;
}

/**
 * For each row that begins a fold the row after it, otherwise 0. As in the terminal: two or more siblings with nothing nested in them,
 * that put the same question as the one before them.
 * @param {Columns} columns
 */
function repeats(columns) {
  const { signature, parent, length } = columns;
  const ends = new Uint32Array(length);
  let first = 0;
  while (first < length) {
    const asked = signature[first];
    let next = first + 1;
    if (asked !== 0 && !columns.hasChildren(first) && !columns.isInFlight(first)) {
      const above = parent[first];
      while (next < length && signature[next] === asked && parent[next] === above &&
        !columns.hasChildren(next) && !columns.isInFlight(next)) next += 1;
    }
    if (next - first > 2) ends[first + 1] = next;
    first = next;
  }
  return ends;
}
