// The page of statistics: all runs as a whole and by group, each number a way to the runs behind it.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { clickWhile, eventually, openPage, useBrowser } from "../harness/browser.js";
import { viewRuns } from "../harness/pages.js";
import { writeRun } from "../harness/runs.js";
import { llm, tool } from "../harness/runs.js";
import { failed, looped, ok } from "../harness/samples.js";

const ROW = ".run-row:not(.head):not([hidden])";

/** A run whose model call has a price, and one whose has none. */
const priced = { name: "priced-agent", children: (id) => [llm(id, 2, "gpt-5-mini", "How much?", "Little", [400_000, 10_000])]
  .map((span) => ({ ...span, attributes: { ...span.attributes, "gen_ai.system": "openai" } })) };

async function openStats(t, runs, query = "", options = {}) {
  const opened = await viewRuns(t, runs);
  const page = await openPage(t, options);
  await page.goto(`${opened.viewer.origin}/stats${query}`);
  await page.locator(".stats tbody tr").first().waitFor();
  return { ...opened, page };
}

/** The cells of a group by their headings. */
async function group(page, name) {
  const row = page.locator(".stats tbody tr").filter({ has: page.getByRole("rowheader", { name, exact: true }) });
  const cells = await row.locator("td[data-label]").evaluateAll((all) => all.map((cell) => [cell.dataset.label, cell.textContent]));
  return { row, cells: Object.fromEntries(cells) };
}

const names = (page) => page.locator(".stats tbody th").allInnerTexts();

