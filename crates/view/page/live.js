// A run in progress: the server says that it has changed, and the page adds the new rows without losing the reader's place.

import { change, getJson, listen, runPath } from "./api.js";
import { make } from "./dom.js";
import { announce, banner, showConnection, showError } from "./frame.js";
import { released } from "./press.js";
import { runBanners } from "./run-head.js";
import { counted } from "./units.js";

/** @import { Overview } from "./answers" */
/** @import { RunModel } from "./run-model.js" */
/** @import { Steps } from "./steps.js" */

/** Time between two requests for the overview of a run. */
const OVERVIEW_INTERVAL_MS = 1_000;
const TICK_INTERVAL_MS = 250;
const SILENCE_CHECK_TICKS = 20;

/**
 * Follows a run as long as its page is open.
 * @param {RunModel} page
 * @param {Steps} steps
 */
export function follow(page, steps) {
  listenTo(page);
  let ticks = 0;
  setInterval(() => {
    if (document.hidden || !page.columns || page.overview?.run_status !== "running") return;
    steps.tick(Date.now() * 1_000 - page.columns.runStart);
    ticks += 1;
    if (ticks % SILENCE_CHECK_TICKS === 0) runBanners(page, page.overview);
  }, TICK_INTERVAL_MS);
  // Scrolling back ends following.
  steps.list.element.addEventListener("scroll", () => (page.following &&= steps.list.isAtEnd), { passive: true });
}

/** @param {RunModel} page */
function listenTo(page) {
  const rows = oneAtATime(() => takeUp(page));
  const overview = oneAtATime(async () => {
    await showOverview(page);
    await new Promise((resolve) => setTimeout(resolve, OVERVIEW_INTERVAL_MS));
  });
  const stop = listen(
    () => `/api/stream?run=${encodeURIComponent(page.id)}`,
    {
      change: () => {
        rows();
        overview();
      },
      deleted: () => {
        stop();
        showDeleted(page);
      },
    },
    showConnection,
  );
}

/**
 * A task that never runs twice at a time: wanted meanwhile, it runs once more.
 * @param {() => Promise<void>} task
 */
function oneAtATime(task) {
  let isRunning = false;
  let isWanted = false;
  return async () => {
    isWanted = true;
    if (isRunning) return;
    isRunning = true;
    while (isWanted) {
      isWanted = false;
      await task().catch(showError);
    }
    isRunning = false;
  };
}

/** @param {RunModel} page */
async function takeUp(page) {
  const before = page.columns?.length ?? 0;
  await page.loadColumns();
  page.lastChange = Date.now();
  const added = (page.columns?.length ?? 0) - before;
  if (added > 0) announce(counted(added, "new step"));
}

/** @param {RunModel} page */
async function showOverview(page) {
  const overview = /** @type {Overview} */ (await getJson(runPath(page.id, "/overview")));
  await released();
  const ended = page.overview?.run_status === "running" && overview.run_status !== "running";
  page.overview = overview;
  if (!ended) return;
  page.following = false;
  announce(`The run ended: ${overview.sentence}`, overview.run_status === "failed");
  await page.loadColumns(true);
}

/** @param {RunModel} page */
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
