// Feature 10: two runs side by side, in the words of `tracer diff`.
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { assertAccessible, LOOKS } from "../harness/axe.js";
import { eventually, openPage, useBrowser } from "../harness/browser.js";
import { ROWS, viewRuns } from "../harness/pages.js";
import { tracer } from "../harness/program.js";
import { tool } from "../harness/runs.js";
import { failed, looped, ok } from "../harness/samples.js";

/** Writes the policy of the project that the viewer is started in. */
async function writePolicy(dataDir, text) {
  await mkdir(path.join(dataDir, ".tracer"), { recursive: true });
  await writeFile(path.join(dataDir, ".tracer/policy.yaml"), text);
}

describe("comparing two runs", () => {
  useBrowser();

  test("tells before and after, what changed in numbers and in the path", async (t) => {
    const { viewer, ids: [before, after] } = await viewRuns(t, [ok, looped]);
    const page = await openPage(t);
    await page.goto(`${viewer.origin}/diff/${before}/${after}`);
    await page.getByText("escalate_to_human").first().waitFor();
    for (const text of [/before/i, /after/i, /send_reply/, /search_kb/, /tool calls/i, /tokens/i]) {
      await eventually(async () => assert.match(await page.locator("main").innerText(), text));
    }
  });

  test("shows the arguments of the first call that one side has alone", async (t) => {
    const search = (id) => tool(id, 3, "search", { query: "refund" }, {});
    const more = { name: "more", children: (id) => [tool(id, 2, "charge_card", { amount: 4200 }, "done"), search(id)] };
    const { viewer, ids: [before, after] } = await viewRuns(t, [{ name: "less", children: (id) => [search(id)] }, more]);
    const page = await openPage(t);
    for (const [sides, cell] of [[`${before}/${after}`, ".after"], [`${after}/${before}`, ".before"]]) {
      await page.goto(`${viewer.origin}/diff/${sides}`);
      const part = page.locator("section.part").filter({ hasText: "First difference" });
      await eventually(async () => assert.match(await part.locator(cell).innerText(), /amount\s+4200/));
    }
  });

  test("says of each side how it stands, as the table of runs does", async (t) => {
    const { viewer, ids: [before, after] } = await viewRuns(t, [looped, failed]);
    const page = await openPage(t);
    await page.goto(`${viewer.origin}/diff/${before}/${after}`);
    await page.locator(".sides .run-status").nth(1).waitFor();
    assert.deepEqual(await page.locator(".sides .run-status").allInnerTexts(), ["loop", "failed"]);
  });

  test("tells the same numbers as the terminal", async (t) => {
    const { dataDir, viewer, ids: [before, after] } = await viewRuns(t, [ok, looped]);
    const { stdout } = await tracer(dataDir, "diff", before, after, "--format", "json");
    const answer = await (await fetch(`${viewer.origin}/api/diff?a=${before}&b=${after}`, { headers: viewer.headers })).json();
    const comparison = JSON.parse(stdout);
    // The answer has the words of numbers and calls besides.
    const numbers = answer.metrics.map(({ metric, before, after }) => ({ metric, before, after }));
    const calls = answer.calls.map(({ sign, remarks, ...call }) => call);
    const reported = { ...answer, metrics: numbers, calls };
    for (const key of ["before", "after", "is_same", "metrics", "calls"]) {
      assert.deepEqual(reported[key], comparison[key], key);
    }
  });

  test("with a baseline of the project tells what changed since it was kept, and where each call is", async (t) => {
    const { dataDir, viewer, ids: [kept, now] } = await viewRuns(t, [ok, looped]);
    await tracer(dataDir, "baseline", kept, "--out", ".tracer/baselines/support.json");
    const page = await openPage(t);
    await page.goto(`${viewer.origin}/diff/${now}/baseline/support`);
    await page.getByText("escalate_to_human").first().waitFor();
    await eventually(async () => assert.match(await page.locator(".sides").innerText(), /before[\s\S]*support[\s\S]*after[\s\S]*loop-agent/i));
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

  test("from the page of a run chooses a baseline, which stands behind the runs", async (t) => {
    const { dataDir, viewer, ids: [kept, now] } = await viewRuns(t, [ok, looped]);
    await tracer(dataDir, "baseline", kept, "--out", ".tracer/baselines/support.json");
    const page = await openPage(t);
    await page.goto(`${viewer.origin}/r/${now}?view=compare`);
    const picker = page.getByRole("combobox", { name: /compared with/ });
    await picker.selectOption({ label: "support" });
    await eventually(async () => assert.equal(await picker.locator("optgroup").last().getAttribute("label"), "Baselines"));
    await page.getByText("Before, a baseline").waitFor();
    await page.reload();
    await page.getByText("Before, a baseline").waitFor();
    await page.getByRole("link", { name: "Open as a page" }).click();
    await page.waitForURL(`${viewer.origin}/diff/${now}/baseline/support`);
  });

  test("with a policy tells its verdict and its checks, those that failed first", async (t) => {
    const { dataDir, viewer, ids: [before, after] } = await viewRuns(t, [ok, looped]);
    await writePolicy(dataDir, "version: 2\nmetrics:\n  stop_condition_reached: {kind: invariant}\n  no_loops: {kind: invariant}\n");
    for (const look of LOOKS) {
      const page = await openPage(t, look);
      await page.goto(`${viewer.origin}/diff/${before}/${after}`);
      const policy = page.locator(".policy");
      await eventually(async () => assert.match(await policy.locator(".judgement").innerText(), /✗\s*FAIL\s+1 check failed, 2 passed/));
      await eventually(async () => assert.match(await policy.locator("tbody tr").first().innerText(), /^no_loops\s+✗\s*failed\s/));
      await assertAccessible(page, `a policy: ${look.colorScheme}, ${look.viewport.width} px`);
    }
  });

  test("says why a policy does not judge, and compares all the same", async (t) => {
    const { dataDir, viewer, ids: [before, after] } = await viewRuns(t, [ok, looped]);
    await writePolicy(dataDir, "version: 2\nmetrics:\n  no_such_metric: {kind: invariant}\n");
    const page = await openPage(t);
    await page.goto(`${viewer.origin}/diff/${before}/${after}`);
    await page.getByText("escalate_to_human").first().waitFor();
    await eventually(async () => assert.match(await page.locator(".policy").innerText(), /Not judged: .*policy\.yaml:3:3: /));
  });
});
