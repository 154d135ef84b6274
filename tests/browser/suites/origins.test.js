// What the context of a run cost, and where a selected value came from.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually, openPage, useBrowser } from "../harness/browser.js";
import { openRun, ROWS } from "../harness/pages.js";
import { ok } from "../harness/samples.js";

const at = (number) => `?fold=0&at=${number.toString(16).padStart(16, "0")}`;

describe("context and origins", () => {
  useBrowser();

  test("the run lists what its context cost, with links to the steps", async (t) => {
    const { page } = await openRun(t, ok, { query: at(1) });
    await page.locator(`${ROWS}[aria-selected=true]`).waitFor();
    await page.getByText("What the context cost").click();
    await page.getByText("1 call sent 212 input tokens").waitFor();
    await page.locator(".context-bill").getByRole("button", { name: "user: Where is my refund?" }).click();
    await eventually(async () => assert.match(await page.locator("#inspector").innerText(), /#2/));
  });

  test("a selected text is traced back to where it came from", async (t) => {
    const { page } = await openRun(t, ok, { query: at(5) });
    const value = page.locator("#inspector").getByText("refund policy").first();
    await value.waitFor();
    await eventually(async () => assert.equal(await page.locator("#why").isVisible(), false));
    await value.selectText();
    await page.locator("#why").click();
    await page.locator("#banner-why").getByText(/refund policy/).first().waitFor();
    await page.locator("#banner-why").getByRole("button", { name: "Dismiss" }).click();
    await eventually(async () => assert.equal(await page.locator("#banner-why").count(), 0));
  });
});
