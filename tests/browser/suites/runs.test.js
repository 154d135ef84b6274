// Feature 1: all runs in one table, searched, filtered and sorted, with its state in the address.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { useBrowser } from "../harness/browser.js";
import { openRuns } from "../harness/pages.js";
import { writeRun } from "../harness/runs.js";
import { damaged, failed, looped, ok, running } from "../harness/samples.js";

const ROW = ".run-row:not(.head):not([hidden])";
const rowNames = (page) => page.locator(`${ROW} .run-name`).allInnerTexts();
const all = [ok, failed, looped, running, damaged];

describe("the table of runs", () => {
  useBrowser();

  test("tells of each run how it stands, what it was asked, and what it cost", async (t) => {
    const { page } = await openRuns(t, all);
    const row = page.locator(ROW).filter({ hasText: "support-agent" });
    await row.getByText("Where is my refund?").waitFor();
    assert.match(await row.innerText(), /ok/);
    assert.match(await row.innerText(), /231/);
    assert.match(await page.locator(ROW).filter({ hasText: "refund-agent" }).innerText(), /failed/);
    assert.match(await page.locator(ROW).filter({ hasText: "loop-agent" }).innerText(), /loop/);
  });

  test("filters by words and by standing, and a reload shows the same", async (t) => {
    const { page } = await openRuns(t, all);
    await page.getByRole("searchbox", { name: "Search runs" }).fill("refund-agent");
    assert.deepEqual(await rowNames(page), ["refund-agent"]);
    await page.reload();
    await page.locator(ROW).first().waitFor();
    assert.deepEqual(await rowNames(page), ["refund-agent"]);
    await page.getByRole("searchbox", { name: "Search runs" }).fill("");
    await page.getByRole("group", { name: "Status" }).getByRole("button", { name: /loop/ }).click();
    assert.deepEqual(await rowNames(page), ["loop-agent"]);
    assert.match(page.url(), /status=loop/);
  });

  test("says what hides all runs and shows them again", async (t) => {
    const { page } = await openRuns(t, all);
    await page.getByRole("searchbox", { name: "Search runs" }).fill("no such run");
    assert.match(await page.locator(".empty").innerText(), /No run matches “no such run”; 5 are hidden/);
    await page.getByRole("button", { name: "Show all" }).click();
    assert.equal(await page.locator(ROW).count(), 5);
  });

  test("sorts by every column, both ways", async (t) => {
    const { page } = await openRuns(t, all);
    for (const column of ["Status", "Run", "Started", "Duration", "Steps", "Tokens"]) {
      const head = page.getByRole("columnheader", { name: new RegExp(`^${column}`) });
      await head.getByRole("button").click();
      const first = await head.getAttribute("aria-sort");
      await head.getByRole("button").click();
      const second = await head.getAttribute("aria-sort");
      assert.deepEqual([first, second].sort(), ["ascending", "descending"], column);
    }
    await page.getByRole("columnheader", { name: /^Run/ }).getByRole("button").click();
    assert.deepEqual(await rowNames(page), ["damaged-agent", "loop-agent", "other-emitters-agent", "refund-agent", "support-agent"]);
  });

  test("has every one of 5,000 runs, and elements for those on the screen only", async (t) => {
    const runs = Array.from({ length: 5_000 }, (_, number) => ({ name: `agent-${String(number).padStart(4, "0")}` }));
    const { page } = await openRuns(t, runs);
    assert.equal(await page.getByRole("grid", { name: "Runs" }).getAttribute("aria-rowcount"), "5001");
    assert.ok(await page.evaluate(() => document.getElementsByTagName("*").length) < 3_000);
    await page.getByRole("searchbox", { name: "Search runs" }).fill("agent-4321");
    assert.deepEqual(await rowNames(page), ["agent-4321"]);
  });

  test("without any run says how to record one, and fills by itself", async (t) => {
    const { page, dataDir } = await openRuns(t, []);
    await page.getByText("tracer demo").first().waitFor();
    await writeRun(dataDir, ok);
    await page.locator(ROW).filter({ hasText: "support-agent" }).waitFor();
    assert.equal(await page.locator(ROW).count(), 1);
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
