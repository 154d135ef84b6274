// The page that compares two runs, or a run with a baseline.

import { initialData } from "./api.js";
import { compare, comparisonView } from "./comparison.js";
import { fill, make } from "./dom.js";
import { startFrame } from "./frame.js";

const main = startFrame({ left: [make("span.place", null, "compare")] });
const content = make("div.page-content", { "aria-busy": "true" });
main.append(make("h1.unseen", null, "Comparison"), content);

const { a, b, baseline } = initialData();
/** @type {Record<string, string>} */
const sides = baseline ? { a, baseline } : { a, b };

async function show() {
  try {
    const comparison = await compare(sides);
    document.title = `${comparison.before.run_name ?? "run"} → ${comparison.after.run_name ?? "run"} · tracer`;
    fill(content, comparisonView(comparison, sides));
  } catch (error) {
    fill(
      content,
      make("p.empty", null, make("strong", null, "These cannot be compared. "), error instanceof Error ? error.message : String(error)),
    );
  }
  content.removeAttribute("aria-busy");
}

show();
