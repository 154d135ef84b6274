// A run exported as one HTML file: it opens from the disk, asks for nothing, and reads with scripts off.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { stat } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { assertAccessible, LOOKS } from "../harness/axe.js";
import { eventually, openPage, useBrowser } from "../harness/browser.js";
import { HOSTILE } from "../harness/hostile.js";
import { temporaryFolder, tracer } from "../harness/program.js";
import { llm, span, tool, writeRun } from "../harness/runs.js";

/** Exports a run and gives the address of the page. */
async function exported(t, run) {
  const dataDir = await temporaryFolder(t);
  const id = await writeRun(dataDir, run);
  const file = path.join(dataDir, "run.html");
  await tracer(dataDir, "export", id, "--format", "html", "--out", file);
  return { id, file, url: pathToFileURL(file).href };
}

const thousand = {
  name: "support-agent",
  children: (id) => Array.from({ length: 999 }, (_, index) => {
    const number = index + 2;
    return number % 10 === 0
      ? llm(id, number, "demo-model", `Question ${number}?`, `Answer ${number}.\n\n- a\n- b`)
      : tool(id, number, "search_kb", { query: `refund ${number}` }, { hits: number });
  }),
};

describe("the exported page", () => {
  useBrowser();

  test("of a thousand spans opens from the disk and asks for nothing", async (t) => {
    const { url, file } = await exported(t, thousand);
    const page = await openPage(t);
    await page.goto(url);
    await eventually(async () => assert.equal(await page.locator(".step").count(), 999));
    assert.deepEqual(page.asked, [url]);
    assert.ok((await stat(file)).size < 4 << 20);
  });

  test("reads with scripts off: what happened, every step, its folds", async (t) => {
    const { url } = await exported(t, thousand);
    const page = await openPage(t, { javaScriptEnabled: false });
    await page.goto(url);
    await eventually(async () => assert.match(await page.locator(".sentence").innerText(), /^Ended ok/));
    await eventually(async () => assert.equal(await page.locator(".tools").isVisible(), false));
    const step = page.locator("#step-9");
    await eventually(async () => assert.equal(await step.locator(".inside").isVisible(), false));
    await step.locator("summary").first().click();
    await eventually(async () => assert.match(await step.locator(".inside").innerText(), /Question 10\?/));
  });

  test("finds steps, folds them, and follows a link to one", async (t) => {
    const { url } = await exported(t, thousand);
    const page = await openPage(t);
    await page.goto(`${url}#step-500`);
    await eventually(async () => assert.equal(await page.locator("#step-500 .inside").isVisible(), true));
    await page.getByRole("searchbox").fill("refund 777");
    await eventually(async () => assert.equal(await page.locator(".step:visible").count(), 1));
    await eventually(async () => assert.equal(await page.locator("output").innerText(), "1 of 999 steps"));
    await page.getByRole("button", { name: "Unfold all" }).click();
    await eventually(async () => assert.match(await page.locator(".step:visible .inside").innerText(), /hits\s+777/));
  });

  test("has no violation of axe in both themes and three widths, folded and unfolded", async (t) => {
    const { url } = await exported(t, {
      name: "support-agent", status: "error", failure: { type: "ValueError", message: "refund API returned 503", stack: "at main\nat run" },
      children: (id) => [
        tool(id, 2, "search_kb", { query: "refund", tags: ["a", "b"] }, { hits: 2, text: "line\nline" }),
        llm(id, 3, "demo-model", "Where is my refund?", "# Answer\n\nIt is **here**.\n\n```rust\nlet a = 1;\n```"),
        span(id, 4, "plan", { "my.note": "kept" }),
      ],
    });
    for (const look of LOOKS) {
      const page = await openPage(t, look);
      await page.goto(url);
      await assertAccessible(page, `${look.colorScheme} ${look.viewport.width}, folded`);
      await page.getByRole("button", { name: "Unfold all" }).click();
      await assertAccessible(page, `${look.colorScheme} ${look.viewport.width}, unfolded`);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(overflow, 0, `sideways scrolling at ${look.viewport.width}`);
    }
  });

  test("shows hostile content and does nothing that it says", async (t) => {
    const { url } = await exported(t, {
      name: HOSTILE[0],
      children: (id) => HOSTILE.flatMap((text, index) => [
        tool(id, 2 + 3 * index, text.slice(0, 200) || "x", { [text.slice(0, 100)]: text }, text),
        llm(id, 3 + 3 * index, "demo-model", text, text),
        span(id, 4 + 3 * index, text.slice(0, 200), { note: text }),
      ]),
    });
    const page = await openPage(t);
    await page.goto(url);
    const title = await page.title();
    await page.getByRole("button", { name: "Unfold all" }).click();
    assert.equal(await page.title(), title);
    assert.ok(title.startsWith("<script>"), "the run's name as it is, in words");
    await eventually(async () => assert.equal(await page.locator("main :is(iframe, img, object, a, .steps script)").count(), 0));
    assert.deepEqual(page.asked, [url]);
  });
});
