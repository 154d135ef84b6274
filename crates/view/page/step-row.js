// One row of the steps: its elements are made once and then say whatever step the list puts there.

import { EVIDENCE, IN_FLIGHT } from "./columns.js";
import { glyph, kindWord, make, say, setGlyph } from "./dom.js";
import { clock, count, duration } from "./units.js";

/** @import { Columns } from "./columns.js" */
/** @import { StepKind, RowText } from "./answers" */
/** @import { Outline } from "./outline.js" */
/** @import { CachedList } from "./cached-list.js" */
/** @import { Timescale } from "./units.js" */

/** The common input of repeated calls; results are not compared. @param {StepKind} kind @param {boolean} isSeen */
export function repeatWords(kind, isSeen) {
  const question = { llm: "identical prompt", tool: "identical arguments" }[/** @type {string} */ (kind)];
  return (isSeen && question) || "the same again";
}

/** Deeper rows are not indented further. */
const MAX_INDENT_LEVEL = 14;

/**
 * @typedef {object} Scene the state of the list
 * @property {Columns} columns
 * @property {Outline} outline
 * @property {CachedList<RowText>} texts
 * @property {number} room how many characters of a text can be seen
 * @property {Timescale} scale
 * @property {boolean} absolute whether times are those of the clock
 * @property {number} now microseconds from the start of the run
 * @property {number} selected row
 * @property {boolean} isOver whether nothing that is in flight will end any more
 * @property {Set<number>} hits
 */

/** @typedef {ReturnType<typeof makeParts>} Parts */
/** @type {WeakMap<HTMLElement, Parts>} */
const partsOf = new WeakMap();

function makeParts() {
  const sign = glyph("span");
  const parts = {
    number: make("div.cell.number", { role: "gridcell" }),
    time: make("div.cell.time", { role: "gridcell" }),
    toggle: make("span.toggle", { "aria-hidden": "true" }),
    sign,
    kind: make("span.kind"),
    name: make("span.name"),
    input: make("span.gist"),
    output: make("span.gist.outcome"),
    step: make("div.cell.step", { role: "gridcell" }),
    tokens: make("div.cell.tokens", { role: "gridcell" }),
    duration: make("div.cell.duration", { role: "gridcell" }),
    bar: make("span.span-bar"),
  };
  parts.step.append(parts.toggle, sign, parts.kind, parts.name, parts.input, parts.output);
  return parts;
}

/** @returns {HTMLDivElement} */
export function createStepRow() {
  const parts = makeParts();
  const row = make(
    "div.row",
    { role: "row", tabindex: -1 },
    parts.number,
    parts.time,
    parts.step,
    parts.tokens,
    parts.duration,
    make("div.cell.bars", { role: "gridcell", "aria-hidden": "true" }, parts.bar),
  );
  partsOf.set(row, parts);
  return row;
}

/**
 * Fills a row with the entry at an index of the list.
 * @param {HTMLElement} element
 * @param {number} index
 * @param {Scene} scene
 */
export function renderStepRow(element, index, scene) {
  const parts = partsOf.get(element);
  if (!parts) return;
  const { columns, outline, texts, scale } = scene;
  const row = outline.rowAt(index);
  const isFold = outline.isFold(index);
  const kind = columns.kindName(row);
  const text = texts.get(row);
  const failed = columns.isFailed(row);
  const isParent = columns.hasChildren(row);
  const isOpen = !outline.collapsed.has(row);
  const depth = outline.order ? 0 : columns.depth[row];
  element.dataset.kind = kind;
  element.dataset.row = String(row);
  element.setAttribute("aria-level", String(depth + 1));
  element.setAttribute("aria-selected", String(row === scene.selected));
  if (isParent || isFold) {
    element.setAttribute("aria-expanded", String(isParent && isOpen));
    if (!parts.toggle.firstChild) parts.toggle.append(glyph("open"));
  } else {
    element.removeAttribute("aria-expanded");
  }
  element.classList.toggle("failed", failed);
  element.classList.toggle("hit", scene.hits.has(row));
  element.classList.toggle("context", outline.passing?.[row] === 2);
  element.classList.toggle("fold", isFold);
  element.dataset.evidence = evidence(index, scene);
  parts.step.style.setProperty("--depth", String(Math.min(depth, MAX_INDENT_LEVEL)));
  setGlyph(parts.sign, failed && kind !== "run" ? "error" : kind);
  say(parts.kind, kind === "llm" && !isFold ? `LLM ${columns.callNumber(row)}` : kindWord(kind));
  say(parts.number, columns.number[row] === 0 ? "" : count(columns.number[row]));
  say(parts.time, scene.absolute ? clock(columns.runStart + columns.start[row]) : offset(columns.start[row]));
  say(parts.name, columns.name(row));
  if (isFold) renderFold(parts, row, index, scene);
  else renderStep(parts, row, text, scene);
  const end = isFold ? columns.endOf(columns.repeatEnd[row] - 1) : columns.endOf(row, scene.now);
  const left = Math.min(1, Math.max(0, scale.place(columns.start[row])));
  const right = Math.min(1, Math.max(0, scale.place(end)));
  parts.bar.style.left = `${left * 100}%`;
  parts.bar.style.width = `${(right - left) * 100}%`;
  parts.bar.classList.toggle("lane", isParent && !isOpen);
  parts.bar.style.background = isParent && !isOpen ? lane(columns, row) : "";
  parts.bar.hidden = scale.place(end) < 0 || scale.place(columns.start[row]) > 1;
}

