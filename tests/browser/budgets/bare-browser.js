// Chromium driven by its own protocol over a pipe: a driver in between adds a tenth to what opening a page takes.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** A new window of the browser loads its own parts (bars, menus) for this many milliseconds, with all the machine has. */
const NEW_WINDOW = 2_500;
/** The page is first asked what it has seen after this many milliseconds, then as often. */
const ASKED_EVERY = 1_000;

/** Gathers from the page's first moment: when its first rows were there and when all was, and its long tasks. */
function gather(rows, whole) {
  const seen = { tasks: [], firstRows: null, whole: null };
  globalThis.measured = seen;
  new PerformanceObserver((list) => seen.tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: "longtask", buffered: true });
  const look = () => {
    if (seen.firstRows === null && document.querySelector(rows)?.getBoundingClientRect().height > 0) seen.firstRows = performance.now();
    if (seen.firstRows !== null && document.querySelector(whole)) seen.whole = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

/** What is asked of the page afterwards, as text. */
const REPORTED = `JSON.stringify({ ...measured, paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null })`;

export class BareBrowser {
  /** Starts the browser with an empty page, which nothing is done with. */
  static async start(program, flags) {
    const folder = await mkdtemp(path.join(tmpdir(), "tracer-browser-"));
    const args = ["--headless=new", "--remote-debugging-pipe", `--user-data-dir=${folder}`, "--no-first-run", ...flags, "about:blank"];
    return new BareBrowser(spawn(program, args, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] }), folder);
  }

  constructor(child, folder) {
    this.child = child;
    this.folder = folder;
    this.last = 0;
    this.waiting = new Map();
    let text = "";
    child.stdio[4].setEncoding("utf8").on("data", (piece) => {
      const messages = (text + piece).split("\0");
      text = messages.pop();
      for (const message of messages) this.#take(JSON.parse(message));
    });
  }

  #take({ id, result, error }) {
    const answer = this.waiting.get(id);
    this.waiting.delete(id);
    if (error) answer?.reject(new Error(error.message));
    else answer?.resolve(result);
  }

  #ask(method, params = {}, sessionId = undefined) {
    const id = (this.last += 1);
    this.child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  /**
   * Opens an address in a new tab of a browser that has seen nothing, waits for what `rows` and then `whole` select, and until the page
   * rests. Gives the times since the navigation began, in milliseconds, and the longest task of the main thread; a task under 50 ms is
   * not reported by the browser.
   */
  async opening(url, rows, { whole = rows, timeout = 60_000 } = {}) {
    const { browserContextId } = await this.#ask("Target.createBrowserContext");
    const { targetId } = await this.#ask("Target.createTarget", { url: "about:blank", browserContextId, width: 1400, height: 900 });
    const { sessionId } = await this.#ask("Target.attachToTarget", { targetId, flatten: true });
    await this.#ask("Page.enable", {}, sessionId);
    await this.#ask("Page.addScriptToEvaluateOnNewDocument", { source: `(${gather})(${JSON.stringify(rows)}, ${JSON.stringify(whole)})` }, sessionId);
    await sleep(NEW_WINDOW);
    await this.#ask("Page.navigate", { url }, sessionId);
    const ask = async () => {
      await sleep(ASKED_EVERY);
      return JSON.parse((await this.#ask("Runtime.evaluate", { expression: REPORTED }, sessionId)).result.value);
    };
    const until = performance.now() + timeout;
    while ((await ask()).whole === null) {
      if (performance.now() > until) throw new Error(`${url} does not show ${rows}, then ${whole}`);
    }
    // What is done behind the last rows counts, too.
    const reported = await ask();
    await this.#ask("Target.disposeBrowserContext", { browserContextId });
    return { firstRows: reported.firstRows, whole: reported.whole, paint: reported.paint, longestTask: Math.max(0, ...reported.tasks) };
  }

  async close() {
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    await this.#ask("Browser.close").catch(() => {});
    await ended;
    await rm(this.folder, { recursive: true, force: true });
  }
}
