// What a page shows before anything is pressed: the cause of a failure, enough rows, and where two runs part.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually, openPage, useBrowser } from "../harness/browser.js";
import { openRun, ROWS, viewRuns } from "../harness/pages.js";
import { large, looped, ok } from "../harness/samples.js";

/** A failed run whose cause is the last of its many steps. */
const longFailed = { ...large(122, 121), status: "error", failure: { type: "Timeout", message: "no answer" } };

describe("at first sight", () => {
  useBrowser();

  for (const viewport of [{ width: 1440, height: 900 }, { width: 1024, height: 700 }, { width: 390, height: 800 }]) {
    test(`a failed run is at its cause, selected and on the screen, ${viewport.width} pixels wide`, async (t) => {
      const { page } = await openRun(t, longFailed, { viewport });
      const selected = page.locator(`${ROWS}[aria-selected=true]`);
      await eventually(async () => assert.match(await selected.innerText(), /Timeout/));
      const box = await eventually(() => selected.boundingBox());
      assert.ok(box.y > 0 && box.y + box.height <= viewport.height, `the cause is at ${box.y}`);
      // A narrow page shows the steps, not what the step holds in their place.
      assert.ok(await page.locator("#verdict").isVisible());
    });
  }

  test("the cause takes neither the focus nor the view that was chosen meanwhile", async (t) => {
    const { viewer, ids: [id] } = await viewRuns(t, [longFailed]);
    for (const viewed of [false, true]) {
      const page = await openPage(t, { viewport: { width: 1440, height: 900 } });
      let asked = () => {};
      const waits = new Promise((resolve) => (asked = resolve));
      await page.route("**/steps/*", async (route) => {
        asked();
        await new Promise((resolve) => setTimeout(resolve, 500));
        await route.continue();
      });
      await page.goto(`${viewer.origin}/r/${id}`);
      await waits;
      const find = page.getByRole("searchbox").first();
      if (viewed) await page.locator("#view-tab-transcript").click();
      else await find.pressSequentially("Time", { delay: 200 });
      await new Promise((resolve) => setTimeout(resolve, 700));
      if (viewed) assert.match(page.url(), /view=transcript/);
      else assert.equal(await find.inputValue(), "Time");
    }
  });

  test("a narrow page that is loaded again shows the steps", async (t) => {
    const { page } = await openRun(t, longFailed, { viewport: { width: 390, height: 800 } });
    const selected = page.locator(`${ROWS}[aria-selected=true]`);
    await selected.waitFor();
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.doesNotMatch(page.url(), /at=/);
    await page.reload();
    await selected.waitFor();
    assert.ok(await page.locator("#verdict").isVisible());
    const covers = await page.locator(".workspace").evaluate((workspace) => workspace.classList.contains("open"));
    assert.equal(covers, false);
  });

  test("a link to an order of the steps keeps it, however the run ended", async (t) => {
    const { page } = await openRun(t, longFailed, { query: "?sort=duration" });
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.match(page.url(), /sort=duration/);
    assert.equal(await page.getByRole("combobox", { name: "Order" }).inputValue(), "duration");
  });

  for (const width of [600, 390]) {
    test(`there is room for the filters beside the search, ${width} pixels wide`, async (t) => {
      const { page } = await openRun(t, longFailed, { viewport: { width, height: 800 } });
      const { width: room } = await page.locator(".tools .chips").boundingBox();
      assert.ok(room >= 140, `${room} pixels`);
    });
  }

  test("a link to a step leads there, however the run ended", async (t) => {
    const { page } = await openRun(t, longFailed, { query: "?at=0000000000000005" });
    await eventually(async () => assert.match(await page.locator(`${ROWS}[aria-selected=true]`).innerText(), /page=5/));
    assert.match(page.url(), /at=0000000000000005/);
  });

  test("a run that ended ok has no cause to jump to", async (t) => {
    const { page } = await openRun(t, { ...large(20, 3) });
    assert.equal(await page.locator("#first-cause").count(), 0);
  });

  test("there are at least 14 rows at 1024 × 700, and the frame takes at most a third at 390 × 800", async (t) => {
    const longLooped = { ...looped, children: (id) => [...looped.children(id), ...large(30, -1).children(id).slice(8)] };
    const message = "the gateway did not answer within thirty seconds, after three attempts, and gave up";
    const isCause = (span) => span.attributes["tracer.error_message"];
    const loud = { ...longFailed, children: (id) => longFailed.children(id).map((span) =>
      (isCause(span) ? { ...span, attributes: { ...span.attributes, "tracer.error_message": message } } : span)) };
    const { viewer, ids } = await viewRuns(t, [longFailed, longLooped, loud]);
    for (const [id, width, height, holds] of ids.flatMap((id) => [
      [id, 1024, 700, ({ rows }) => rows >= 14],
      [id, 390, 800, ({ top }) => top <= 800 / 3],
    ])) {
      const page = await openPage(t, { viewport: { width, height } });
      await page.goto(`${viewer.origin}/r/${id}`);
      await page.locator(ROWS).first().waitFor();
      await eventually(async () => {
        const seen = await page.evaluate((rowsSelector) => {
          const { top, bottom } = document.querySelector(".steps").getBoundingClientRect();
          const lowest = Math.min(bottom, innerHeight);
          const head = document.querySelector(".steps .row.head").getBoundingClientRect().bottom;
          const rows = [...document.querySelectorAll(rowsSelector)].map((row) => row.getBoundingClientRect());
          return { top, rows: rows.filter((row) => row.top >= head - 1 && row.bottom <= lowest + 1).length };
        }, ROWS);
        assert.ok(holds(seen), `${width} × ${height}: ${JSON.stringify(seen)}`);
      });
    }
  });

  test("a comparison begins with the first call that differs", async (t) => {
    const { viewer, ids: [a, b] } = await viewRuns(t, [ok, { ...ok, children: (id) => ok.children(id).slice(0, -1) }]);
    const page = await openPage(t);
    await page.goto(`${viewer.origin}/diff/${a}/${b}`);
    const first = page.locator(".comparison section.part").first();
    await eventually(async () => assert.match(await first.innerText(), /First difference[\s\S]*send_reply/));
  });
});
