// A run in progress: the server sends what is new, and the page adds it without losing the reader's place.

import { change, listen, runPath } from "./api.js";
import { changedColumns } from "./columns.js";
import { make } from "./dom.js";
import { announce, banner, showConnection, showError } from "./frame.js";
import { released } from "./press.js";
import { runBanners } from "./run-about.js";
import { counted } from "./units.js";

/** @import { Columns } from "./columns.js" */
/** @import { Changes, Overview } from "./answers" */
/** @import { RunPage } from "./run.js" */

const TICK_INTERVAL_MS = 250;
const SILENCE_CHECK_TICKS = 20;

/**
 * Follows a run as long as its page is open.
 * @param {RunPage} page
 */
export function follow(page) {
  listenTo(page);
  let ticks = 0;
  setInterval(() => {
    if (document.hidden || !page.columns || page.overview?.run_status !== "running") return;
    page.steps.tick(Date.now() * 1_000 - page.columns.runStart);
    ticks += 1;
    if (ticks % SILENCE_CHECK_TICKS === 0) runBanners(page, page.overview);
  }, TICK_INTERVAL_MS);
  // Whoever scrolls back wants to read what is there.
  page.steps.list.element.addEventListener(
    "scroll",
    () => {
      if (page.following && !page.steps.list.isAtEnd) page.setFollowing(false);
    },
    { passive: true },
  );
}

/** @param {RunPage} page */
function listenTo(page) {
  const from = page.columns?.logBytes ?? 0;
  const stop = listen(
    () => `/api/stream?run=${encodeURIComponent(page.id)}&from=${from}`,
    {
      rows: (changes) => takeUp(page, changes).catch(showError),
      run: (overview) => showOverview(page, overview).catch(showError),
      deleted: () => {
        stop();
        showDeleted(page);
      },
    },
    showConnection,
  );
}

/**
 * @param {RunPage} page
 * @param {Changes} changes
 */
async function takeUp(page, changes) {
  await released();
  const before = page.columns;
  if (!before) return;
  page.lastChange = Date.now();
  // A loop warning marks rows that are there already.
  const isLooped = changes.rows.some(({ text }) => text.kind === "loop");
  if (changes.reload || isLooped || changes.from > before.length) {
    await page.loadColumns();
  } else {
    const columns = changedColumns(before, changes);
    page.showColumns(columns, Math.min(changes.from, firstDifference(before, columns)));
    page.texts.put([...changes.rows, ...(changes.root ? [changes.root] : [])].map(({ text }) => text));
    page.steps.list.render(true);
  }
  const added = (page.columns?.length ?? 0) - before.length;
  if (added > 0) announce(counted(added, "new step"));
  if (page.following) page.steps.list.show(page.steps.list.length - 1);
}

/**
 * @param {RunPage} page
 * @param {Overview} overview
 */
async function showOverview(page, overview) {
  await released();
  const ended = page.overview?.run_status === "running" && overview.run_status !== "running";
  page.overview = overview;
  page.showOverview();
  page.tools.showFilters();
  page.workspace.showRun();
  if (!ended) return;
  page.following = false;
  announce(`The run ended: ${overview.sentence}`, overview.run_status === "failed");
  page.loadColumns().catch(showError);
}

/** @param {RunPage} page */
function showDeleted(page) {
  announce("This run was deleted", true);
  const restore = make(
    "button",
    {
      onclick: async () => {
        try {
          await change("POST", runPath(page.id, "/restore"));
          banner("deleted", null);
          listenTo(page);
        } catch (error) {
          showError(error);
        }
      },
    },
    "Restore",
  );
  banner("deleted", [make("strong", null, "This run was deleted. "), "What is shown here stays until you leave. ", restore], "warning");
}

/**
 * The first row that is not the same in two readings of a run, of which one may lack the end.
 * @param {Columns} before
 * @param {Columns} after
 */
export function firstDifference(before, after) {
  const shorter = Math.min(before.length, after.length);
  for (let row = 0; row < shorter; row += 1) {
    if (before.line[row] !== after.line[row] || before.nameId[row] !== after.nameId[row] || before.flags[row] !== after.flags[row])
      return row;
  }
  return shorter;
}
