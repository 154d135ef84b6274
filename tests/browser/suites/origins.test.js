// What the context of a run cost, and where a selected value came from.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually, openPage, useBrowser } from "../harness/browser.js";
import { openRun, ROWS } from "../harness/pages.js";
import { tool } from "../harness/runs.js";
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

  test("an origin is shown only beside the step that it was asked of", async (t) => {
    const { page } = await openRun(t, ok, { query: at(5) });
    await page.locator("#inspector").getByText("refund policy").first().selectText();
    await page.locator("#why").click();
    await page.locator("#banner-why").waitFor();
    await page.locator(ROWS).nth(1).click();
    await eventually(async () => assert.equal(await page.locator("#banner-why").count(), 0));
  });

  test("a bill that cannot be had is not added up for ever", async (t) => {
    const { page } = await openRun(t, ok, { query: at(1), allow: /500/ });
    await page.route("**/context", (route) => route.fulfill({ status: 500, json: { error: { code: "x", message: "no bill today" } } }));
    await page.getByText("What the context cost").click();
    await page.locator("#banner-error").getByText("no bill today").waitFor();
    assert.equal(await page.getByText("Adding up").count(), 0);
  });

  test("integers keep every digit where they are shown, asked about and listed raw", async (t) => {
    const digits = "1234567890123456789";
    const { page, url } = await openRun(t, {
      children: (id) => [tool(id, 2, "lookup", { order: "DIGITS" }, { order: "DIGITS" })],
      lines: (lines) => lines.map((line) => line.replaceAll('\\"DIGITS\\"', digits)),
    }, { query: at(2) });
    const value = page.locator("#inspector").getByText(digits).first();
    await value.waitFor();
    await value.selectText();
    const asked = page.waitForRequest(/lineage/);
    await page.locator("#why").click();
    assert.equal(new URL((await asked).url()).searchParams.get("value"), digits);
    await page.goto(`${url}?view=raw`);
    await page.locator(".raw-line").getByText(digits).first().waitFor();
  });
});
