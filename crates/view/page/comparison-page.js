// The page that compares two runs, or a run with a baseline.

import { showComparison } from "./comparison.js";
import { make } from "./dom.js";
import { startFrame } from "./frame.js";

const main = startFrame({ left: [make("span.place", null, "compare")] });
const content = make("div.page-content", { "aria-busy": "true" });
main.append(make("h1.unseen", null, "Comparison"), content);

const [, , a, b, baseline] = location.pathname.split("/");
/** @type {Record<string, string>} */
const sides = baseline ? { a, baseline: decodeURIComponent(baseline) } : { a, b };

const comparison = await showComparison(content, sides);
if (comparison) {
  document.title = `${comparison.before.run_name ?? "run"} → ${comparison.after.run_name ?? "run"} · tracer`;
}
content.removeAttribute("aria-busy");
