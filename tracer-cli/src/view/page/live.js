// A run that goes on: the server tells what is new, and the page takes it up without losing anybody's place.

import { getJson, listen, runPath } from "./api.js";
import { announce, banner, showConnection } from "./frame.js";
import { glyph, make } from "./dom.js";
import { change } from "./api.js";

/** @import { Columns } from "./columns.js" */
/** @import { Overview } from "./contract" */

/** Durations of what is in flight are told anew so often, in milliseconds. */
const TICK = 200;
/** The structure of a run is asked for again at most so often; longer for runs whose answer takes longer. */
const SHORTEST_PAUSE = 100;

/**
 * @typedef {object} Options
 * @property {string} run
 * @property {() => Promise<void>} onRows the log grew: take up what is new
 * @property {(overview: Overview) => void} onOverview
 * @property {() => void} onTick
 */

/**
 * Follows a run until it has ended, and tells when it is deleted.
 * @param {Options} options
 * @returns {() => void} stops
 */
export function follow(options) {
  let waiting = false;
  let busy = false;
  let pause = SHORTEST_PAUSE;
  const takeUp = async () => {
    if (busy) {
      waiting = true;
      return;
    }
    busy = true;
    const began = performance.now();
    try {
      await options.onRows();
    } finally {
      pause = Math.max(SHORTEST_PAUSE, (performance.now() - began) * 4);
      setTimeout(() => {
        busy = false;
        if (waiting) {
          waiting = false;
          takeUp();
        }
      }, pause);
    }
  };
  let failures = 0;
  const refreshOverview = async () => options.onOverview(await getJson(runPath(options.run, "/overview")));
  const stop = listen(`/api/stream?run=${encodeURIComponent(options.run)}`, {
    rows: takeUp,
    in_flight: takeUp,
    run: (overview) => (overview?.totals ? options.onOverview(overview) : refreshOverview()),
    deleted: () => showDeleted(options.run),
  }, (connected) => {
    failures = connected ? 0 : failures + 1;
    // One lost connection is mended by the browser before anybody sees it.
    if (connected || failures > 1) showConnection(connected);
  });
  const ticking = setInterval(() => {
    if (!document.hidden) options.onTick();
  }, TICK);
  return () => {
    clearInterval(ticking);
    stop();
  };
}

/** @param {string} run */
export function showDeleted(run) {
  announce("This run was deleted", true);
  const restore = make("button", {
    onclick: async () => {
      await change("POST", runPath(run, "/restore"));
      banner("deleted", null);
    },
  }, "Restore");
  banner("deleted", [make("strong", null, "This run was deleted. "), "What is shown here stays until you leave. ", restore], "warning");
}

/**
 * The button that keeps the newest step on the screen.
 * @param {(on: boolean) => void} onChange
 */
export function followButton(onChange) {
  const button = make("button.chip", { "aria-pressed": "false", title: "Keep the newest step on the screen (F)" }, glyph("running"), "Follow");
  button.addEventListener("click", () => onChange(button.getAttribute("aria-pressed") !== "true"));
  return button;
}

/**
 * Where the rows of one reading of a run are in a later one: rows are inserted where they are nested.
 * @param {Columns} before
 * @param {Columns} after
 * @returns {{ firstChange: number, moved: (row: number) => number }}
 */
export function compareColumns(before, after) {
  let firstChange = 0;
  const shorter = Math.min(before.length, after.length);
  while (firstChange < shorter && before.line[firstChange] === after.line[firstChange] &&
    before.nameId[firstChange] === after.nameId[firstChange] && before.flags[firstChange] === after.flags[firstChange]) firstChange += 1;
  /** @param {Columns} columns @param {number} row */
  const key = (columns, row) => `${columns.start[row]} ${columns.name(row)} ${columns.kind[row]}`;
  /** @type {Map<string, number> | null} */
  let places = null;
  return {
    firstChange,
    moved(row) {
      if (row < firstChange) return row;
      if (!places) {
        places = new Map();
        for (let later = firstChange; later < after.length; later += 1) places.set(key(after, later), later);
      }
      return places.get(key(before, row)) ?? -1;
    },
  };
}
