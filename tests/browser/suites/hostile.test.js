// Nothing that a trace says becomes markup, runs, loads or hides: in rows, inspector, transcript, the table of runs.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { describe, test } from "node:test";
import { eventually, openPage, useBrowser } from "../harness/browser.js";
import { atTheEnd } from "../harness/cleanup.js";
import { HOSTILE } from "../harness/hostile.js";
import { openRun, ROWS, viewRuns } from "../harness/pages.js";
import { llm, span, tool } from "../harness/runs.js";

const run = {
  name: HOSTILE[0], status: "error", failure: { type: HOSTILE[1], message: HOSTILE[2], stack: HOSTILE[3] },
  children: (id) => HOSTILE.flatMap((text, index) => [
    tool(id, 2 + 3 * index, text.slice(0, 200) || "x", { [text.slice(0, 100)]: text }, text),
    llm(id, 3 + 3 * index, "demo-model", text, text),
    span(id, 4 + 3 * index, text.slice(0, 200) || "x", { note: text }),
  ]),
};

async function isInert(page, where) {
  assert.ok(!(await page.title()).startsWith("owned"), where);
  const found = await page.evaluate(() => [...document.querySelectorAll("img, iframe, object, embed, body style, form, [onerror], [onload], [onmouseover]")]
    .map((element) => element.outerHTML.slice(0, 100)));
  assert.deepEqual(found, [], where);
  const links = await page.evaluate(() => [...document.querySelectorAll("a[href]")].map((link) => link.href));
  assert.deepEqual(links.filter((href) => !/^(https?:|mailto:)/.test(href)), [], where);
}

describe("hostile content", () => {
  useBrowser();

  test("stays inert in every view of a run", async (t) => {
    const { page } = await openRun(t, run, { query: "?fold=0" });
    for (const view of ["1", "2", "3", "5"]) {
      await page.keyboard.press(view);
      await page.waitForTimeout(300);
      await isInert(page, `view ${view}`);
    }
  });

  test("stays inert in the inspector of every step, in each of its tabs", async (t) => {
    const { page } = await openRun(t, run, { query: "?fold=0" });
    await page.locator(ROWS).first().click();
    const count = Number(await page.locator(".steps").getAttribute("aria-rowcount")) - 2;
    for (let step = 0; step < count; step += 1) {
      await page.keyboard.press("j");
      const tabs = page.locator("#inspector [role=tab]");
      for (let tab = 0; tab < await tabs.count(); tab += 1) await tabs.nth(tab).click();
      await page.locator(`${ROWS}[aria-selected=true]`).focus();
      if (step % 9 === 0) await isInert(page, `step ${step}`);
    }
    await isInert(page, "the last step");
  });

  test("stays inert in the table of runs and in its menus", async (t) => {
    const { page, viewer } = await openRun(t, run);
    await page.goto(`${viewer.origin}/`);
    await page.locator(".run-row:not(.head):not([hidden])").first().waitFor();
    await isInert(page, "runs");
    await page.getByRole("button", { name: /^More for/ }).click();
    await isInert(page, "menu");
  });
});

describe("another site of this machine", () => {
  useBrowser();

  test("opens no page of the viewer and holds no window of it", async (t) => {
    const { viewer, ids: [id] } = await viewRuns(t, [run]);
    const site = createServer((_, response) => response.end("<!doctype html><title>other</title>")).listen(0, "127.0.0.1");
    atTheEnd(t, () => site.close());
    await once(site, "listening");
    const page = await openPage(t, { allow: /403|CORS|ERR_FAILED/ });
    await page.goto(`http://127.0.0.1:${site.address().port}/`);
    const [popup] = await Promise.all([
      page.context().waitForEvent("page"),
      page.evaluate((url) => { globalThis.held = window.open(url); }, `${viewer.origin}/r/${id}`),
    ]);
    await popup.waitForLoadState();
    await eventually(async () => assert.match(await popup.locator("body").innerText(), /foreign_origin/));
    // A browser parts the windows: to the other site its own looks closed.
    await eventually(async () => assert.equal(await page.evaluate(() => globalThis.held.closed), true));
    const asked = await page.evaluate((url) => fetch(url).then(() => "answered", () => "refused"), `${viewer.origin}/api/runs`);
    assert.equal(asked, "refused");
  });
});
