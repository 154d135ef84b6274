// Feature 10: two runs side by side, in the words of `tracer diff`.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openPage, useBrowser } from "../harness/browser.js";
import { ROWS, viewRuns } from "../harness/pages.js";
import { tracer } from "../harness/program.js";
import { looped, ok } from "../harness/samples.js";

describe("comparing two runs", () => {
  useBrowser();

  test("tells before and after, what changed in numbers and in the path", async (t) => {
    const { viewer, ids: [before, after] } = await viewRuns(t, [ok, looped]);
    const page = await openPage(t);
    await page.goto(`${viewer.origin}/diff/${before}/${after}`);
    await page.getByText("escalate_to_human").first().waitFor();
    const told = await page.locator("main").innerText();
    for (const text of [/before/i, /after/i, /send_reply/, /search_kb/, /tool call count/i, /tokens/i]) assert.match(told, text);
  });

  test("tells the same numbers as the terminal", async (t) => {
    const { dataDir, viewer, ids: [before, after] } = await viewRuns(t, [ok, looped]);
    const { stdout } = await tracer(dataDir, "diff", before, after, "--format", "json");
    const answer = await (await fetch(`${viewer.origin}/api/diff?a=${before}&b=${after}`)).json();
    const comparison = JSON.parse(stdout);
    for (const key of Object.keys(comparison).filter((key) => key !== "spec_version")) {
      assert.deepEqual((answer.comparison ?? answer)[key], comparison[key], key);
    }
  });

  test("with a baseline of the project tells what changed since it was kept, and where each call is", async (t) => {
    const { dataDir, viewer, ids: [kept, now] } = await viewRuns(t, [ok, looped]);
    await tracer(dataDir, "baseline", kept, "--out", ".tracer/baselines/support.json");
    const page = await openPage(t);
    await page.goto(`${viewer.origin}/diff/${now}/baseline/support`);
    await page.getByText("escalate_to_human").first().waitFor();
    assert.match(await page.locator(".sides").innerText(), /before[\s\S]*support[\s\S]*after[\s\S]*loop-agent/i);
    await page.getByRole("link", { name: "escalate_to_human" }).click();
    await page.waitForURL((url) => url.pathname === `/r/${now}` && url.searchParams.has("at"));
    await page.locator(`${ROWS}[aria-selected=true]`).filter({ hasText: "escalate_to_human" }).waitFor();
  });

  test("from the page of one of them chooses the other", async (t) => {
    const { viewer, ids: [now, before] } = await viewRuns(t, [ok, looped]);
    const page = await openPage(t);
    await page.goto(`${viewer.origin}/r/${now}?view=compare`);
    await page.getByRole("combobox", { name: /compared with/ }).selectOption(before);
    await page.getByText("escalate_to_human").first().waitFor();
    await page.getByRole("link", { name: "Open as a page" }).click();
    await page.waitForURL(`${viewer.origin}/diff/${before}/${now}`);
  });
});
