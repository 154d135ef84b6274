// How long it takes from a span's last byte in the file to its row on the screen.
import { appendFile, readFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { percentile } from "./statistics.js";
import { span, tool, writeRun } from "../harness/runs.js";

/** Appends spans to a running run that a page follows, and gives the delay that 95 % stay below, in milliseconds. */
export async function liveDelays(browser, server, dataDir, { existing, spans = 30 }) {
  const id = await writeRun(dataDir, { name: "live", status: "running",
    children: (trace) => Array.from({ length: existing }, (_, index) => tool(trace, index + 2, "search", { n: index }, "ok")) });
  const log = path.join(dataDir, "runs", id, "spans.jsonl");
  const meta = JSON.parse(await readFile(path.join(dataDir, "runs", id, "meta.json"), "utf8"));
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  await page.goto(server.address(`/r/${id}`));
  await page.waitForSelector(".rows .row");
  // A running run is followed from the start: the newest row is on the screen.
  await page.getByRole("button", { name: "Follow" }).and(page.locator("[aria-pressed=true]")).waitFor();
  const delays = [];
  for (let number = 0; number < spans; number += 1) {
    const name = `appended-${number}`;
    const shown = page.waitForFunction((wanted) => [...document.querySelectorAll(".rows .row .name")].some((cell) => cell.textContent === wanted) && Date.now(), name, { polling: "raf", timeout: 10_000 });
    await sleep(50);
    const line = JSON.stringify(span(meta.trace_id, existing + 10 + number, name, { "tracer.tool_name": name }));
    await appendFile(log, `${line}\n`);
    const written = Date.now();
    delays.push((await (await shown).jsonValue()) - written);
    await sleep(60);
  }
  await context.close();
  return percentile(delays, 0.95);
}
