// Measures the viewer against its budgets and prints a table. Called by `benches -- view`.
import { cp, mkdtemp, rm, stat } from "node:fs/promises";
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";
import { given } from "./arguments.js";
import { BareBrowser } from "./bare-browser.js";
import { liveDelays } from "./live.js";
import { elements, keyDelays, opened, requested, scrollFrames } from "./page.js";
import { peakMemory, rendererMemory } from "./process.js";
import { pythonView, tracerView } from "./server.js";
import { median } from "./statistics.js";
import { report } from "./table.js";

const RUN = "ffffffff000000000000000000000001";
const ROWS = ".rows .row:not([hidden])";
/** Is there when the page has all rows, and not the first ones only. */
const WHOLE = "#verdict";
const SCROLLER = "[role=treegrid]";
const PYTHON_ROWS = ".event, .event-item, .event-header";
/** The Python viewer needs most of a minute and 5 GB for more. */
const MAX_PYTHON_SPANS = 10_000;
/** A frame waits for the screen's next one, of which there are 60 a second: what takes two of them takes 33.3 ms. */
const TWO_FRAMES = 33.5;
/** What first rows may take, in milliseconds, by the number of spans. */
const FIRST_ROWS = new Map([[1_000, 150], [10_000, 250], [100_000, 600], [1_000_000, 3_000]]);

/** What first rows may take, as a multiple of an empty page in the same browser. */
const TIMES_EMPTY = new Map([[1_000, 2.2], [10_000, 3], [100_000, 5], [1_000_000, 22]]);

const plan = given();
const rows = [];
const program = process.env.CHROMIUM ?? "/usr/bin/chromium";
const flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
/** Opens pages, and times that. */
const bare = await BareBrowser.start(program, [...flags, "--window-size=1400,900"]);
/** Uses them. */
const browser = await chromium.launch({ executablePath: program, args: flags });

/** An empty page, which costs what the browser itself costs. */
const empty = createServer((_, response) => response.setHeader("Content-Type", "text/html").end("<!doctype html><title>empty</title><p>empty"));
await new Promise((resolve) => empty.listen(0, "127.0.0.1", () => resolve(undefined)));
const emptyPage = `http://127.0.0.1:${empty.address().port}/`;

/** Repeats a measurement and gives the median of each of its numbers. */
async function repeated(measure) {
  const all = [];
  for (let round = 0; round < plan.rounds; round += 1) all.push(await measure());
  return Object.fromEntries(Object.keys(all[0]).map((key) => [key, median(all.map((one) => one[key]))]));
}

async function store() {
  const dataDir = path.join(plan.folder, "store");
  const found = await repeated(async () => {
    const server = await tracerView(plan.tracer, dataDir);
    const { paint } = await bare.opening(server.address("/"), "tbody tr, [role=row]:not(.head)");
    const requests = await requested(browser, server.address("/"));
    const weigh = (list) => list.reduce((sum, request) => sum + request.bytes, 0) / 1000;
    const assets = requests.filter((request) => new URL(request.url).pathname.startsWith("/assets/"));
    const foreign = requests.filter((request) => new URL(request.url).origin !== server.origin && !request.url.startsWith("data:")).length;
    await server.close();
    return { listening: server.listening, paint, weight: weigh(assets), data: weigh(requests) - weigh(assets), foreign };
  });
  rows.push(
    { measure: "`tracer view` listens", value: found.listening, limit: 100, unit: "ms" },
    { measure: "runs page, 500 runs: first paint", value: found.paint, limit: 200, unit: "ms" },
    { measure: "runs page: weight without the runs", value: found.weight, limit: 200, unit: "kB" },
    { measure: "runs page: the 500 runs", value: found.data, unit: "kB" },
    { measure: "runs page: requests to others", value: found.foreign, limit: 0, unit: "" },
  );
}

async function python(spans, dataDir) {
  if (!plan.python || spans > MAX_PYTHON_SPANS) return {};
  const server = await pythonView(plan.python, dataDir);
  const url = `${server.origin}/?run_id=${RUN}`;
  const { firstRows, longestTask: task } = await bare.opening(url, PYTHON_ROWS);
  const { page, context } = await opened(browser, url, PYTHON_ROWS);
  const found = { firstRows, nodes: await elements(page), task, memory: await rendererMemory(), server: await peakMemory(server.pid) };
  await context.close();
  await server.close();
  return found;
}

