// Features 2 and 3: rows that say something, as a tree with bars over time and a minimap.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually, openPage, useBrowser } from "../harness/browser.js";
import { names, openRun, ROWS, viewRuns } from "../harness/pages.js";
import { large, looped, ok } from "../harness/samples.js";
import { span, time, tool } from "../harness/runs.js";

describe("the steps", () => {
  useBrowser();

  test("that differ read differently, and no time that is not zero reads as zero", async (t) => {
    const { page } = await openRun(t, { name: "agent", children: (id) => [1, 2, 3, 4].map((n) =>
      tool(id, n + 1, "search_kb", { query: `question ${n}` }, { hits: n }, { took: [7, 90, 1234, 45_300][n - 1] })) });
    await page.locator(ROWS).filter({ hasText: "question 4" }).waitFor();
    const reported = (await page.locator(ROWS).allInnerTexts()).slice(1).map((text) => text.replaceAll(/\s+/g, " "));
    assert.equal(new Set(reported.map((text) => text.replace(/^\d+ \+\S+ \S+/, ""))).size, 4);
    for (const duration of ["7 µs", "90 µs", "1.23 ms", "45.3 ms"]) assert.ok(reported.some((text) => text.includes(duration)), duration);
    assert.ok(!reported.some((text) => /(^| )0 ms/.test(text)));
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

  test("of a large run are shown from the first ones on, and one that was chosen is it when the others are there", async (t) => {
    const crowd = large(20_000, 3);
    // The agent that holds them is written behind them.
    const agent = (id) => ({ ...span(id, 30_000, "agent", {}), start_time: time(1_500), end_time: time(20_010_000) });
    const within = (id) => crowd.children(id).map((one) => ({ ...one, parent_span_id: agent(id).span_id }));
    const { viewer, ids: [id] } = await viewRuns(t, [{ ...crowd, children: (id) => [...within(id), agent(id)], meta: { started_at: time(900) } }]);
    const page = await openPage(t);
    let comes = () => {};
    const others = new Promise((resolve) => { comes = resolve; });
    await page.route((url) => url.pathname.endsWith("/columns") && !url.search, async (route) => {
      await others;
      await route.continue();
    });
    await page.goto(`${viewer.origin}/r/${id}?fold=0`);
    const rows = () => page.locator(".steps").getAttribute("aria-rowcount").then(Number);
    await eventually(async () => assert.ok(await rows() > 200));
    assert.ok(await rows() < 10_000);
    await page.getByText("Only the beginning has been read so far").waitFor();
    const chosen = page.locator(ROWS).filter({ hasText: /page=6\D/ });
    await chosen.click();
    await eventually(async () => assert.equal(await chosen.getAttribute("aria-selected"), "true"));
    assert.equal(await chosen.getAttribute("data-row"), "5");
    // Longer than the page waits before it asks for patience, and before it shows a step.
    await sleep(300);
    assert.ok(!(await page.locator(".empty").isVisible()), "nobody has to wait for what is there");
    comes();
    await eventually(async () => assert.ok(await rows() > 20_000));
    await eventually(async () => assert.equal(await chosen.getAttribute("data-row"), "6"));
    assert.equal(await chosen.getAttribute("aria-selected"), "true");
    await eventually(async () => assert.match(page.url(), /at=0000000000000006/));
    await eventually(async () => assert.match(await page.locator(".minimap canvas").getAttribute("aria-label"), /20,00\d steps/));
    // A link to a step is not answered by the beginning: each row has its own texts.
    await page.reload();
    await eventually(async () => assert.equal(await chosen.getAttribute("data-row"), "6"));
  });

  test("come in two frames, of which the first is small and so comes soon", async (t) => {
    const { viewer, ids: [id] } = await viewRuns(t, [large(500, 7)]);
    const page = await openPage(t);
    await page.addInitScript((rows) => {
      const look = () => {
        globalThis.firstRows = document.querySelectorAll(rows).length;
        if (globalThis.firstRows === 0) requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    }, ROWS);
    await page.goto(`${viewer.origin}/r/${id}`);
    await eventually(async () => assert.ok(await page.locator(ROWS).count() > 15));
    assert.equal(await page.evaluate(() => globalThis.firstRows), 8);
  });

  test("that are leapt to are those on the screen, and those beyond its edges when the list rests", async (t) => {
    const { page } = await openRun(t, large(5_000, 77));
    const [rendered, fitting] = await page.evaluate((rows) => new Promise((resolve) => {
      const steps = document.querySelector(".steps");
      const height = document.querySelector(rows).offsetHeight;
      // Behind the list's own listener: this frame's rows are there, and nothing has been answered yet.
      steps.addEventListener("scroll", () => requestAnimationFrame(() => resolve([document.querySelectorAll(rows).length,
        Math.ceil(steps.clientHeight / height)])), { once: true });
      steps.scrollTop = steps.scrollHeight / 2;
    }), ROWS);
    // One row is cut at each edge, and one is kept for the focus.
    assert.ok(rendered <= fitting + 2, `${rendered} rows where ${fitting} fit`);
    await eventually(async () => assert.ok(await page.locator(ROWS).count() >= rendered + 6));
  });

  test("that nobody waits for any more are not asked for while the bar is dragged", async (t) => {
    const { page } = await openRun(t, large(5_000, 77));
    const LATE = 300;
    const asked = [];
    await page.route(/\/rows\?/, async (route) => {
      asked.push(route.request().url());
      await sleep(LATE);
      await route.continue();
    });
    const PLACES = 60;
    const time = await page.evaluate(async (places) => {
      const steps = document.querySelector(".steps");
      const from = performance.now();
      for (let place = 1; place <= places; place += 1) {
        steps.scrollTop = (steps.scrollHeight * place) / (places + 1);
        await new Promise(requestAnimationFrame);
      }
      return performance.now() - from;
    }, PLACES);
    await eventually(async () => assert.match(await page.locator(ROWS).nth(12).innerText(), /page=\d/));
    // Two questions at a time, and those that began when the bar rested.
    assert.ok(asked.length <= 2 * Math.ceil(time / LATE) + 4, `${asked.length} questions in ${time} ms`);
  });

  test("say as much of a long text as can be seen, and more on a wider page", async (t) => {
    const { page } = await openRun(t, { name: "agent", children: (id) => [tool(id, 2, "search", { query: "why ".repeat(200) }, "because ".repeat(200))] },
      { viewport: { width: 1000, height: 800 } });
    const input = page.locator(`${ROWS} .gist`).nth(2);
    await eventually(async () => assert.match(await input.textContent(), /why why.*…$/));
    const { length } = await input.textContent();
    await page.setViewportSize({ width: 2600, height: 800 });
    await eventually(async () => assert.ok((await input.textContent()).length > length));
  });

  test("are one lane for each agent when all is collapsed, and get half the width when wanted", async (t) => {
    const { page } = await openRun(t, ok);
    const bars = page.locator(".steps .row.head .bars");
    const before = await bars.evaluate((cell) => cell.clientWidth);
    await page.keyboard.press("o");
    const lane = page.locator(`${ROWS}[data-kind=span] .span-bar.lane`);
    await eventually(async () => assert.match(await lane.evaluate((bar) => bar.style.background), /kind-tool/));
    await page.keyboard.press("w");
    await eventually(async () => assert.ok((await bars.evaluate((cell) => cell.clientWidth)) > 2 * before));
  });

  test("are sorted by what they took, and the order is in the address", async (t) => {
    const { page } = await openRun(t, ok);
    await page.getByRole("combobox", { name: "Order" }).selectOption("duration");
    await eventually(async () => assert.equal((await names(page))[0], "lookup_customer"));
    await page.waitForURL(/sort=duration/);
    await page.reload();
    await eventually(async () => assert.equal((await names(page))[0], "lookup_customer"));
  });

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
