// Feature 7: the first sentence says whether the run worked, and a key leads to the first cause.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually, useBrowser } from "../harness/browser.js";
import { openRun, ROWS } from "../harness/pages.js";
import { damaged, empty, failed, looped, ok, running } from "../harness/samples.js";

describe("the verdict", () => {
  useBrowser();

  for (const [run, status, sentence] of [
    [ok, "ok", "Ended ok: lookup_customer → demo-model → search_kb ×2 → send_reply."],
    [failed, "failed", "Failed at #3 refund_api: ValueError: refund API returned 503."],
    [looped, "loop", "Repeated search_kb at least 3 times (#2–#4), then ended ok."],
    [empty, "ok", "Ended ok; no step was recorded."],
    [running, "running", /^Running for .+; the last finished step is #6 send_reply\.$/],
    [damaged, "ok", /A part of it cannot be read\.$/],
  ]) {
    test(`of ${run.name} is reported in one sentence`, async (t) => {
      const { page } = await openRun(t, run);
      await eventually(async () => {
        const reported = await page.locator("#verdict").innerText();
        if (sentence instanceof RegExp) assert.match(reported, sentence);
        else assert.equal(reported, sentence);
      });
      await eventually(async () => assert.equal(await page.locator(".run-head .run-status").innerText(), status));
    });
  }

  test("leads to the step that failed, with its error in full", async (t) => {
    const { page, url } = await openRun(t, failed);
    await page.locator("#first-cause").click();
    await page.waitForURL((address) => address.searchParams.get("at") === "0000000000000004");
    await eventually(async () => assert.match(await page.locator(`${ROWS}[aria-selected=true]`).innerText(), /refund_api/));
    await eventually(async () => assert.match(await page.locator("#inspector").innerText(), /src\/agent\.rs:12/));
    assert.ok(page.url().startsWith(url));
  });
});
