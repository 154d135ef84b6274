// Features 2 and 3: rows that say something, as a tree with bars over time and a minimap.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually, useBrowser } from "../harness/browser.js";
import { names, openRun, ROWS } from "../harness/pages.js";
import { large, looped, ok } from "../harness/samples.js";
import { tool } from "../harness/runs.js";

describe("the steps", () => {
  useBrowser();

  test("that differ read differently, and no time that is not zero reads as zero", async (t) => {
    const { page } = await openRun(t, { name: "agent", children: (id) => [1, 2, 3, 4].map((n) =>
      tool(id, n + 1, "search_kb", { query: `question ${n}` }, { hits: n }, { took: [7, 90, 1234, 45_300][n - 1] })) });
    await page.locator(ROWS).filter({ hasText: "question 4" }).waitFor();
    const told = (await page.locator(ROWS).allInnerTexts()).slice(1).map((text) => text.replaceAll(/\s+/g, " "));
    assert.equal(new Set(told.map((text) => text.replace(/^\d+ \+\S+ \S+/, ""))).size, 4);
    for (const duration of ["7 µs", "90 µs", "1.23 ms", "45.3 ms"]) assert.ok(told.some((text) => text.includes(duration)), duration);
    assert.ok(!told.some((text) => /(^| )0 ms/.test(text)));
  });

  test("stand in the step that they are nested in, which folds and unfolds", async (t) => {
    const { page } = await openRun(t, ok);
    const parent = page.locator(ROWS).filter({ hasText: "research" });
    await eventually(async () => assert.equal(await parent.getAttribute("aria-expanded"), "true"));
    const depth = Number(await parent.getAttribute("aria-level"));
    const child = page.locator(ROWS).filter({ hasText: "refund policy" });
    await eventually(async () => assert.equal(await child.getAttribute("aria-level"), String(depth + 1)));
    await parent.locator(".toggle").click();
    await eventually(async () => assert.equal(await parent.getAttribute("aria-expanded"), "false"));
    await eventually(async () => assert.equal(await child.count(), 0));
  });

  test("that repeat themselves are one row that says how many, and unfold", async (t) => {
    const { page } = await openRun(t, looped);
    await eventually(async () => assert.ok((await names(page)).length < 9));
    await eventually(async () => assert.match(await page.locator(".steps").innerText(), /×3/));
    await page.keyboard.press("z");
    await eventually(async () => assert.equal((await names(page)).filter((name) => name === "search_kb").length, 5));
    await page.waitForURL(/fold=0/);
  });

  test("an error among 100,000 spans shows on the minimap, and a key leads to it", async (t) => {
    const { page } = await openRun(t, large(100_000, 61_234));
    await page.waitForFunction(() => document.querySelector(".steps")?.getAttribute("aria-rowcount") > 1_000);
    const hasErrorColour = () => page.locator(".minimap canvas").first().evaluate((canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      for (let at = 0; at < data.length; at += 4) {
        if (data[at] === 0xb4 && data[at + 1] === 0x23 && data[at + 2] === 0x18) return true;
      }
      return false;
    });
    await eventually(async () => assert.ok(await hasErrorColour(), "no pixel of the minimap has the colour of errors"));
    await page.keyboard.press("e");
    const selected = page.locator(`${ROWS}[aria-selected=true]`);
    await selected.waitFor();
    await eventually(async () => assert.match(await selected.innerText(), /Timeout|failed|Error/i));
    await eventually(async () => assert.ok(await page.evaluate(() => document.getElementsByTagName("*").length) < 3_000));
  });

  for (const run of [ok, large(20_000, 3)]) {
    test(`are asked for once, with the page itself: ${run.name}`, async (t) => {
      const { page } = await openRun(t, run);
      assert.equal(page.asked.filter((url) => url.endsWith("/columns")).length, 1);
    });
  }

  test("zoom to a range that is dragged on the minimap, and back", async (t) => {
    const { page } = await openRun(t, large(200, 3));
    const box = await page.locator(".minimap").first().boundingBox();
    await page.mouse.move(box.x + box.width * 0.25, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 10, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/t0=\d+&t1=\d+/);
    await page.keyboard.press("0");
    await page.waitForURL((url) => !url.search.includes("t0"));
  });
});
