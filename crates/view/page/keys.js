// The keys of every page: the one table that binds them, and that `?` and the guide show.

import { VIEWS } from "./route.js";

/** @typedef {[action: string, keys: string | string[], does: string]} Key */
/** @typedef {Record<string, Key[]>} KeyTable keys by group */

/** @param {string} noun @returns {Key[]} */
const moves = (noun) => [
  ["next", ["j", "ArrowDown"], `next ${noun}`],
  ["previous", ["k", "ArrowUp"], `previous ${noun}`],
  ["first", "Home", `first ${noun}`],
  ["last", "End", `last ${noun}`],
  ["pageDown", "PageDown", "one page down"],
  ["pageUp", "PageUp", "one page up"],
];

/** @type {Record<"everywhere" | "run" | "runs" | "stats", KeyTable>} */
export const KEYS = {
  everywhere: {
    Everywhere: [
      ["help", "?", "this help"],
      ["allRuns", "g r", "all runs"],
      ["statistics", "g s", "statistics"],
    ],
  },
  run: {
    Moving: [
      ...moves("row"),
      ["into", "ArrowRight", "expand, or into"],
      ["outOf", "ArrowLeft", "collapse, or to the parent"],
      ["open", ["Enter", " "], "open the step, or a fold"],
      ["previousSibling", "[", "previous sibling"],
      ["nextSibling", "]", "next sibling"],
      ["nextOfName", ".", "next call of the same name"],
      ["previousOfName", ",", "previous call of the same name"],
    ],
    Finding: [
      ["find", "/", "find in run"],
      ["nextHit", "n", "next hit"],
      ["previousHit", "N", "previous hit"],
      ["nextError", "e", "next error"],
      ["previousError", "E", "previous error"],
      ["nextLoop", "l", "next loop warning"],
    ],
    Views: VIEWS.map((view, index) => [view, String(index + 1), view]),
    Time: [
      ["zoomIn", "+", "zoom in"],
      ["zoomOut", "-", "zoom out"],
      ["wholeRun", "0", "the whole run"],
      ["earlier", "a", "earlier"],
      ["later", "d", "later"],
      ["fit", "f", "zoom to the step, then to what is in it"],
      ["wide", "w", "half the width for the bars"],
      ["clock", "t", "relative or clock time"],
    ],
    Showing: [
      ["fold", "z", "fold repeats"],
      ["collapse", "o", "collapse all: a lane for each"],
      ["expand", "O", "expand all"],
      ["follow", "F", "follow a running run"],
      ["compare", "c", "compare"],
      ["menu", "y", "copy, save, rename, delete"],
      ["escape", "Escape", "close, then clear, then back to the steps"],
    ],
  },
  runs: {
    Runs: [
      ...moves("run"),
      ["open", ["Enter", "ArrowRight"], "open the run"],
      ["find", "/", "search runs"],
      ["mark", ["x", " "], "mark for comparing"],
      ["compare", "c", "compare the two marked runs"],
      ["menu", "y", "rename, delete, copy"],
      ["escape", "Escape", "clear"],
    ],
  },
  stats: {
    Statistics: [
      ["next", ["j", "ArrowDown"], "next group"],
      ["previous", ["k", "ArrowUp"], "previous group"],
      ["nextKind", "b", "group by the next kind"],
      ["previousKind", "B", "group by the previous kind"],
      ["find", "/", "search runs"],
      ["escape", "Escape", "clear"],
    ],
  },
};

/** @type {Record<string, string>} */
const SHOWN = {
  ArrowDown: "↓",
  ArrowUp: "↑",
  ArrowRight: "→",
  ArrowLeft: "←",
  " ": "Space",
  Escape: "Esc",
  PageUp: "PgUp",
  PageDown: "PgDn",
};

/** A key as it is shown. @param {string} key */
export function shownKey(key) {
  return SHOWN[key] ?? key;
}
