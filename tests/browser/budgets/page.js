// What a page costs that is used, as the browser itself reports it.
import { setTimeout as sleep } from "node:timers/promises";
import { percentile } from "./statistics.js";

/** Opens an address in a new tab and waits for what `rows` selects; the page notes the delays of its input events. */
export async function opened(browser, url, rows, timeout = 60_000) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  await context.addInitScript(() => {
    globalThis.delays = [];
    new PerformanceObserver((list) => globalThis.delays.push(...list.getEntries().map((entry) => entry.duration)))
      .observe({ type: "event", buffered: true, durationThreshold: 16 });
  });
  const page = await context.newPage();
  await page.goto(url, { waitUntil: "commit" });
  await page.locator(rows).first().waitFor({ timeout });
  await sleep(500);
  return { page, context };
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

export const elements = (page) => page.evaluate(() => document.getElementsByTagName("*").length);

/** Presses keys one after the other and gives the delays until the next paint; what is under 16 ms counts as 16. */
export async function keyDelays(page, keys) {
  await page.evaluate(() => { globalThis.delays = []; });
  for (const key of keys) {
    await page.keyboard.press(key);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  }
  await sleep(300);
  const reported = await page.evaluate(() => globalThis.delays);
  return reported.length === 0 ? 16 : percentile(reported, 0.95);
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
