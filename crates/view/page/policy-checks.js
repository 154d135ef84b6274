// The judgement of the project's policy on the run after: the verdict, and every check with allowed and seen values.

import { make, table } from "./dom.js";

/** @import { DiffAnswer, PolicyCheck, PolicyJudgement } from "./answers" */

/**
 * @param {DiffAnswer} comparison
 * @returns {HTMLElement | null} nothing when there is no policy
 */
export function policySection({ before, policy }) {
  if (!policy) return null;
  const against = before.kind === "baseline" ? "the baseline" : "the run before";
  return make(
    "section.part.policy",
    null,
    make("h2", null, "Policy"),
    make("p.muted", null, "The run after, judged by ", make("code", null, policy.file), ` against ${against}.`),
    policy.problem && make("p", null, make("strong", null, "Not judged: "), policy.problem.message),
    policy.problem?.hints.map((hint) => make("p.muted", null, `hint: ${hint}`)),
    policy.judgement && judgementParts(policy.judgement),
  );
}

/** @param {PolicyJudgement} judgement */
function judgementParts({ verdict, sign, word, tally, notices, checks }) {
  return [
    make("p.judgement", null, outcome(verdict, sign, word), ` ${tally}`),
    ...notices.map((notice) => make("p.notice-line", null, notice)),
    checks.length > 0 && checksTable(checks),
  ];
}

/** @param {PolicyCheck[]} checks */
function checksTable(checks) {
  return table("table.metrics.checks", ["Check", "Outcome", "Allowed", "Seen"], make("tbody", null, checks.map(checkRow)));
}

/** @param {PolicyCheck} check */
function checkRow({ name, outcome: became, sign, word, allowed, seen }) {
  return make(
    "tr",
    { data: { outcome: became } },
    make("th", { scope: "row" }, name),
    make("td", null, outcome(became, sign, word)),
    make("td", null, allowed),
    make("td", null, seen),
  );
}

/** @param {PolicyCheck["outcome"] | PolicyJudgement["verdict"]} became @param {string} sign @param {string} word */
function outcome(became, sign, word) {
  return make("span.judged", { data: { outcome: became } }, make("span.sign", { "aria-hidden": "true" }, sign), word);
}
