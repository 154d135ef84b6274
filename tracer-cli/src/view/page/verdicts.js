// What the project's policy says of the run that is compared, rule by rule; nothing where there is no policy.

import { make } from "./dom.js";

/** @typedef {{ id?: string, rule?: string, status?: string, verdict?: string, message?: string, reason?: string }} Verdict */

/**
 * @param {{ verdicts?: Verdict[], policy?: { verdicts?: Verdict[] } | null }} answer
 * @returns {HTMLElement | null}
 */
export function verdictsView(answer) {
  const verdicts = answer.verdicts ?? answer.policy?.verdicts ?? [];
  if (verdicts.length === 0) return null;
  return make("section.part.verdicts", null, make("h2", null, "Policy"), make("table.metrics", null,
    make("thead", null, make("tr", null, ["Rule", "Verdict", "Why"].map((label) => make("th", { scope: "col" }, label)))),
    make("tbody", null, verdicts.map((verdict) => make("tr", null, make("th", { scope: "row" }, verdict.id ?? verdict.rule ?? ""),
      make("td", null, verdict.verdict ?? verdict.status ?? ""), make("td", null, verdict.message ?? verdict.reason ?? ""))))));
}
