// Feature 12: an address holds the whole view and works in a browser that has never seen the page.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually, holdAnswers, openPage, useBrowser } from "../harness/browser.js";
import { openRun, ROWS, viewRuns } from "../harness/pages.js";
import { failed, large, ok } from "../harness/samples.js";

describe("addresses", () => {
  useBrowser();

  test("a cold link opens the exact step, selected and on the screen", async (t) => {
    const { page } = await openRun(t, large(20_000, 5), { query: "?at=0000000000003039&fold=0" });
    const selected = page.locator(`${ROWS}[aria-selected=true]`);
    await selected.waitFor();
    await eventually(async () => assert.ok(await selected.evaluate((row) => {
      const { top, bottom } = row.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight;
    })));
    await eventually(async () => assert.match(await page.locator("#inspector").innerText(), /12345/));
  });

  for (const [what, query, asked, text] of [
    ["a link to a step", "?at=0000000000000002", "/steps/", ""],
    ["a link to the steps that are searched for", "?q=search_kb", "/search?", "1 hit"],
  ]) {
    test(`${what} does not lead away from where the reader went meanwhile`, async (t) => {
      const { viewer, ids: [id] } = await viewRuns(t, [failed]);
      const page = await openPage(t);
      const letAnswer = await holdAnswers(page, (url) => url.href.includes(asked));
      // The page may give its question up, or drop the answer.
      const isAsked = (request) => request.url().includes(asked);
      const settled = Promise.race(["requestfinished", "requestfailed"].map((event) => page.waitForEvent(event, isAsked)));
      await page.goto(`${viewer.origin}/r/${id}${query}`);
      await page.locator(ROWS).first().waitFor();
      await page.keyboard.press("e");
      letAnswer();
      await settled;
      await page.locator("#tools output").filter({ hasText: text }).waitFor({ state: "attached" });
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
      assert.match(await page.locator(`${ROWS}[aria-selected=true]`).innerText(), /refund_api/);
    });
  }

  test("the view, the filter and the selection are in the address, and going back returns", async (t) => {
    const { page } = await openRun(t, ok);
    await page.locator(ROWS).filter({ hasText: "lookup_customer" }).click();
    await page.waitForURL(/at=0000000000000002/);
    await page.keyboard.press("2");
    await page.waitForURL(/view=transcript/);
    await page.goBack();
    await page.waitForURL((url) => !url.search.includes("view="));
    await page.waitForURL(/at=0000000000000002/);
  });

  test("a unique prefix leads to the run, one that fits two lets choose, an unknown one says so", async (t) => {
    const first = "abcdef01".padEnd(32, "0");
    const second = "abcdef02".padEnd(32, "0");
    const { viewer } = await viewRuns(t, [{ ...ok, id: first }, { ...ok, id: second }]);
    const page = await openPage(t, { allow: /404|300/ });
    await page.goto(`${viewer.origin}/r/abcdef01`);
    await page.waitForURL(`**/r/${first}`);
    await page.goto(`${viewer.origin}/r/abcdef0`);
    await eventually(async () => assert.equal(await page.locator(`a[href*="${first}"], a[href*="${second}"]`).count(), 2));
    const answer = await page.goto(`${viewer.origin}/r/ffffff99`);
    assert.equal(answer.status(), 404);
    await eventually(async () => assert.match(await page.locator("body").innerText(), /ffffff99/));
    await page.goto(`${viewer.origin}/?run_id=${first}`);
    await page.waitForURL(`**/r/${first}`);
  });

  test("the copy menu gives the link, the command, the place in the file, a text for a model and JSON", async (t) => {
    const { page, id } = await openRun(t, ok, { permissions: ["clipboard-read", "clipboard-write"] });
    await page.locator(ROWS).filter({ hasText: "lookup_customer" }).click();
    await page.waitForURL(/at=0000000000000002/);
    const copied = async (item, message) => {
      await page.keyboard.press("y");
      await page.getByRole("menuitem", { name: item }).click();
      await page.locator("#toasts").getByText(message).waitFor();
      return page.evaluate(() => navigator.clipboard.readText());
    };
    assert.match(await copied("Copy the link", "Link copied"), new RegExp(`/r/${id}\\?at=0000000000000002`));
    assert.equal(await copied("Copy the command", "Command copied"), `tracer show ${id.slice(0, 8)} --step 1`);
    assert.match(await copied("Copy file and line", "Place copied"), /spans\.jsonl:1$/);
    assert.match(await copied("Copy for a model", "Step copied as text"), /step 1 of 6: .*lookup_customer[\s\S]*cust_1042/);
    assert.equal(JSON.parse(await copied("Copy this step as JSON", "Step copied as JSON")).name, "lookup_customer");
  });
});