/**
 * @param {Parts} parts
 * @param {number} row
 * @param {RowText | undefined} text
 * @param {Scene} scene
 */
function renderStep(parts, row, text, { columns, room, now, isOver }) {
  const inFlight = (columns.flags[row] & IN_FLIGHT) !== 0;
  const length = columns.duration[row];
  say(parts.input, shortened(text?.gist.input ?? "", room));
  say(parts.output, shortened(text?.failure ?? text?.gist.output ?? (inFlight ? (isOver ? "never ended" : "in flight") : ""), room));
  parts.output.classList.toggle("broken", Boolean(text?.failure));
  say(parts.tokens, text?.tokens ?? "");
  parts.tokens.title = text?.cost ?? "";
  parts.duration.title = columns.hasChildren(row) && length > 0 ? `${duration(columns.ownTime(row))} of its own` : "";
  parts.duration.classList.toggle("ticking", inFlight && !isOver);
  if (inFlight && isOver) say(parts.duration, "");
  else if (inFlight) say(parts.duration, `${duration(now - columns.start[row])}+`);
  else say(parts.duration, length > 0 || (length === 0 && isTimed(columns.kindName(row))) ? duration(length) : "");
}

/**
 * @param {string} text
 * @param {number} most characters
 */
function shortened(text, most) {
  // Half of a pair of surrogates is no character.
  return text.length > most ? `${text.slice(0, most).replace(/[\ud800-\udbff]$/, "")}…` : text;
}

/**
 * @param {Parts} parts
 * @param {number} row first of the fold
 * @param {number} index
 * @param {Scene} scene
 */
function renderFold(parts, row, index, { columns, outline, texts }) {
  const end = columns.repeatEnd[row];
  let failures = 0;
  let time = 0;
  for (let repeat = row; repeat < end; repeat += 1) {
    if (columns.isFailed(repeat)) failures += 1;
    if (columns.duration[repeat] > 0) time += columns.duration[repeat];
  }
  // Attempts come before their call, repeats after the call that they repeat.
  const areAttempts = failures === end - row && columns.signature[end] === columns.signature[row];
  say(parts.name, areAttempts ? `×${count(outline.sizeOf(index))}` : `×${count(outline.sizeOf(index))} more`);
  const same = repeatWords(columns.kindName(row), Boolean(texts.get(row)?.gist.input));
  say(parts.input, areAttempts ? "failed attempts at the call below" : same);
  say(parts.output, failures ? `${count(failures)} failed` : "");
  parts.output.classList.toggle("broken", failures > 0);
  say(parts.tokens, "");
  parts.tokens.title = "";
  parts.duration.classList.remove("ticking");
  say(parts.duration, time > 0 ? duration(time) : "");
}

/** Cells that a lane is drawn in. */
const LANE_CELLS = 120;
/** The lanes that were drawn, by their rows. @type {WeakMap<Columns, Map<number, string>>} */
const lanes = new WeakMap();

/**
 * The steps within a collapsed row over its time: one agent, or one of several at work at once, in one line.
 * @param {Columns} columns
 * @param {number} row
 */
function lane(columns, row) {
  const known = lanes.get(columns) ?? new Map();
  lanes.set(columns, known);
  const drawn = known.get(row);
  if (drawn !== undefined) return drawn;
  const length = Math.max(1, columns.endOf(row) - columns.start[row]);
  const place = (/** @type {number} */ time) =>
    Math.min(LANE_CELLS - 1, Math.max(0, Math.floor(((time - columns.start[row]) / length) * LANE_CELLS)));
  const cells = /** @type {string[]} */ (Array(LANE_CELLS).fill(""));
  for (let step = row + 1; step < columns.subtreeEnd[row]; step += 1) {
    if (columns.hasChildren(step)) continue;
    const kind = columns.isFailed(step) ? "error" : columns.kindName(step);
    for (let cell = place(columns.start[step]); cell <= place(columns.endOf(step)); cell += 1) {
      if (cells[cell] !== "error") cells[cell] = kind;
    }
  }
  const stops = cells.map((kind, cell) => {
    const colour = kind ? `var(--kind-${kind})` : "var(--hairline)";
    return `${colour} ${((cell * 100) / LANE_CELLS).toFixed(2)}% ${(((cell + 1) * 100) / LANE_CELLS).toFixed(2)}%`;
  });
  const gradient = `linear-gradient(90deg, ${stops.join(", ")})`;
  known.set(row, gradient);
  return gradient;
}

/**
 * The part of a row in the bracket of a loop: alone, at its beginning, in it, at its end.
 * @param {number} index
 * @param {Scene} scene
 */
function evidence(index, { columns, outline }) {
  /** @param {number} other */
  const has = (other) => other >= 0 && other < outline.length && (columns.flags[outline.rowAt(other)] & EVIDENCE) !== 0;
  if (!has(index)) return "";
  return `${has(index - 1) ? "" : "first"} ${has(index + 1) ? "" : "last"} in`.trim();
}

/** True for a step that takes time; a state, an error and a warning are moments. @param {StepKind} kind */
function isTimed(kind) {
  return kind === "run" || kind === "llm" || kind === "tool" || kind === "span";
}

/** @param {number} time microseconds from the start of the run */
function offset(time) {
  return time <= 0 ? "0" : `+${duration(time)}`;
}
