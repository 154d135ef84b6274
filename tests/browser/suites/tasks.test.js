// Tasks of a developer who debugs a run, each with the clicks, typed texts and keys that it takes.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { eventually, useBrowser } from "../harness/browser.js";
import { openRun, openRuns, ROWS } from "../harness/pages.js";
import { llm, span, time, tool } from "../harness/runs.js";
import { failed, large, looped, ok } from "../harness/samples.js";

const RUN = ".run-row:not(.head):not([hidden])";
const SELECTED = `${ROWS}[aria-selected=true]`;

const state = (number, value) => (id) => ({
  ...span(id, number, "state", {}),
  events: [{ name: "state", timestamp: time(number * 1000), attributes: { state: JSON.stringify(value) } }],
});

/** A conversation of twenty model calls, each of which repeats the one before. */
const chat = {
  name: "chat-agent",
  children: (id) => Array.from({ length: 20 }, (_, index) => {
    const messages = Array.from({ length: index + 1 }, (_, said) => ({ role: "user", content: `question ${said + 1}` }));
    const made = llm(id, index + 2, "demo-model", "", `answer ${index + 1}`, [100 + (index === 12 ? 9_000 : index), 7]);
    made.events[0].attributes = { content: JSON.stringify({ messages }), format: "json" };
    return made;
  }),
};

/** A page whose interactions are counted. */
function counted(page) {
  let interactions = 0;
  const counts = (act) => async (...given) => {
    interactions += 1;
    await act(...given);
  };
  return {
    click: counts((place) => place.click()),
    fill: counts((place, text) => place.fill(text)),
    press: counts((key) => page.keyboard.press(key)),
    took: (most) => assert.ok(interactions <= most, `${interactions} interactions, at most ${most} are wanted`),
  };
}

const says = (page, place, text) => eventually(async () => assert.match(await page.locator(place).innerText(), text));

