// The structure of a run as columns: one typed array a property, read in place from the server's binary answer, so that a million rows
// cost no more than their bytes. `docs/the-viewer.md` describes the layout.

/** @import { StepKind } from "./answers" */

const MAGIC = "TRCCOL03";
const HEADER_BYTES = 64;

/** @type {StepKind[]} */
export const KINDS = ["run", "llm", "tool", "state", "error", "loop", "span"];
export const FAILED = 1;
export const IN_FLIGHT = 2;
export const EVIDENCE = 4;

const RUN = 0;
const LLM = 1;
const ERROR = 4;
const LOOP = 5;

/** The columns, in the order of the answer. */
const LAYOUT = /** @type {const} */ ([
  ["start", Float64Array],
  ["duration", Float64Array],
  ["parent", Int32Array],
  ["number", Uint32Array],
  ["nameId", Uint32Array],
  ["signature", Uint32Array],
  ["tokens", Uint32Array],
  ["kind", Uint8Array],
  ["flags", Uint8Array],
]);

const NAME = LAYOUT.findIndex(([name]) => name === "nameId");

/**
 * Reads the server's answer.
 * @param {ArrayBuffer} buffer
 * @param {Columns | null} [before] the rows that an answer with later ones continues
 * @returns {Columns}
 */
export function readColumns(buffer, before = null) {
  const view = new DataView(buffer);
  const magic = String.fromCharCode(...new Uint8Array(buffer, 0, MAGIC.length));
  if (magic !== MAGIC) throw new Error("the viewer and this page are of different versions; reload the page");
  const rows = view.getUint32(8, true);
  const first = view.getUint32(20, true);
  const [runStart, logBytes] = [view.getFloat64(24, true), view.getFloat64(32, true)];
  let at = HEADER_BYTES;
  const arrays = LAYOUT.map(([, Column], place) => {
    const column = new Column(buffer, at, rows);
    at += Math.ceil(column.byteLength / 8) * 8;
    if (!before) return column;
    const whole = new Column(first + rows);
    whole.set(before.arrays[place].subarray(0, first));
    whole.set(column, first);
    return whole;
  });
  let names = readNames(buffer, at, view.getUint32(12, true));
  if (before) {
    const known = new Map(before.names.map((name, id) => [name, id]));
    const ids = names.map((name) => known.get(name) ?? known.set(name, known.size).size - 1);
    for (let row = first; row < first + rows; row += 1) arrays[NAME][row] = ids[arrays[NAME][row]];
    names = [...known.keys()];
  }
  return new Columns(arrays, names, runStart, logBytes, first);
}

/** A run's rows, parents before their children. */
export class Columns {
  /**
   * @param {(Float64Array | Int32Array | Uint32Array | Uint16Array | Uint8Array)[]} arrays in the order of the layout
   * @param {string[]} names
   * @param {number} runStart microseconds since 1970
   * @param {number} logBytes how far the log was read
   * @param {number} firstChange rows before it are those of the answer before
   */
  constructor(arrays, names, runStart, logBytes, firstChange) {
    this.arrays = arrays;
    /** Microseconds from the start of the run. */
    this.start = arrays[0];
    /** Microseconds; not a number where a step has none, -1 while it is in flight. */
    this.duration = arrays[1];
    /** Row of the parent, -1 where there is none. */
    this.parent = arrays[2];
    /** The step number of the terminal, counted by time; 0 is the run. */
    this.number = arrays[3];
    this.nameId = arrays[4];
    /** Equal for the same question: kind, name and arguments; 0 is none. */
    this.signature = arrays[5];
    /** Input and output of a model call; 0 where neither is known. */
    this.tokens = arrays[6];
    this.kind = arrays[7];
    this.flags = arrays[8];
    /** By the numbers of the steps. @type {Uint32Array | null} */
    this.callNumbers = null;
    this.names = names;
    this.runStart = runStart;
    this.logBytes = logBytes;
    this.firstChange = firstChange;
    this.length = this.start.length;
    this.depth = depths(this.parent);
    this.subtreeEnd = subtreeEnds(this.parent);
    this.repeatEnd = repeats(this);
    this.hasRepeats = this.repeatEnd.some((end) => end > 0);
    /** Microseconds from the start of the run to the end of the last step. */
    this.end = this.#lastEnd();
  }

