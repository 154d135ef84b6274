// What a page says is so: of all runs and not of those on the screen, of the call before and not of what resembles it.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually, openPage, useBrowser } from "../harness/browser.js";
import { openRun, openRuns, ROWS, viewRuns } from "../harness/pages.js";
import { llm, START, tool } from "../harness/runs.js";
import { failed, large, looped, ok } from "../harness/samples.js";

const RUN = ".run-row:not(.head):not([hidden])";
const inspector = (page) => page.locator("#inspector");
const grid = (page) => page.getByRole("grid", { name: "Runs" });
const find = (page) => page.getByRole("searchbox", { name: /find in run/i });
const focused = (page) => page.evaluate(() => document.activeElement?.className ?? "");

/** This many runs of one name, of which those that `is` picks were asked about a parcel; the first is the newest. */
function many(count, is, tokens = () => 12) {
  return Array.from({ length: count }, (_, index) => ({
    name: "agent",
    meta: { started_at: new Date(START - index * 60_000).toISOString() },
    children: (id) => [llm(id, 2, "demo-model", is(index) ? "Where is my parcel?" : "What time is it?", "Soon.", [tokens(index), 1])],
  }));
}

/** A model call that was given these messages. */
function asked(id, number, ...texts) {
  const messages = texts.map((content, index) => ({ role: index === 0 ? "system" : "user", content }));
  const made = llm(id, number, "demo-model", "", "Yes.");
  return { ...made, events: [], attributes: { ...made.attributes, "gen_ai.input.messages": JSON.stringify(messages) } };
}

describe("the table of runs", () => {
  useBrowser();

  test("is searched in all runs, whether or not they were on the screen", async (t) => {
    const { page } = await openRuns(t, many(200, (index) => index % 4 === 3));
    await page.getByRole("searchbox", { name: "Search runs" }).fill("parcel");
    await eventually(async () => assert.equal(await grid(page).getAttribute("aria-rowcount"), "51"));
    await eventually(async () => assert.match(await page.locator(".chip").first().innerText(), /All\s*50/));
  });

  test("is sorted by what only the spans tell of all runs", async (t) => {
    const { page } = await openRuns(t, many(200, () => false, (index) => 10 + index));
    await page.getByRole("columnheader", { name: /^Tokens/ }).getByRole("button").click();
    await eventually(async () => assert.match(await page.locator(`${RUN} .tokens-cell`).first().innerText(), /^210$/));
    await page.getByRole("columnheader", { name: /^Tokens/ }).getByRole("button").click();
    await eventually(async () => assert.match(await page.locator(`${RUN} .tokens-cell`).first().innerText(), /^11$/));
  });

  test("has the exact numbers of a long run, and tells why it failed", async (t) => {
    const { children } = large(6_000, 3);
    const long = {
      name: "long-agent", status: "error", failure: { type: "BudgetError", message: "the budget is used up" },
      children: (id) => [llm(id, 9_000, "demo-model", "Begin", "Yes", [100, 20]), ...children(id)],
    };
    const { page } = await openRuns(t, [long, failed]);
    const row = page.locator(RUN).filter({ hasText: "long-agent" });
    await eventually(async () => assert.match(await row.locator(".subtitle").innerText(), /BudgetError: the budget is used up/));
    await eventually(async () => assert.equal(await row.locator(".tokens-cell").innerText(), "120"));
    await eventually(async () => assert.equal((await row.locator(".steps-cell").innerText()).replace(/\D/g, ""), "6002"));
    await eventually(async () => assert.match(await row.locator(".path-cell").innerText(), /Steps: /));
    const short = page.locator(RUN).filter({ hasText: "refund-agent" });
    await eventually(async () => assert.equal(await short.locator(".tokens-cell").innerText(), "12"));
  });

  for (const sort of ["__proto__", "-__proto__", "constructor", "toString", "hasOwnProperty", "-", "no-such-column"]) {
    test(`lists the runs, newest first, however the address asks for ${sort}`, async (t) => {
      const { viewer } = await viewRuns(t, [ok, looped]);
      const page = await openPage(t);
      await page.goto(`${viewer.origin}/?sort=${sort}&status=${sort}&since=${sort}&filter=`);
      await eventually(async () => assert.equal(await page.locator(RUN).count(), 2));
      await page.getByRole("columnheader", { name: /^Run/ }).getByRole("button").click();
      await eventually(async () => assert.deepEqual(await page.locator(`${RUN} .run-name`).allInnerTexts(), ["loop-agent", "support-agent"]));
    });
  }

  test("without any run names the attribute as it is", async (t) => {
    const { page } = await openRuns(t, []);
    await page.getByText("#[tracer_sdk::trace]").waitFor();
    assert.equal(await page.getByText("#[tracer::trace]").count(), 0);
  });

  test("has every filter in full on a narrow screen", async (t) => {
    const { page } = await openRuns(t, [ok, failed, looped], { viewport: { width: 390, height: 800 } });
    for (const name of ["Name", "Started"]) {
      const { width } = await page.getByRole("combobox", { name }).boundingBox();
      assert.ok(width >= 120, `${name} is ${width} pixels wide`);
    }
  });
});