describe("it takes", () => {
  useBrowser();

  test("one interaction to know why a run failed: verdict, cause and stack", async (t) => {
    const { page } = await openRuns(t, [failed, ok]);
    const user = counted(page);
    await user.click(page.locator(RUN).filter({ hasText: "refund-agent" }).locator(".run-name"));
    await says(page, "#verdict", /Failed at #3 refund_api: ValueError/);
    await says(page, SELECTED, /refund_api/);
    await says(page, "#inspector", /at refund \(src\/agent\.rs:12\)/);
    user.took(1);
  });

  test("one to find the step that used the most tokens", async (t) => {
    const { page } = await openRun(t, chat);
    const user = counted(page);
    await user.click(page.getByRole("button", { name: /^Most tokens: #13/ }));
    await says(page, SELECTED, /9,100→7/);
    user.took(1);
  });

  test("one to find where a loop began", async (t) => {
    const { page } = await openRun(t, looped);
    const user = counted(page);
    await user.click(page.locator("#inspector .loop-card .evidence-link").first());
    await says(page, SELECTED, /search_kb/);
    await page.waitForURL(/at=0000000000000003/);
    user.took(1);
  });

  test("three to read the prompt of the 17th model call and what it added to the one before", async (t) => {
    const { page } = await openRun(t, chat);
    const user = counted(page);
    await user.click(page.getByRole("group", { name: "Kinds of steps" }).getByRole("button", { name: "LLM" }));
    await user.click(page.locator(ROWS).filter({ hasText: "LLM 17" }));
    await says(page, "#inspector", /question 17/);
    await says(page, "#inspector", /16 earlier messages/);
    user.took(3);
  });

  test("two to see the state before a step", async (t) => {
    const steps = Array.from({ length: 12 }, (_, index) => index + 2);
    const children = (id) => steps.map((number) => (number % 3 === 0 ? state(number, { at: number })(id) : tool(id, number, "work", { number }, "done")));
    const { page } = await openRun(t, { name: "state-agent", children }, { query: "?fold=0" });
    const user = counted(page);
    await user.click(page.locator(ROWS).filter({ hasText: "number=11" }));
    await user.press("3");
    await page.waitForURL(/view=state/);
    await says(page, ".turn.current", /#8\b[\s\S]*at\s*6\s*9/);
    user.took(2);
  });

  test("two to see where a run parted from the one before", async (t) => {
    const shorter = { ...ok, children: (id) => ok.children(id).slice(0, -1) };
    const { page } = await openRuns(t, [shorter, ok]);
    const user = counted(page);
    await user.click(page.locator(RUN).first().locator(".run-name"));
    await page.locator(ROWS).first().waitFor();
    await user.press("c");
    await says(page, ".comparison section.part >> nth=0", /First difference[\s\S]*send_reply/);
    user.took(2);
  });

  test("two to find the runs that called a tool with an argument", async (t) => {
    const { page } = await openRuns(t, [ok, looped, failed]);
    const user = counted(page);
    await user.fill(page.getByRole("searchbox", { name: "Search runs" }), 'tool:search_kb args~"refund policy"');
    const found = ["loop-agent", "support-agent"];
    await eventually(async () => assert.deepEqual((await page.locator(`${RUN} .run-name`).allInnerTexts()).sort(), found));
    user.took(2);
  });

  test("one to find the slowest tool of all runs, from the statistics of tools", async (t) => {
    const { page } = await openRuns(t, [ok, looped], { query: "stats?by=tool" });
    const user = counted(page);
    await user.click(page.getByRole("columnheader", { name: "p95" }).getByRole("button"));
    await eventually(async () => assert.equal((await page.locator(".stats tbody th").allInnerTexts())[1], "lookup_customer"));
    user.took(1);
  });

  test("two to copy a call as curl, and to know why another cannot be copied", async (t) => {
    const called = { name: "curl-agent", children: (id) => [2, 3].map((number) => {
      const made = llm(id, number, "demo-model", `question ${number}`, `answer ${number}`);
      return number === 2 ? { ...made, attributes: { ...made.attributes, "tracer.call_number": 1 } } : made;
    }) };
    const { dataDir, id, page } = await openRun(t, called);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const request = { model: "demo-model", messages: [{ role: "user", content: "it's $HOME" }] };
    const lines = [{ cassette: 1, tracer: "0.1.0" }, {
      n: 1, api: "openai.chat", provider: "openai", path: "/v1/chat/completions", request, response: { status: 200, headers: {}, body: {} },
    }];
    await writeFile(path.join(dataDir, "runs", id, "exchanges.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const user = counted(page);
    await user.click(page.locator(ROWS).filter({ hasText: "answer 2" }));
    await says(page, "#inspector", /question 2/);
    await user.click(page.getByRole("button", { name: "Copy as curl" }));
    await says(page, ".toast", /Copied as curl: the key is read from OPENAI_API_KEY/);
    user.took(2);
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(copied, /^curl -N "\$\{OPENAI_BASE_URL:-https:\/\/api\.openai\.com\/v1\}\/chat\/completions"/);
    assert.deepEqual(JSON.parse(copied.slice(copied.indexOf("\n{"), copied.lastIndexOf("JSON"))), request);
    // The shell gives `curl` the request that was recorded.
    const shell = ["-c", `curl() { cat; }\n${copied}`];
    assert.deepEqual(JSON.parse(execFileSync("sh", shell, { encoding: "utf8" })), request);
    await page.locator(ROWS).filter({ hasText: "answer 3" }).click();
    await says(page, "#inspector", /question 3/);
    await page.getByRole("button", { name: "Copy as curl" }).click();
    await says(page, ".toast", /Nothing was copied: the request of this call was not kept/);
  });

  test("none to follow a run that goes on", async (t) => {
    const { page } = await openRun(t, { ...large(300, -1), status: "running" }, { query: "?fold=0" });
    await page.getByRole("button", { name: "Follow" }).and(page.locator("[aria-pressed=true]")).waitFor();
  });
});
