// Feature 1: all runs in one table, searched, filtered and sorted, with its state in the address.
import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { clickWhile, eventually, openPage, useBrowser } from "../harness/browser.js";
import { openRuns, viewRuns } from "../harness/pages.js";
import { temporaryFolder, tracer } from "../harness/program.js";
import { llm, tool, writeRun } from "../harness/runs.js";
import { damaged, failed, looped, ok, running } from "../harness/samples.js";
import { view } from "../harness/viewer.js";

const ROW = ".run-row:not(.head):not([hidden])";
const rowNames = (page) => page.locator(`${ROW} .run-name`).allInnerTexts();
const all = [ok, failed, looped, running, damaged];

describe("the table of runs", () => {
  useBrowser();

  test("tells of each run how it stands, what it was asked, and what it cost", async (t) => {
    const { page } = await openRuns(t, all);
    const row = page.locator(ROW).filter({ hasText: "support-agent" });
    await row.getByText("Where is my refund?").waitFor();
    await eventually(async () => assert.match(await row.innerText(), /ok/));
    await eventually(async () => assert.match(await row.innerText(), /231/));
    await eventually(async () => assert.match(await page.locator(ROW).filter({ hasText: "refund-agent" }).innerText(), /failed/));
    await eventually(async () => assert.match(await page.locator(ROW).filter({ hasText: "loop-agent" }).innerText(), /loop/));
  });

  test("filters by words and by status, and a reload shows the same", async (t) => {
    const { page } = await openRuns(t, all);
    await page.getByRole("searchbox", { name: "Search runs" }).fill("refund-agent");
    await eventually(async () => assert.deepEqual(await rowNames(page), ["refund-agent"]));
    await page.reload();
    await page.locator(ROW).first().waitFor();
    await eventually(async () => assert.deepEqual(await rowNames(page), ["refund-agent"]));
    await page.getByRole("searchbox", { name: "Search runs" }).fill("");
    await page.getByRole("group", { name: "Status" }).getByRole("button", { name: /loop/ }).click();
    await eventually(async () => assert.deepEqual(await rowNames(page), ["loop-agent"]));
    await page.waitForURL(/status=loop/);
  });

  test("says what hides all runs and shows them again", async (t) => {
    const { page } = await openRuns(t, all);
    await page.getByRole("searchbox", { name: "Search runs" }).fill("no such run");
    await eventually(async () => assert.match(await page.locator(".empty").innerText(), /No run matches “no such run”; 5 are hidden/));
    await page.getByRole("button", { name: "Show all" }).click();
    await eventually(async () => assert.equal(await page.locator(ROW).count(), 5));
  });

  test("sorts by every column, both ways", async (t) => {
    const { page } = await openRuns(t, all, { viewport: { width: 1600, height: 800 } });
    for (const column of ["Status", "Run", "Started", "Duration", "Steps", "Tokens", "Cost", "Model", "Tools"]) {
      const head = page.getByRole("columnheader", { name: new RegExp(`^${column}`) });
      const sorting = () => head.getAttribute("aria-sort");
      await head.getByRole("button").click();
      const first = await eventually(async () => {
        const order = await sorting();
        assert.ok(order === "ascending" || order === "descending", column);
        return order;
      });
      await head.getByRole("button").click();
      await eventually(async () => assert.equal(await sorting(), first === "ascending" ? "descending" : "ascending", column));
    }
    await page.getByRole("columnheader", { name: /^Run/ }).getByRole("button").click();
    await eventually(async () => assert.deepEqual(await rowNames(page), ["damaged-agent", "loop-agent", "other-emitters-agent", "refund-agent", "support-agent"]));
  });

  test("shows what each run cost, as far as that is known, and leads to the runs with its model or tool", async (t) => {
    const priced = { name: "priced-agent", children: (id) => [llm(id, 2, "gpt-5-mini", "How much?", "Little", [400_000, 10_000])]
      .map((span) => ({ ...span, attributes: { ...span.attributes, "gen_ai.system": "openai" } })) };
    const { page } = await openRuns(t, [ok, priced, failed], { viewport: { width: 1600, height: 800 } });
    const cell = (name, column) => page.locator(ROW).filter({ hasText: name }).locator(`.${column}`);
    await eventually(async () => assert.equal(await cell("priced-agent", "cost-cell").innerText(), "$0.12"));
    assert.equal(await cell("support-agent", "cost-cell").innerText(), "?");
    assert.equal(await cell("support-agent", "cost-cell").getAttribute("title"), "cost unknown");
    assert.match(await cell("support-agent", "tool-cell").innerText(), /search_kb\s*\+2/);
    await page.getByRole("columnheader", { name: /^Cost/ }).getByRole("button").click();
    await page.waitForURL(/sort=-cost/);
    await eventually(async () => assert.equal((await rowNames(page))[0], "priced-agent"));
    await cell("support-agent", "tool-cell").getByRole("button").click();
    await page.waitForURL(/q=tool/);
    await eventually(async () => assert.deepEqual((await rowNames(page)).sort(), ["refund-agent", "support-agent"]));
    await page.getByRole("searchbox", { name: "Search runs" }).fill("cost>0.05");
    await eventually(async () => assert.deepEqual(await rowNames(page), ["priced-agent"]));
  });

  test("has every one of 5,000 runs, and elements for those on the screen only", async (t) => {
    const runs = Array.from({ length: 5_000 }, (_, number) => ({ name: `agent-${String(number).padStart(4, "0")}` }));
    const { page } = await openRuns(t, runs);
    await eventually(async () => assert.equal(await page.getByRole("grid", { name: "Runs" }).getAttribute("aria-rowcount"), "5001"));
    await eventually(async () => assert.ok(await page.evaluate(() => document.getElementsByTagName("*").length) < 3_000));
    await page.getByRole("searchbox", { name: "Search runs" }).fill("agent-4321");
    await eventually(async () => assert.deepEqual(await rowNames(page), ["agent-4321"]));
  });

  test("finds runs by what they did, over all of them, and keeps the question in the address", async (t) => {
    const runs = Array.from({ length: 700 }, (_, number) => ({
      name: `agent-${String(number).padStart(3, "0")}`,
      children: (id) => Array.from({ length: number === 7 ? 9 : 1 }, (_, call) => tool(id, call + 2, number % 100 === 7 ? "refund_api" : "search", {}, {})),
    }));
    const { page, viewer } = await openRuns(t, runs);
    const search = page.getByRole("searchbox", { name: "Search runs" });
    const rowCount = () => page.getByRole("grid", { name: "Runs" }).getAttribute("aria-rowcount");
    await search.fill("tool:refund_api tool_calls>5");
    await eventually(async () => assert.deepEqual(await rowNames(page), ["agent-007"]));
    await search.fill("tool:refund_api");
    await eventually(async () => assert.equal(await rowCount(), "8"));
    await page.waitForURL(/q=tool/);
    await page.goto(`${viewer.origin}/?q=-tool:refund_api&sort=name`);
    await eventually(async () => assert.equal(await rowCount(), "694"));
    await eventually(async () => assert.equal((await rowNames(page))[0], "agent-000"));
    await page.keyboard.press("End");
    await page.locator(ROW).filter({ hasText: "agent-699" }).waitFor();
  });

  test("says why a question cannot be read, and suggests another", async (t) => {
    const { page } = await openRuns(t, all, { allow: /status of 400/ });
    await page.getByRole("searchbox", { name: "Search runs" }).fill("tol:search");
    await page.getByText(/did you mean `tool`\?/).waitFor();
    await page.getByRole("searchbox", { name: "Search runs" }).fill("");
    await eventually(async () => assert.equal(await page.locator(ROW).count(), 5));
    await eventually(async () => assert.ok(!(await page.locator(".filter-note").isVisible())));
  });

  test("puts the runs of a conversation together", async (t) => {
    const chat = (name, session) => ({
      name,
      lines: (lines) => lines.map((line) => line.replace('"tracer.run_name"', `"session.id":"${session}","tracer.run_name"`)),
    });
    const { page, viewer } = await openRuns(t, [chat("one", "chat-1"), chat("two", "chat-2"), chat("three", "chat-1"), ok]);
    await eventually(async () => assert.equal(await page.locator(`${ROW} .thread:visible`).count(), 2));
    await page.getByRole("button", { name: "Group threads" }).click();
    await page.waitForURL(/group=thread/);
    await eventually(async () => {
      const names = await rowNames(page);
      assert.equal(Math.abs(names.indexOf("one") - names.indexOf("three")), 1);
    });
    await page.goto(viewer.origin);
    await page.locator(`${ROW} .thread:visible`).first().click();
    await eventually(async () => assert.deepEqual((await rowNames(page)).sort(), ["one", "three"]));
  });

  test("without any run says how to record one, and fills by itself", async (t) => {
    const { page, dataDir } = await openRuns(t, []);
    await page.getByText("tracer demo").first().waitFor();
    await writeRun(dataDir, ok);
    await page.locator(ROW).filter({ hasText: "support-agent" }).waitFor();
    await eventually(async () => assert.equal(await page.locator(ROW).count(), 1));
  });

  test("says why the runs cannot be listed, and lists them when they can", async (t) => {
    const dataDir = await temporaryFolder(t);
    await writeFile(path.join(dataDir, "runs"), "no directory");
    const viewer = await view(t, dataDir);
    const page = await openPage(t, { allow: /status of 500/ });
    await page.goto(`${viewer.origin}/`);
    await page.getByText("The runs cannot be listed.").waitFor();
    // A lost connection is reported after a moment.
    await page.waitForTimeout(2_000);
    assert.equal(await page.getByText("cannot be reached").count(), 0);
    await rm(path.join(dataDir, "runs"));
    await writeRun(dataDir, ok);
    await page.locator(ROW).filter({ hasText: "support-agent" }).waitFor();
    await eventually(async () => assert.ok(!(await page.getByText("The runs cannot be listed.").isVisible())));
  });

  test("knows of a run that was recorded before it listened, and of one while its tab was hidden", async (t) => {
    const { dataDir, viewer } = await viewRuns(t, [ok]);
    const page = await openPage(t);
    await page.route("**/api/stream*", async (route) => {
      await writeRun(dataDir, failed);
      await route.fallback();
    }, { times: 1 });
    await page.goto(`${viewer.origin}/`);
    await page.locator(ROW).filter({ hasText: "refund-agent" }).waitFor();
    const setHidden = (hidden) => page.evaluate((value) => {
      Object.defineProperty(document, "hidden", { configurable: true, value });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
    await setHidden(true);
    await writeRun(dataDir, looped);
    await setHidden(false);
    await page.locator(ROW).filter({ hasText: "loop-agent" }).waitFor();
  });

  test("opens the run that was pressed, though another takes its place meanwhile", async (t) => {
    const { dataDir, ids, page } = await openRuns(t, [failed, ok], { query: "?sort=name" });
    const row = page.locator(ROW).filter({ hasText: "refund-agent" });
    await row.waitFor();
    await clickWhile(page, row, "**/api/table?**", () => writeRun(dataDir, looped));
    await page.waitForURL(`**/r/${ids[0]}*`);
  });

  test("shows which runs are from a bucket, and from which", async (t) => {
    const [colleague, own, bucket] = [await temporaryFolder(t), await temporaryFolder(t), await temporaryFolder(t)];
    const url = `file://${bucket}`;
    const id = await writeRun(colleague, ok);
    await tracer(colleague, "push", "--all", "--to", url);
    await writeRun(own, failed);
    const { origin } = await view(t, own, "--store", url);
    const page = await openPage(t);
    await page.goto(`${origin}/`);
    const row = (name) => page.locator(ROW).filter({ hasText: name });
    await row("support-agent").getByText(bucket, { exact: true }).waitFor();
    await eventually(async () => assert.ok(await row("refund-agent").locator(".origin").isHidden()));
    await row("support-agent").locator(".run-name").click();
    await page.waitForURL(new RegExp(`/r/${id}`));
    await page.locator("#run-head").getByText(`from ${url}`, { exact: true }).waitFor();
  });

  test("renames a run, deletes one, and gives it back", async (t) => {
    const { page } = await openRuns(t, [ok, failed]);
    const open = async (name, item) => {
      await page.getByRole("button", { name: `More for ${name}` }).click();
      await page.getByRole("menuitem", { name: item }).click();
    };
    await open("support-agent", "Rename");
    await page.getByRole("dialog").getByRole("textbox").fill("first agent");
    await page.keyboard.press("Enter");
    await page.locator(ROW).filter({ hasText: "first agent" }).waitFor();
    await open("first agent", "Delete");
    await page.waitForFunction((selector) => document.querySelectorAll(selector).length === 1, ROW);
    await page.getByRole("button", { name: "Undo" }).click();
    await page.waitForFunction((selector) => document.querySelectorAll(selector).length === 2, ROW);
  });
});
