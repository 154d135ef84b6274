// Feature 11: finding in a run of any size, by words and by what steps are.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually, holdAnswers, useBrowser } from "../harness/browser.js";
import { openRun, ROWS } from "../harness/pages.js";
import { failed, large, ok } from "../harness/samples.js";

const find = (page) => page.getByRole("searchbox", { name: /find/i });
const reported = (page, text) => page.locator("#tools output").filter({ hasText: text });
const selected = (page) => page.locator(`${ROWS}[aria-selected=true]`);

describe("finding in a run", () => {
  useBrowser();

  test("walks from hit to hit and says how many there are", async (t) => {
    const { page } = await openRun(t, ok);
    await find(page).fill("refund");
    await reported(page, "3 hits").waitFor();
    const seen = new Set();
    for (let hit = 0; hit < 3; hit += 1) {
      await page.keyboard.press(hit === 0 ? "Enter" : "n");
      await reported(page, `${hit + 1}/3`).waitFor();
      seen.add(await selected(page).getAttribute("aria-rowindex"));
    }
    assert.equal(seen.size, 3);
    await page.waitForURL((url) => url.searchParams.get("q") === "refund");
  });

  for (const [query, expected] of [["kind:llm", /demo-model/], ["name:send_reply", /send_reply/], ["kind:tool duration>40ms", /lookup_customer/]]) {
    test(`understands ${query}`, async (t) => {
      const { page } = await openRun(t, ok);
      await find(page).fill(query);
      await page.keyboard.press("Enter");
      await reported(page, "1/1").waitFor();
      await selected(page).waitFor();
      await eventually(async () => assert.match(await selected(page).innerText(), expected));
    });
  }

  test("leads nowhere when it answers late: the step that was selected meanwhile stays", async (t) => {
    const { page } = await openRun(t, failed);
    await selected(page).filter({ hasText: "refund_api" }).waitFor();
    const letAnswer = await holdAnswers(page, "**/search?**");
    await find(page).fill("search_kb");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    await page.keyboard.press("e");
    letAnswer();
    await reported(page, "1 hit").waitFor();
    // The error after the cause, at which the run was opened.
    assert.match(await selected(page).innerText(), /^4\s[\s\S]*ValueError/);
  });

  test("finds the one failure among 100,000 spans", async (t) => {
    const { page } = await openRun(t, large(100_000, 77_000));
    await find(page).fill("status:failed");
    await page.keyboard.press("Enter");
    await reported(page, "1/1").waitFor();
    await selected(page).waitFor();
    await eventually(async () => assert.equal(Number((await selected(page).locator(".number").innerText()).replaceAll(/\D/g, "")), 77_001));
  });
});
