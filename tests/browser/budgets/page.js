// What one opening of a page costs, told by the browser itself.
import { setTimeout as sleep } from "node:timers/promises";
import { percentile } from "./statistics.js";

/** Gathers from the page's first moment: when its first rows were there, its long tasks, the delays of its input events. */
function gather(rows) {
  const seen = { tasks: [], events: [], firstRows: null };
  globalThis.measured = seen;
  new PerformanceObserver((list) => seen.tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: "longtask", buffered: true });
  new PerformanceObserver((list) => seen.events.push(...list.getEntries().map((entry) => entry.duration)))
    .observe({ type: "event", buffered: true, durationThreshold: 16 });
  const look = () => {
    const row = document.querySelector(rows);
    if (row === null || row.getBoundingClientRect().height === 0) {
      requestAnimationFrame(look);
      return;
    }
    seen.firstRows = performance.now();
    console.debug("first rows");
  };
  requestAnimationFrame(look);
}

/** A new window of the browser loads its own parts (bars, menus) for so many milliseconds, with all the machine has. */
const NEW_WINDOW = 2_500;

/** Opens an address in a new tab and waits for what `rows` selects; gives the times since the navigation began, in milliseconds. */
export async function opened(browser, url, rows, timeout = 60_000) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  await context.addInitScript(gather, rows);
  const page = await context.newPage();
  await sleep(NEW_WINDOW);
  // The page tells by itself: to ask it would load a script into it that takes as long as some of what is measured.
  const told = page.waitForEvent("console", { predicate: (message) => message.text() === "first rows", timeout });
  await page.goto(url, { waitUntil: "commit" });
  await told;
  await sleep(500);
  const firstRows = await page.evaluate(() => globalThis.measured.firstRows);
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null);
  return { page, context, firstRows, paint };
}

/** What an address asks for until nothing more is asked, with the bytes of each answer. Asking for these slows the page. */
export async function requested(browser, url) {
  const page = await browser.newPage();
  const requests = [];
  page.on("response", async (response) => {
    requests.push({ url: response.url(), bytes: await response.body().then((body) => body.length, () => 0) });
  });
  await page.goto(url);
  await sleep(1_000);
  await page.close();
  return requests;
}

/** The longest task of the main thread until now; a task under 50 ms is not told by the browser. */
export const longestTask = (page) => page.evaluate(() => Math.max(0, ...globalThis.measured.tasks));

export const elements = (page) => page.evaluate(() => document.getElementsByTagName("*").length);

/** Presses keys one after the other and gives the delays until the next paint; what is under 16 ms counts as 16. */
export async function keyDelays(page, keys) {
  await page.evaluate(() => { globalThis.measured.events = []; });
  for (const key of keys) {
    await page.keyboard.press(key);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  }
  await sleep(300);
  const told = await page.evaluate(() => globalThis.measured.events);
  return told.length === 0 ? 16 : percentile(told, 0.95);
}

/** Scrolls to places all over the list, one in each frame, and gives the time of a frame that 95 % stay below. */
export async function scrollFrames(page, scroller, frames = 120) {
  const times = await page.evaluate(async ([selector, count]) => {
    const element = document.querySelector(selector);
    const all = [];
    let place = 0.5;
    let before = await new Promise(requestAnimationFrame);
    for (let frame = 0; frame < count; frame += 1) {
      place = (place * 7.13 + 0.37) % 1;
      element.scrollTop = place * (element.scrollHeight - element.clientHeight);
      const now = await new Promise(requestAnimationFrame);
      all.push(now - before);
      before = now;
    }
    return all;
  }, [scroller, frames]);
  return percentile(times, 0.95);
}
