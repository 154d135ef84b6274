// Features 8 and 9: a running run grows on the screen, and one whose process was killed says so.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { appendFile } from "node:fs/promises";
import path from "node:path";
import { eventually, openPage, useBrowser } from "../harness/browser.js";
import { names, openRun, ROWS } from "../harness/pages.js";
import { firstLine, start, temporaryFolder } from "../harness/program.js";
import { tool } from "../harness/runs.js";
import { damaged, large, ok, running } from "../harness/samples.js";
import { view } from "../harness/viewer.js";

/** Starts a real agent that is in a call, and opens its page. */
async function watched(t) {
  const dataDir = await temporaryFolder(t);
  const agent = start(t, "traced", ["wait"], dataDir);
  await firstLine(agent);
  const viewer = await view(t, dataDir);
  const page = await openPage(t);
  const { runs } = await (await fetch(`${viewer.origin}/api/runs`, { headers: viewer.headers })).json();
  await page.goto(`${viewer.origin}/r/${runs[0].trace_id}`);
  await page.locator("#verdict").waitFor();
  return { agent, page };
}

describe("a run that goes on", () => {
  useBrowser();

  test("of a real agent shows the call that it is in", async (t) => {
    const { page } = await watched(t);
    await eventually(async () => assert.equal(await page.locator(".run-head .run-status").innerText(), "running"));
    await eventually(async () => assert.match(await page.locator("#verdict").innerText(), /^Running for .+; now in #\d+ /));
  });

  test("of a real agent ends on the screen when it ends, and its call is reported in full", async (t) => {
    const { agent, page } = await watched(t);
    const inFlight = page.locator(ROWS).filter({ hasText: "gpt-5" }).filter({ hasText: "in flight" });
    await inFlight.waitFor();
    agent.stdin.write("\n");
    await page.locator(".run-head .run-status", { hasText: "ok" }).waitFor();
    await inFlight.waitFor({ state: "hidden" });
    await eventually(async () => assert.deepEqual(await names(page), ["waiting", "before", "gpt-5"]));
    await eventually(async () => assert.match(await page.locator("#verdict").innerText(), /^Ended ok/));
  });

  test("is followed to its newest step, until one scrolls back", async (t) => {
    const { page, dataDir, id } = await openRun(t, { ...large(300, -1), status: "running" }, { query: "?fold=0" });
    const log = path.join(dataDir, "runs", id, "spans.jsonl");
    const append = (number) => appendFile(log, `${JSON.stringify(tool(id, number, `appended_${number}`, { n: number }, "done"))}\n`);
    const follow = page.getByRole("button", { name: "Follow" });
    await follow.and(page.locator("[aria-pressed=true]")).waitFor();
    await append(400);
    await page.locator(ROWS).filter({ hasText: "appended_400" }).waitFor();
    await page.locator(".steps").evaluate((steps) => { steps.scrollTop = 0; });
    await follow.and(page.locator("[aria-pressed=false]")).waitFor();
    const rows = await page.locator(".steps").getAttribute("aria-rowcount");
    await append(401);
    await page.waitForFunction((before) => document.querySelector(".steps").getAttribute("aria-rowcount") !== before, rows);
    assert.equal(await page.locator(".steps").evaluate((steps) => steps.scrollTop), 0);
    await page.keyboard.press("F");
    await page.locator(ROWS).filter({ hasText: "appended_401" }).waitFor();
  });

  test("killed with kill -9 while it is watched is reported as interrupted, with what it was in", async (t) => {
    const { agent, page } = await watched(t);
    agent.kill("SIGKILL");
    await page.locator(".run-head .run-status", { hasText: "interrupted" }).waitFor();
    await eventually(async () => assert.match(await page.locator("#verdict").innerText(), /^Interrupted: its process is gone; it was in #\d+ /));
  });

  test("grows by its new spans, without being read or built again", async (t) => {
    const { page, dataDir, id } = await openRun(t, running);
    await page.locator(ROWS).filter({ hasText: "send_reply" }).waitFor();
    await page.evaluate(() => { globalThis.kept = document.querySelector(".steps .rows .row"); });
    const before = page.asked.length;
    const line = JSON.stringify(tool(id, 20, "appended_tool", { n: 1 }, "done"));
    const log = path.join(dataDir, "runs", id, "spans.jsonl");
    await appendFile(log, line.slice(0, 100));
    await appendFile(log, `${line.slice(100)}\n`);
    await page.locator(ROWS).filter({ hasText: "appended_tool" }).waitFor();
    await eventually(async () => assert.ok(await page.evaluate(() => globalThis.kept.isConnected)));
    assert.ok(!page.asked.slice(before).some((url) => url.endsWith("/columns") || url.endsWith("/spans")), "only what is new is asked for");
  });

  test("that is damaged shows what can be read, and the lines that cannot", async (t) => {
    const { page } = await openRun(t, damaged);
    for (const text of [/cannot be read/, /spans\.jsonl:2/, /spans\.jsonl:5/]) {
      await eventually(async () => assert.match(await page.locator("body").innerText(), text));
    }
    await eventually(async () => assert.ok(await page.locator(ROWS).filter({ hasText: "lookup_customer" }).count() === 1));
  });

  test("whose viewer stops keeps what is shown and says so", async (t) => {
    const { page, viewer } = await openRun(t, ok, { allow: /ERR_CONNECTION|Failed to load|net::/ });
    viewer.child.kill("SIGKILL");
    await page.getByText(/stopped or cannot be reached/).waitFor();
    await eventually(async () => assert.ok(await page.locator(ROWS).count() > 3));
  });
});
