// Features 4, 5 and 6: each step in full by its kind, the conversation, and the evidence of a loop.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually, openPage, useBrowser } from "../harness/browser.js";
import { openRun, ROWS, viewRuns } from "../harness/pages.js";
import { llm, span, time, tool } from "../harness/runs.js";
import { failed, looped, ok } from "../harness/samples.js";

const inspector = (page) => page.locator("#inspector");

/** Opens the step with this event ID. */
async function openStep(t, run, number, tab = "") {
  const at = number.toString(16).padStart(16, "0");
  const opened = await openRun(t, run, { query: `?fold=0&at=${at}${tab}` });
  await opened.page.locator(`${ROWS}[aria-selected=true]`).waitFor();
  return opened;
}

describe("a step in full", () => {
  useBrowser();

  test("of a model shows the conversation as it reads, with its Markdown", async (t) => {
    const { page } = await openStep(t, ok, 3);
    await inspector(page).getByText("Where is my refund?").first().waitFor();
    await eventually(async () => assert.equal(await inspector(page).locator("strong").filter({ hasText: "within three days" }).count(), 1));
    await eventually(async () => assert.ok(await inspector(page).locator("li").count() >= 2));
    await eventually(async () => assert.match(await inspector(page).locator("pre").first().innerText(), /let days = 3;/));
    await eventually(async () => assert.match(await inspector(page).innerText(), /212/));
  });

  test("of a tool shows arguments and result by their fields, texts with their line breaks", async (t) => {
    const { page } = await openStep(t, ok, 5);
    await inspector(page).getByText("refund policy").first().waitFor();
    for (const tab of await inspector(page).locator("[role=tab]").all()) {
      const name = await tab.innerText();
      await tab.click();
      if (!/raw/i.test(name)) assert.ok(!(await inspector(page).innerText()).includes("\\n"), `an escaped line break in ${name}`);
    }
  });

  test("that failed shows its error and the whole stack", async (t) => {
    const { page } = await openStep(t, failed, 4);
    await inspector(page).getByText("refund API returned 503").first().waitFor();
    await eventually(async () => assert.match(await inspector(page).innerText(), /at refund \(src\/agent\.rs:12\)\n/));
  });

  test("of a state shows what changed", async (t) => {
    const state = (number, value) => (id) => ({ ...span(id, number, "state", {}), events: [{ name: "state", timestamp: time(number * 1000),
      attributes: { state: JSON.stringify(value) } }] });
    const { page } = await openStep(t, { name: "states", children: (id) => [state(2, { phase: "triage", n: 1 })(id), state(3, { phase: "done", n: 1 })(id)] }, 3);
    await inspector(page).getByText("phase").first().waitFor();
    await eventually(async () => assert.match(await inspector(page).innerText(), /triage[\s\S]*done/));
  });

  test("of a loop proves it: each link lands on a row that is there, and the cost is reported", async (t) => {
    const { page } = await openStep(t, looped, 6);
    const links = inspector(page).getByRole("button", { name: /^#\d+/ }).or(inspector(page).getByRole("link", { name: /^#\d+/ }));
    await links.first().waitFor();
    await eventually(async () => assert.match(await inspector(page).innerText(), /evidence\s*#2\s*#3\s*#4\s*then again\s*#6\s*#7/));
    await eventually(async () => assert.match(await inspector(page).innerText(), /search_kb, 5 times, with identical arguments and results/));
    await links.nth(1).click();
    const selected = page.locator(`${ROWS}[aria-selected=true]`);
    await page.waitForURL(/at=0000000000000004/);
    await eventually(async () => assert.match(await selected.innerText(), /search_kb/));
  });

  test("shows a picture as a picture, and rows of a table as a table", async (t) => {
    const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const { page } = await openStep(t, { name: "seeing", children: (id) => {
      const content = [{ type: "text", text: "What is it?" }, { type: "image_url", image_url: { url: `data:image/png;base64,${png}` } }];
      const asked = llm(id, 2, "demo-model", "", "A dot.");
      asked.events[0].attributes = { content: JSON.stringify({ messages: [{ role: "user", content }] }), format: "json" };
      return [asked, tool(id, 3, "look_up", {}, [{ id: 1, name: "Ada" }, { id: 2, name: "Bo" }])];
    } }, 2);
    const picture = inspector(page).locator("img.picture");
    await eventually(async () => assert.equal(await picture.evaluate((img) => img.naturalWidth), 1));
    await page.keyboard.press("j");
    await eventually(async () => assert.deepEqual(await inspector(page).locator(".value-table thead th").allInnerTexts(), ["Row", "id", "name"]));
  });

  test("finds a field in a large value and copies its path", async (t) => {
    const orders = Array.from({ length: 40 }, (_, number) => ({ number, to: { town: number === 31 ? "Oslo" : "Bergen" } }));
    const { page } = await openStep(t, { name: "orders", children: (id) => [tool(id, 2, "list_orders", {}, { orders })] }, 2);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await inspector(page).getByRole("searchbox", { name: "Find in this value" }).fill("oslo");
    await inspector(page).locator(".value-hits button").click();
    await eventually(async () => assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "orders[31].to.town"));
  });

  test("of a model is compared with any other call, whose messages that are gone are counted", async (t) => {
    const { page } = await openStep(t, { name: "chat", children: (id) => [["a", "b"], ["a", "b", "c"], ["a", "x"]].map((said, index) => {
      const made = llm(id, index + 2, "demo-model", "", `answer ${index}`);
      const messages = said.map((content) => ({ role: "user", content }));
      made.events[0].attributes = { content: JSON.stringify({ messages }), format: "json" };
      return made;
    }) }, 4);
    await inspector(page).getByText("Parts from #2 after 1 message, so that no cache has what follows:").waitFor();
    await inspector(page).getByText("2 messages of #2 gone").waitFor();
    await inspector(page).getByRole("combobox", { name: "Compared with" }).selectOption({ label: "against #1" });
    await inspector(page).getByText("1 message of #1 gone").waitFor();
  });

  test("of the run tells how it was started", async (t) => {
    const { page } = await openStep(t, ok, 1);
    await inspector(page).getByText("/home/ada/agent").first().waitFor();
    await eventually(async () => assert.match(await inspector(page).innerText(), /--verbose/));
  });
});

describe("the transcript", () => {
  useBrowser();

  test("says each thing once, under its role, with calls and what came of them", async (t) => {
    const { page } = await openRun(t, { name: "chat", children: (id) => {
      const message = (role, content) => ({ role, content });
      const first = [message("system", "Be kind."), message("user", "Where is it?")];
      const call = (number, messages, answer) => {
        const made = llm(id, number, "demo-model", "", answer);
        made.events[0].attributes = { content: JSON.stringify({ messages }), format: "json" };
        return made;
      };
      return [call(2, first, "Let me look."), call(3, [...first, message("assistant", "Let me look."), message("user", "Well?")], "It is here.")];
    } }, { query: "?view=transcript" });
    const transcript = page.locator(".transcript");
    await transcript.getByText("It is here.").waitFor();
    const reported = await transcript.innerText();
    for (const text of ["Be kind.", "Where is it?", "Let me look.", "Well?", "It is here."]) {
      assert.equal(reported.split(text).length - 1, 1, `${text} is said once`);
    }
  });

  test("is what a link to it shows from the first moment, never the steps", async (t) => {
    const { viewer, ids: [id] } = await viewRuns(t, [ok]);
    const page = await openPage(t);
    await page.addInitScript((rows) => {
      globalThis.rowsSeen = 0;
      new MutationObserver(() => { globalThis.rowsSeen += document.querySelectorAll(rows).length; })
        .observe(document, { childList: true, subtree: true });
    }, ROWS);
    await page.goto(`${viewer.origin}/r/${id}?view=transcript`);
    await page.locator(".transcript").getByText("Where is my refund?").first().waitFor();
    assert.equal(await page.evaluate(() => globalThis.rowsSeen), 0);
    assert.equal(await page.locator(".minimap-position").isVisible(), false, "no step is on the screen");
  });

  test("keeps the selection when one goes there and back", async (t) => {
    const { page } = await openStep(t, ok, 5);
    await page.keyboard.press("2");
    await page.waitForURL(/view=transcript/);
    await page.keyboard.press("1");
    await page.waitForURL(/at=0000000000000005/);
  });
});
