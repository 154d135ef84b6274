// The accessibility rules of axe, run through the debugger: the page's own policy stays in force.
import assert from "node:assert/strict";
import axe from "axe-core";

/** Fails with what is violated and where. */
export async function assertAccessible(page, where) {
  await page.evaluate(axe.source);
  const result = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const reported = result.violations.map(({ id, help, nodes }) =>
    `${id}: ${help}\n${nodes.slice(0, 5).map((node) => `    ${node.target.join(" ")}  ${node.failureSummary ?? ""}`).join("\n")}`);
  assert.equal(reported.join("\n"), "", where);
}

/** The themes and widths in which every page is looked at. */
export const LOOKS = ["light", "dark"].flatMap((colorScheme) =>
  [1400, 900, 390].map((width) => ({ colorScheme, viewport: { width, height: 900 } })));
