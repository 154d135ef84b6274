// The pictures of the documentation, taken of runs of the demo and of the example agent. With TRACER_WRITE_SCREENSHOTS=1 they are written to docs/images.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { openPage, useBrowser } from "../harness/browser.js";
import { finished, temporaryFolder, tracer } from "../harness/program.js";
import { view } from "../harness/viewer.js";

const DOCS = path.resolve(import.meta.dirname, "../../../docs");
const IMAGES = path.join(DOCS, "images");
const WRITES = process.env.TRACER_WRITE_SCREENSHOTS === "1";

/** The demo's runs, one that went well and one that fails the gate, and some of the example agent. */
async function demo(t) {
  const dataDir = await temporaryFolder(t);
  await tracer(dataDir, "demo");
  for (const fault of ["tool", "error", "panic"]) await finished(dataDir, "agent", "--fail", fault, "What do 3 parcels to Norway cost?");
  await tracer(dataDir, "demo", "--regression").catch((error) => assert.equal(error.code, 1));
  const { stdout } = await tracer(dataDir, "list", "--json", "--limit", "all", "--trials");
  const runs = JSON.parse(stdout).runs;
  const looped = runs.find((run) => run.counts.loop_warnings > 0);
  const good = runs.findLast((run) => run.counts.loop_warnings === 0);
  return { dataDir, viewer: await view(t, dataDir), looped: looped.trace_id, good: good.trace_id };
}

const open = (address) => async (page, { viewer, ...runs }) => {
  await page.goto(viewer.origin + address(runs));
  await page.waitForTimeout(600);
};

/** The widths at which each page is shown, in both themes: beside each other in one picture. */
const WIDTHS = [1440, 1024, 390];
const HEIGHT = 620;
const SCALE = 0.3;

/** Several pictures as one: a row for each theme. */
async function montage(t, pictures, file) {
  const page = await openPage(t, { viewport: { width: Math.ceil(SCALE * WIDTHS.reduce((sum, width) => sum + width, 0) + 40), height: Math.ceil(SCALE * 2 * HEIGHT) + 24 } });
  await page.setContent("<body style='margin:4px;display:flex;flex-wrap:wrap;gap:8px;background:#888'></body>");
  for (const { bytes, width } of pictures) {
    await page.evaluate(async ([data, shown]) => {
      const img = Object.assign(new Image(shown), { src: `data:image/png;base64,${data}` });
      document.body.append(img);
      await img.decode();
    }, [bytes.toString("base64"), width * SCALE]);
  }
  return page.screenshot(file);
}

const PICTURES = [
  { name: "run-widths", isMontage: true, take: async (page, runs) => {
    await open(({ looped }) => `/r/${looped}`)(page, runs);
    await page.locator("#inspector .loop-card").waitFor({ state: "attached" });
  } },
  { name: "compare", isMontage: true, take: open(({ good, looped }) => `/diff/${good}/${looped}`) },
  { name: "runs", isMontage: true, take: open(() => "/") },
  { name: "stats", isMontage: true, take: open(() => "/stats?by=tool") },
  { name: "run", take: async (page, runs) => {
    await open(({ good }) => `/r/${good}`)(page, runs);
    for (const key of ["j", "j", "j", "j", "Enter"]) await page.keyboard.press(key);
    await page.locator("#inspector .step-head").waitFor();
  } },
  { name: "loop", take: async (page, runs) => {
    await open(({ looped }) => `/r/${looped}`)(page, runs);
    await page.keyboard.press("l");
    await page.keyboard.press("Enter");
  } },
  { name: "transcript", take: open(({ good }) => `/r/${good}?view=transcript`) },
  { name: "exported", take: async (page, { dataDir, good }) => {
    const file = path.join(dataDir, "run.html");
    await tracer(dataDir, "export", good, "--format", "html", "--out", file);
    await page.goto(pathToFileURL(file).href);
  } },
];

describe("the pictures of the documentation", () => {
  useBrowser();

  test("show pages of real runs that have no fault", async (t) => {
    const runs = await demo(t);
    if (WRITES) await mkdir(IMAGES, { recursive: true });
    for (const { name, isMontage, take } of PICTURES) {
      const file = WRITES ? { path: path.join(IMAGES, `${name}.png`) } : {};
      const shoot = async (look, options = {}) => {
        const page = await openPage(t, look);
        await take(page, runs);
        await page.waitForTimeout(500);
        const bytes = await page.screenshot(options);
        assert.ok(bytes.length > 10_000, `${name} is almost empty`);
        return { bytes, width: look.viewport.width };
      };
      if (!isMontage) {
        await shoot({ viewport: { width: 1280, height: 760 } }, file);
        continue;
      }
      const pictures = [];
      for (const colorScheme of ["light", "dark"]) {
        for (const width of WIDTHS) pictures.push(await shoot({ colorScheme, viewport: { width, height: HEIGHT } }));
      }
      const { length } = await montage(t, pictures, file);
      assert.ok(length < 200_000, `${name} has ${length} bytes`);
    }
  });

  test("are those that the guide shows", async () => {
    const guide = await readFile(path.join(DOCS, "the-viewer.md"), "utf8");
    const shown = [...guide.matchAll(/images\/([a-z-]+)\.png/g)].map((match) => match[1]);
    assert.deepEqual([...new Set(shown)].sort(), PICTURES.map((picture) => picture.name).sort());
  });
});
