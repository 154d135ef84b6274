// The page that compares two runs, or a run with a baseline.

import { getJson, initialData } from "./api.js";
import { comparisonView } from "./comparison.js";
import { fill, make } from "./dom.js";
import { startFrame } from "./frame.js";
import { verdictsView } from "./verdicts.js";

const main = startFrame({ left: [make("span.place", null, "compare")] });
const content = make("div.page-content", { "aria-busy": "true" });
main.append(make("h1.unseen", null, "Comparison"), content);

/** The two sides of the address: `/diff/{a}/{b}` or `/diff/{a}/baseline/{name}`. */
function query() {
  const [, , a = "", b = "", name = ""] = location.pathname.split("/");
  /** @type {Record<string, string>} */
  const sides = b === "baseline" && name ? { a: decodeURIComponent(a), baseline: decodeURIComponent(name) } : { a, b };
  return new URLSearchParams(sides).toString();
}

async function show() {
  const initial = initialData();
  try {
    const answer = initial.comparison ? initial : await getJson(`/api/diff?${query()}`);
    const comparison = answer.comparison ?? answer;
    document.title = `${comparison.before.run_name ?? "run"} → ${comparison.after.run_name ?? "run"} · tracer`;
    fill(content, verdictsView(answer), comparisonView(comparison));
  } catch (error) {
    fill(content, make("p.empty", null, make("strong", null, "These cannot be compared. "), error instanceof Error ? error.message : String(error)));
  }
  content.removeAttribute("aria-busy");
}

show();