async function run(spans) {
  const dataDir = path.join(plan.folder, `run-${spans}`);
  const reported = spans.toLocaleString("en");
  const isLarge = spans >= 1_000_000;
  const found = await repeated(async () => {
    const server = await tracerView(plan.tracer, dataDir);
    const url = server.address(`/r/${RUN}`);
    const nothing = await bare.opening(emptyPage, "p");
    const first = await bare.opening(url, ROWS, { whole: WHOLE });
    const again = await bare.opening(url, ROWS, { whole: WHOLE });
    const { page, context } = await opened(browser, url, ROWS);
    const renderer = await rendererMemory();
    const keys = await keyDelays(page, [...Array(20).fill("j"), ...Array(10).fill("PageDown"), "End", "Home", ...Array(8).fill("k")]);
    const frame = await scrollFrames(page, SCROLLER);
    const nodes = await elements(page);
    await context.close();
    const memory = await peakMemory(server.pid);
    await server.close();
    const task = Math.max(first.longestTask, again.longestTask);
    return { times: first.firstRows / nothing.firstRows, cold: first.firstRows, all: first.whole, warm: again.firstRows, task, keys, frame, nodes, renderer, memory };
  });
  const other = await python(spans, dataDir);
  rows.push(
    { measure: `${reported} spans: first rows`, value: found.cold, limit: FIRST_ROWS.get(spans), unit: "ms", python: other.firstRows },
    { measure: `${reported} spans: first rows, of an empty page`, value: found.times, limit: TIMES_EMPTY.get(spans), unit: "×" },
    { measure: `${reported} spans: all rows`, value: found.all, unit: "ms" },
    { measure: `${reported} spans: first rows, opened again`, value: found.warm, limit: isLarge ? 1_200 : FIRST_ROWS.get(spans), unit: "ms" },
    { measure: `${reported} spans: longest task`, value: found.task, limit: isLarge ? 100 : 50, unit: "ms", python: other.task },
    { measure: `${reported} spans: key to paint, 95 %`, value: found.keys, limit: isLarge ? 200 : 100, unit: "ms" },
    { measure: `${reported} spans: scrolling, frame, 95 %`, value: found.frame, limit: TWO_FRAMES, unit: "ms" },
    { measure: `${reported} spans: elements`, value: found.nodes, limit: 3_000, unit: "", python: other.nodes },
    { measure: `${reported} spans: renderer memory`, value: found.renderer, limit: 350, unit: "MB", python: other.memory },
    { measure: `${reported} spans: server memory`, value: found.memory, limit: 250, unit: "MB", python: other.server },
  );
}

async function live() {
  const dataDir = await mkdtemp(path.join(tmpdir(), "tracer-live-"));
  const server = await tracerView(plan.tracer, dataDir);
  const delay = await liveDelays(browser, server, dataDir, { existing: 10_000 });
  rows.push({ measure: "live, 10,000 spans: written to shown, 95 %", value: delay, limit: 300, unit: "ms" });
  await server.close();
  await rm(dataDir, { recursive: true, force: true });
}

async function exported() {
  const dataDir = await mkdtemp(path.join(tmpdir(), "tracer-export-"));
  await cp(path.join(plan.folder, "run-1000"), dataDir, { recursive: true });
  const file = path.join(dataDir, "run.html");
  const from = performance.now();
  execFileSync(plan.tracer, ["export", RUN, "--format", "html", "--out", file], { env: { ...process.env, TRACER_DATA_DIR: dataDir }, stdio: "ignore" });
  rows.push({ measure: "export of 1,000 spans as HTML", value: performance.now() - from, limit: 1_000, unit: "ms" });
  rows.push({ measure: "its size", value: (await stat(file)).size / 1000, unit: "kB" });
  await rm(dataDir, { recursive: true, force: true });
}

await store();
for (const spans of plan.spans) await run(spans);
await live();
if (plan.spans.includes(1_000)) await exported();
empty.close();
await Promise.all([browser.close(), bare.close()]);
console.log(`\n${report(rows, { markdown: plan.markdown, withPython: plan.python !== undefined })}`);
