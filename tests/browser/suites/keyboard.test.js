// Everything without a mouse: find, open, read, copy, compare, delete and undo; and the focus is never lost.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually, useBrowser } from "../harness/browser.js";
import { openRun, openRuns, ROWS } from "../harness/pages.js";
import { failed, large, looped, ok } from "../harness/samples.js";

/** The focus is on something that can be seen. */
async function assertFocused(page, where) {
  const seen = await page.evaluate(() => {
    const element = document.activeElement;
    if (!element || element === document.body) return "the body";
    const { width, height, bottom, top } = element.getBoundingClientRect();
    return width > 0 && height > 0 && bottom > 0 && top < innerHeight ? "" : element.outerHTML.slice(0, 80);
  });
  assert.equal(seen, "", where);
}

describe("by keyboard alone", () => {
  useBrowser();

  test("the failed run is found, opened, its first error reached and its stack read", async (t) => {
    const { page } = await openRuns(t, [ok, failed, looped]);
    await page.keyboard.press("/");
    await page.keyboard.type("refund-agent");
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    await page.keyboard.type("refund-agent");
    await page.locator(".run-row:not(.head):not([hidden])").nth(1).waitFor({ state: "detached" });
    await page.keyboard.press("Tab");
    for (let tries = 0; tries < 20 && !(await page.evaluate(() => document.activeElement.matches(".run-row"))); tries += 1) {
      await page.keyboard.press("Tab");
    }
    await assertFocused(page, "a run");
    await page.keyboard.press("Enter");
    await page.locator(ROWS).first().waitFor();
    await page.keyboard.press("e");
    await assertFocused(page, "the error");
    await page.keyboard.press("Enter");
    await page.locator("#inspector").getByText("src/agent.rs:12").first().waitFor();
    await assertFocused(page, "after opening");
  });

  test("two runs are marked and compared", async (t) => {
    const { page } = await openRuns(t, [ok, looped]);
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.keyboard.press("k");
    await page.keyboard.press("x");
    await page.keyboard.press("c");
    await page.waitForURL(/\/diff\/[0-9a-f]{32}\/[0-9a-f]{32}/);
  });

  test("a run is deleted and given back, from its menu", async (t) => {
    const { page } = await openRuns(t, [ok, looped]);
    await page.keyboard.press("j");
    await page.keyboard.press("y");
    await page.getByRole("menu").waitFor();
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelectorAll(".run-row:not(.head):not([hidden])").length === 1);
    await assertFocused(page, "after deleting");
    const undo = page.getByRole("button", { name: "Undo" });
    for (let tries = 0; tries < 40 && !(await undo.evaluate((button) => button === document.activeElement)); tries += 1) {
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelectorAll(".run-row:not(.head):not([hidden])").length === 2);
  });

  test("help opens with ?, is read, and closes to where one was", async (t) => {
    const { page } = await openRun(t, ok);
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("?");
    const help = page.getByRole("dialog");
    await help.getByText("next error").waitFor();
    await page.keyboard.press("Escape");
    await help.waitFor({ state: "hidden" });
    await assertFocused(page, "after help");
    await eventually(async () => assert.ok(await page.evaluate(() => document.activeElement.matches("[role=row]"))));
  });

  test("the focus stays on the selected row while rows come and go", async (t) => {
    const { page } = await openRun(t, large(50_000, 40_000), { query: "?fold=0" });
    await page.keyboard.press("j");
    for (const key of ["End", "Home", "PageDown", "PageDown", "j", "End", "k"]) {
      await page.keyboard.press(key);
      await assertFocused(page, key);
    }
    await eventually(async () => assert.equal(await page.locator(`${ROWS}[aria-selected=true]`).getAttribute("aria-rowindex"), String(50_001)));
  });

  test("letters do nothing while one types, and can be switched off", async (t) => {
    const { page } = await openRun(t, ok);
    await page.keyboard.press("/");
    await page.keyboard.type("j2e");
    assert.ok(!page.url().includes("view="));
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByRole("checkbox").check();
    await page.keyboard.press("Escape");
    await page.keyboard.press("2");
    assert.ok(!page.url().includes("view=transcript"));
  });
});