describe("a run", () => {
  useBrowser();

  for (const value of ["__proto__", "constructor", "toString"]) {
    test(`is shown, whatever the address asks for: ${value}`, async (t) => {
      const query = ["view", "tab", "kind", "q", "t0", "t1", "fold", "against"].map((name) => `${name}=${value}`).join("&");
      const { viewer, ids: [id] } = await viewRuns(t, [ok]);
      const page = await openPage(t);
      await page.goto(`${viewer.origin}/r/${id}?${query}`);
      await page.getByText(/^0 of 7 rows/).waitFor();
      await page.getByRole("button", { name: "Show all" }).click();
      await eventually(async () => assert.equal(await page.locator(ROWS).count(), 7));
    });
  }

  test("folds only messages that the call before had, and shows the one that has changed", async (t) => {
    const rest = Array.from({ length: 30 }, (_, index) => `question ${index}`);
    const { page } = await openRun(t, { name: "agent", children: (id) => [
      asked(id, 2, "Be brief.", ...rest), asked(id, 3, "Be verbose.", ...rest, "And now?"), asked(id, 4, "Be verbose.", ...rest, "And now?", "Then?"),
    ] }, { query: "?at=0000000000000003" });
    await inspector(page).getByText("Be verbose.").waitFor();
    await inspector(page).getByText("And now?").waitFor();
    await inspector(page).getByText("30 earlier messages, as in the call before").waitFor();
    assert.equal(await inspector(page).getByText("question 7").count(), 0);
    const shown = await inspector(page).locator(".step-panel").innerText();
    assert.ok(shown.indexOf("Be verbose.") < shown.indexOf("30 earlier messages"), shown);
    await page.keyboard.press("j");
    await inspector(page).getByText("32 earlier messages, as in the call before").waitFor();
    assert.equal(await inspector(page).getByText("Be verbose.").count(), 0);
  });

  test("tells each field that differs once", async (t) => {
    const { page } = await openRun(t, { name: "agent", children: (id) => [
      tool(id, 2, "plan", { files_read: [], n: 1 }, "done"), tool(id, 3, "plan", { files_read: ["a.rs"], n: 1 }, "done"),
    ] }, { query: "?at=0000000000000003" });
    await inspector(page).getByText("in 1 field.").waitFor();
    await eventually(async () => assert.match(await inspector(page).locator(".differences tbody").innerText(), /^files_read\[0\]\s+not there\s+a\.rs$/));
  });

  test("says that there is no such field, and finds the text when it stands in quotes", async (t) => {
    const { page } = await openRun(t, ok, { allow: /status of 400/ });
    await find(page).fill("since:7d");
    const reported = page.getByRole("alert").filter({ hasText: "Nothing was searched for: there is no field `since`" });
    await reported.waitFor();
    await find(page).fill("kind:llm");
    await page.locator("#tools output").filter({ hasText: "1 hit" }).waitFor();
    await eventually(async () => assert.ok(!(await reported.isVisible())));
  });

  for (const view of ["steps", "transcript"]) {
    test(`walks the hits with n after a search, in ${view}`, async (t) => {
      const { page } = await openRun(t, ok, { query: view === "steps" ? "" : "?view=transcript" });
      await find(page).fill("refund");
      await page.locator("#tools output").filter({ hasText: "3 hits" }).waitFor();
      for (const [key, place] of [["Enter", "1/3"], ["n", "2/3"], ["n", "3/3"], ["N", "2/3"]]) {
        await page.keyboard.press(key);
        await page.locator("#tools output").filter({ hasText: place }).waitFor();
      }
      assert.equal(await find(page).inputValue(), "refund");
      assert.notEqual(await focused(page), "");
    });
  }

  test("keeps the focus when one goes back, to another view and to the runs", async (t) => {
    const { viewer } = await viewRuns(t, [ok, failed, looped]);
    const page = await openPage(t);
    await page.goto(viewer.origin);
    await page.locator(RUN).nth(2).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    const name = await page.locator(`${RUN}:focus .run-name`).innerText();
    await page.keyboard.press("Enter");
    await page.locator(ROWS).first().waitFor();
    await page.keyboard.press("2");
    await page.locator(".transcript .turn").first().waitFor();
    await eventually(async () => assert.match(await focused(page), /transcript/));
    await page.goBack();
    await eventually(async () => assert.match(await focused(page), /\brow\b/));
    await page.goBack();
    await eventually(async () => assert.equal(await page.locator(`${RUN}:focus .run-name`).innerText(), name));
    await page.keyboard.press("k");
    await eventually(async () => assert.match(await focused(page), /run-row/));
  });

  test("keeps the focus when a step is closed on a narrow screen, in every view", async (t) => {
    const { page } = await openRun(t, ok, { viewport: { width: 390, height: 800 }, query: "?view=transcript" });
    const link = page.locator(".turn-link").first();
    await link.click();
    await page.getByRole("button", { name: "Back to the steps" }).click();
    await eventually(async () => assert.match(await focused(page), /transcript/));
    await page.keyboard.press("1");
    await page.locator(ROWS).nth(1).click();
    await page.getByRole("button", { name: "Back to the steps" }).click();
    await eventually(async () => assert.match(await focused(page), /\brow\b/));
  });
});
