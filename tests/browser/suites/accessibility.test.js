// The rules of axe on every page and state, in both themes and three widths; no sideways scrolling; kinds shown by more than colour.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assertAccessible, LOOKS } from "../harness/axe.js";
import { eventually, openPage, useBrowser } from "../harness/browser.js";
import { ROWS, viewRuns } from "../harness/pages.js";
import { tool } from "../harness/runs.js";
import { damaged, empty, failed, looped, ok, running } from "../harness/samples.js";

/** A result that is shown as a table, in a value that can be searched. */
const tabular = { name: "tabular", children: (id) => [tool(id, 2, "look_up", {}, { rows: Array.from({ length: 15 }, (_, number) => ({ number, name: "Ada" })) })] };

describe("accessibility", () => {
  useBrowser();

  for (const look of LOOKS) {
    const reported = `${look.colorScheme}, ${look.viewport.width} px`;
    test(`axe finds nothing on any page: ${reported}`, async (t) => {
      const { viewer, ids } = await viewRuns(t, [ok, failed, looped, running, damaged, empty, tabular]);
      const page = await openPage(t, { ...look, allow: /404/ });
      const paths = ["/", "/?q=nothing", "/stats", "/stats?by=tool", "/stats?by=error&q=nothing", ...ids.map((id) => `/r/${id}`), ...["transcript", "state", "compare", "raw"].map((view) => `/r/${ids[0]}?view=${view}`),
        `/r/${ids[1]}?at=0000000000000004`, `/r/${ids[2]}?at=0000000000000006`, `/r/${ids[0]}?at=0000000000000003`, `/r/${ids[6]}?at=0000000000000002&sort=duration`, `/diff/${ids[0]}/${ids[2]}`, "/r/ffffffffffff"];
      for (const path of paths) {
        await page.goto(viewer.origin + path);
        await page.waitForTimeout(250);
        await assertAccessible(page, `${path}: ${reported}`);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.ok(overflow <= 0, `${path} scrolls sideways by ${overflow} px: ${reported}`);
      }
    });
  }

  test("at 320 px, as with 400 % zoom, nothing scrolls sideways", async (t) => {
    const { viewer, ids } = await viewRuns(t, [ok, failed]);
    const page = await openPage(t, { viewport: { width: 320, height: 600 } });
    for (const path of ["/", "/stats?by=tool", `/r/${ids[0]}`, `/r/${ids[1]}?view=transcript`]) {
      await page.goto(viewer.origin + path);
      await page.waitForTimeout(250);
      await eventually(async () => assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 320), path));
    }
  });

  test("every kind of step has a sign and a word besides its colour", async (t) => {
    const { viewer, ids } = await viewRuns(t, [looped]);
    const page = await openPage(t, { forcedColors: "active" });
    await page.goto(`${viewer.origin}/r/${ids[0]}?fold=0`);
    await page.locator(ROWS).first().waitFor();
    for (const row of await page.locator(ROWS).all()) {
      await eventually(async () => assert.ok(await row.locator("svg").count() > 0));
      await eventually(async () => assert.match(await row.innerText(), /\b(Run|LLM|Tool|State|Error|Loop|Span)\b/i));
    }
  });
});