describe("the page of statistics", () => {
  useBrowser();

  test("counts runs by name, and every number leads to the runs that it counts", async (t) => {
    const { page } = await openStats(t, [ok, ok, failed, looped, priced]);
    await eventually(async () => assert.deepEqual(await names(page), ["All runs", "support-agent", "loop-agent", "priced-agent", "refund-agent"]));
    const { cells } = await group(page, "All runs");
    assert.deepEqual([cells.Runs, cells.Failed, cells.Loops], ["5", "20 %", "1"]);
    for (const [name, column, expected] of [
      ["All runs", "Failed", ["refund-agent"]],
      ["All runs", "Loops", ["loop-agent"]],
      ["support-agent", "Runs", ["support-agent", "support-agent"]],
    ]) {
      const { row } = await group(page, name);
      await row.locator(`td[data-label="${column}"] a`).click();
      await page.locator(ROW).first().waitFor();
      await eventually(async () => assert.deepEqual(await page.locator(`${ROW} .run-name`).allInnerTexts(), expected));
      await page.goBack();
      await page.locator(".stats tbody tr").first().waitFor();
    }
  });

  test("says what is known of a cost and never 0 of what is not", async (t) => {
    const { page } = await openStats(t, [ok, priced], "?by=model");
    await eventually(async () => assert.equal((await group(page, "gpt-5-mini")).cells.Cost, "$0.12"));
    assert.equal((await group(page, "demo-model")).cells.Cost, "?");
    const { row, cells } = await group(page, "All runs");
    assert.equal(cells.Cost, "≥ $0.12");
    assert.match(await row.locator('td[data-label="Cost"]').getAttribute("title"), /at least \$0\.12, 1 of 2 calls has no price/);
  });

  test("groups by kinds, sorts by columns, and keeps both in the address", async (t) => {
    const { page } = await openStats(t, [ok, failed, looped]);
    await page.getByRole("group", { name: "Group by" }).getByRole("button", { name: "Tool" }).click();
    await page.waitForURL(/by=tool/);
    await eventually(async () => assert.ok((await names(page)).includes("search_kb")));
    const head = page.getByRole("columnheader", { name: "p95" });
    await head.getByRole("button").click();
    await page.waitForURL(/sort=p95/);
    await eventually(async () => assert.equal(await head.getAttribute("aria-sort"), "descending"));
    await eventually(async () => assert.equal((await names(page))[1], "lookup_customer"));
    await page.reload();
    await eventually(async () => assert.equal((await names(page))[1], "lookup_customer"));
    await head.getByRole("button").click();
    await page.waitForURL(/reverse=true/);
    await eventually(async () => assert.equal((await names(page)).at(-1), "lookup_customer"));
    await eventually(async () => assert.ok(await head.getByRole("button").evaluate((button) => button === document.activeElement)));
  });

  test("counts only the runs that match, and says why a query cannot be read", async (t) => {
    const { page } = await openStats(t, [ok, failed, looped], "", { allow: /status of 400/ });
    await page.getByRole("searchbox", { name: "Search runs" }).fill("status:failed");
    await eventually(async () => assert.deepEqual(await names(page), ["All runs", "refund-agent"]));
    await page.getByRole("searchbox", { name: "Search runs" }).fill("tol:x");
    await page.getByText(/did you mean `tool`\?/).waitFor();
    await page.getByRole("searchbox", { name: "Search runs" }).fill("name:nobody");
    await page.getByText("No run matches.").waitFor();
  });

  test("leads from the latency of a tool to the runs with such a call, opened at it", async (t) => {
    const calls = (took) => (id) => took.map((time, at) => tool(id, at + 2, "search", {}, {}, { took: time }));
    const { page, ids } = await openStats(t, [
      { name: "fast-agent", children: calls([100, 120, 130]) },
      { name: "slow-agent", children: calls([110, 90_000, 95]) },
    ], "?by=tool");
    const { row } = await group(page, "search");
    await row.locator('td[data-label="p95"] a').click();
    await page.waitForURL((url) => url.pathname === "/");
    await eventually(async () => {
      const shown = await page.locator("main").innerText();
      assert.deepEqual(await page.locator(`${ROW} .run-name`).allInnerTexts(), ["slow-agent"], `the page says:\n${shown}`);
    });
    await page.locator(`${ROW} .run-name`).click();
    await page.waitForURL((url) => url.pathname === `/r/${ids[1]}` && url.searchParams.get("at") === "0000000000000003");
    assert.match(await page.getByRole("searchbox", { name: "Find in run" }).inputValue(), /^tool:search duration>=/);
  });

  test("a number that is clicked while it is counted anew leads to its runs", async (t) => {
    const { dataDir, page } = await openStats(t, [ok, failed]);
    const { row } = await group(page, "All runs");
    const number = row.locator('td[data-label="Runs"] a');
    await eventually(async () => assert.equal(await number.innerText(), "2"));
    await clickWhile(page, number, "**/api/stats?**", () => writeRun(dataDir, looped));
    await page.waitForURL((url) => url.pathname === "/");
  });

  test("is reached and read without a mouse", async (t) => {
    const { page } = await openStats(t, [ok, failed]);
    await page.goto((await page.evaluate(() => location.origin)) + "/");
    await page.locator(ROW).first().waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("s");
    await page.waitForURL(/\/stats$/);
    await page.locator(".stats tbody tr").first().waitFor();
    await page.keyboard.press("j");
    const focused = () => page.evaluate(() => document.activeElement?.closest("td, th")?.textContent);
    const row = () => page.evaluate(() => document.activeElement?.closest("tr")?.rowIndex);
    await eventually(async () => assert.equal(await row(), 2));
    await page.keyboard.press("ArrowRight");
    await eventually(async () => assert.equal(await focused(), "1"));
    await page.keyboard.press("ArrowUp");
    await eventually(async () => assert.equal(await row(), 1));
    await page.keyboard.press("b");
    await page.waitForURL(/by=model/);
    await page.keyboard.press("Enter");
    await page.locator(ROW).first().waitFor();
  });

  test("takes up runs as they are recorded", async (t) => {
    const { page, dataDir } = await openStats(t, [ok]);
    await eventually(async () => assert.equal((await group(page, "All runs")).cells.Runs, "1"));
    await writeRun(dataDir, { name: "new-agent", children: (id) => [tool(id, 2, "search", {}, {})] });
    await eventually(async () => assert.ok((await names(page)).includes("new-agent")));
  });

  test("shows a part of very many groups, and more when asked", async (t) => {
    const runs = Array.from({ length: 130 }, (_, number) => ({ name: `agent-${String(number).padStart(3, "0")}` }));
    const { page } = await openStats(t, runs);
    await eventually(async () => assert.equal((await names(page)).length, 61));
    await eventually(async () => assert.ok(await page.evaluate(() => document.getElementsByTagName("*").length) < 3_000));
    await page.getByRole("button", { name: "Show 60 of 70 more groups" }).click();
    await eventually(async () => assert.equal((await names(page)).length, 121));
  });
});
