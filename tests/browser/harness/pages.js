// Opening the viewer's pages.
import { openPage } from "./browser.js";
import { temporaryFolder } from "./program.js";
import { writeRun } from "./runs.js";
import { view } from "./viewer.js";

/** The rows of steps that are on the screen. */
export const ROWS = ".steps .rows .row:not([hidden])";

/** Starts a viewer on runs written by hand and gives what a test needs of it. */
export async function viewRuns(t, runs) {
  const dataDir = await temporaryFolder(t);
  const ids = [];
  for (const run of runs) ids.push(await writeRun(dataDir, run));
  return { dataDir, ids, viewer: await view(t, dataDir) };
}

/** Opens the page of all runs. */
export async function openRuns(t, runs, { query = "", ...options } = {}) {
  const opened = await viewRuns(t, runs);
  const page = await openPage(t, options);
  await page.goto(`${opened.viewer.origin}/${query}`);
  if (runs.length > 0 && query === "") await page.locator(".run-row:not(.head):not([hidden])").first().waitFor();
  return { ...opened, page };
}

/** Opens the page of one run and waits for what can be used: keys do nothing before there are rows. */
export async function openRun(t, run, { query = "", ...options } = {}) {
  const { ids: [id], ...opened } = await viewRuns(t, [run]);
  const page = await openPage(t, options);
  const url = `${opened.viewer.origin}/r/${id}`;
  await page.goto(`${url}${query}`);
  await page.locator("#verdict").waitFor();
  if (!query.includes("view=")) await page.locator(ROWS).first().waitFor();
  return { ...opened, id, page, url };
}

/** The names of the steps on the screen, in their order. */
export const names = (page) => page.locator(`${ROWS} .name`).allInnerTexts();