  #lastEnd() {
    let [end, last] = [0, 0];
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
    return KINDS[this.kind[row]] ?? "span";
  }

  /** The number of a model call among the model calls, in the order of time. @param {number} row */
  callNumber(row) {
    if (!this.callNumbers) {
      const numbers = new Uint32Array(this.length + 1);
      this.kind.forEach((kind, other) => (numbers[this.number[other]] = kind === LLM ? 1 : 0));
      numbers.forEach((isCall, number) => (numbers[number] = isCall + (numbers[number - 1] ?? 0)));
      this.callNumbers = numbers;
    }
    return this.callNumbers[this.number[row]];
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
   * The end of a row, in microseconds from the start of the run; a call in flight ends `now`.
   * @param {number} row
   * @param {number} [now]
   */
  endOf(row, now = this.end) {
    const start = this.start[row];
    const length = this.duration[row];
    if (length >= 0) return start + length;
    return length < 0 ? Math.max(start, now) : start;
  }

  /** Time of a row in which nothing that is nested in it was going on. @param {number} row */
  ownTime(row) {
    const end = this.endOf(row);
    let own = end - this.start[row];
    let reached = this.start[row];
    for (let child = row + 1; child < this.subtreeEnd[row]; child = this.subtreeEnd[child]) {
      const until = Math.min(end, this.endOf(child));
      own -= Math.max(0, until - Math.max(reached, this.start[child]));
      reached = Math.max(reached, until);
    }
    return own;
  }

  /**
   * Marks the steps that the run waited for: of each row, from its end back to its start, the step that ended last, and of the time
   * before that one the step that ended last then.
   */
  criticalPath() {
    const path = new Uint8Array(this.length);
    /** @type {[number, number][]} rows with the time until which they are waited for */
    const waiting = [];
    for (let root = 0; root < this.length; root = this.subtreeEnd[root]) waiting.push([root, this.endOf(root)]);
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const [row] = next;
      let [, until] = next;
      path[row] = 1;
      const children = [];
      for (let child = row + 1; child < this.subtreeEnd[row]; child = this.subtreeEnd[child]) children.push(child);
      children.sort((a, b) => this.endOf(b) - this.endOf(a));
      for (const child of children) {
        if (this.endOf(child) > until || this.duration[child] === 0 || Number.isNaN(this.duration[child])) continue;
        waiting.push([child, this.endOf(child)]);
        until = this.start[child];
      }
    }
    return path;
  }

  /** The time of the rows from one to before another. @param {number} first @param {number} end @returns {[number, number]} */
  timeOf(first, end) {
    let [from, to] = [Infinity, -Infinity];
    for (let row = first; row < end; row += 1) {
      from = Math.min(from, this.start[row]);
      to = Math.max(to, this.endOf(row));
    }
    return [from, Math.max(to, from + 1)];
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
  const [view, decoder] = [new DataView(buffer), new TextDecoder()];
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
 * For each row the number of those that it is nested in.
 * @param {ArrayLike<number>} parent
 */
function depths(parent) {
  const depths = new Uint16Array(parent.length);
  for (let row = 0; row < parent.length; row += 1) depths[row] = parent[row] < 0 ? 0 : depths[parent[row]] + 1;
  return depths;
}

/**
 * For each row the first row that is not nested in it.
 * @param {ArrayLike<number>} parent
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
 * that put the same question as the one before them, or two or more failed attempts at the one behind them.
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
      while (
        next < length &&
        signature[next] === asked &&
        parent[next] === above &&
        !columns.hasChildren(next) &&
        !columns.isInFlight(next)
      )
        next += 1;
    }
    while (first < next) {
      let call = first;
      while (isAttempt(columns, call, next)) call += 1;
      if (call > first) {
        // Attempts, and the call that they are at.
        if (call - first > 1) ends[first] = call;
        first = call + 1;
        continue;
      }
      while (call < next && !isAttempt(columns, call, next)) call += 1;
      if (call - first > 2) ends[first + 1] = call;
      first = call;
    }
  }
  return ends;
}

/**
 * True for a failed row that the next row with its question, before `end`, tries again.
 * @param {Columns} columns
 * @param {number} row
 * @param {number} end
 */
function isAttempt(columns, row, end) {
  return row + 1 < end && columns.isFailed(row) && isCall(columns.kindName(row));
}

/** @param {string} kind */
function isCall(kind) {
  return kind === "llm" || kind === "tool";
}

/**
 * The rows of one reading of a run in a later one: rows are inserted where they are nested. Gives -1 for a row that is gone.
 * @param {Columns} before
 * @param {Columns} after
 * @returns {(row: number) => number}
 */
export function rowsMoved(before, after) {
  const { firstChange } = after;
  /** @param {Columns} columns @param {number} row */
  const key = (columns, row) => `${columns.runStart + columns.start[row]} ${columns.name(row)} ${columns.kind[row]}`;
  /** @type {Map<string, number> | null} */
  let places = null;
  return (row) => {
    if (row < firstChange) return row;
    if (!places) {
      places = new Map();
      for (let later = firstChange; later < after.length; later += 1) places.set(key(after, later), later);
    }
    return places.get(key(before, row)) ?? -1;
  };
}
