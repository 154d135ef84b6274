// Debian's Chromium, watched: a page that asks another host, writes an error to its console, or breaks its own policy
// fails the test.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { chromium } from "playwright-core";
import { atTheEnd } from "./cleanup.js";
import { cookies } from "./viewer.js";

/** A busy machine may take so long for anything, in milliseconds; nothing is timed here. */
const PATIENCE = 45_000;
/** How many times slower the page is made, and its answers late, to find tests that do not wait for what they look at. */
const SLOWNESS = Number(process.env.TRACER_BROWSER_SLOWNESS ?? 1);
/** By this many milliseconds an answer is late at most, for each time that the page is slower. */
const LATENESS = 60;
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"];

/** @type {import("playwright-core").Browser | undefined} */
let browser;

/** Starts the browser before the suite and ends it afterwards. */
export function useBrowser() {
  before(async () => { browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS }); });
  after(async () => { await browser?.close(); });
}

/**
 * Waits until an assertion holds, and gives what it gives: what a page shows comes a moment after what was done to it.
 * @template Given
 * @param {() => Promise<Given>} assertion
 */
export async function eventually(assertion) {
  for (const until = Date.now() + PATIENCE; ; await sleep(40)) {
    try {
      return await assertion();
    } catch (fault) {
      if (Date.now() > until) throw fault;
    }
  }
}

/**
 * Holds what a page asks for, and gives the function that lets it be answered.
 * @param {import("playwright-core").Page} page
 * @param {string | ((url: URL) => boolean)} pattern of addresses
 */
export async function holdAnswers(page, pattern) {
  let letAnswer = () => {};
  const answer = new Promise((resolve) => { letAnswer = () => resolve(undefined); });
  await page.route(pattern, async (route) => { await answer; await route.continue(); });
  return letAnswer;
}

/**
 * Presses the mouse, lets the page draw what it asked for meanwhile, and releases the mouse.
 * @param {import("playwright-core").Page} page
 * @param {import("playwright-core").Locator} pressed
 * @param {string} pattern of the address that is asked for by itself after `change`
 * @param {() => Promise<unknown>} change
 */
export async function clickWhile(page, pressed, pattern, change) {
  const letAnswer = await holdAnswers(page, pattern);
  const asked = page.waitForRequest(pattern);
  const answered = page.waitForResponse(pattern);
  await change();
  await asked;
  await pressed.hover();
  await page.mouse.down();
  letAnswer();
  await (await answered).finished();
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
  await page.mouse.up();
}

async function slowDown(context, page) {
  const session = await context.newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: SLOWNESS });
  await context.route(/^http/, async (route) => {
    await sleep(Math.random() * LATENESS * SLOWNESS);
    await route.continue().catch(() => {});
  });
}

/**
 * A page in a context of its own. Options are those of `newContext`, and `allow`, a pattern of console messages that the
 * test provokes.
 */
export async function openPage(test, { allow, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, reducedMotion: "reduce", ...options });
  if (cookies.length > 0) await context.addCookies(cookies);
  const faults = [];
  const asked = [];
  await context.addInitScript(() => {
    globalThis.addEventListener("securitypolicyviolation", (event) => {
      console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI}`);
    });
  });
  context.on("request", (request) => {
    asked.push(request.url());
    const { protocol, hostname } = new URL(request.url());
    const isLocal = protocol === "file:" || protocol === "data:" || protocol === "blob:" || hostname === "127.0.0.1";
    if (!isLocal) faults.push(`asked ${request.url()}`);
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  if (SLOWNESS > 1) await slowDown(context, page);
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && !(allow && allow.test(text))) faults.push(`console: ${text}`);
  });
  page.on("dialog", (dialog) => { faults.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  atTheEnd(test, async () => {
    await context.close();
    assert.deepEqual(faults, [], "the page asked another host, failed, or broke its policy");
  });
  return Object.assign(page, { asked });
}
