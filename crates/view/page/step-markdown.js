// A step as Markdown, for an issue or for another model. What a trace holds is code in it, so that no Markdown of it is one.

/** @import { MessageAnswer, StepJson } from "./answers" */

/** The sign around code: written so, because texts of the page are divided by it. */
const TICK = "\x60";

/**
 * @param {StepJson} step
 * @param {string} run its ID
 * @param {string} command what shows the step
 */
export function asMarkdown(step, run, command) {
  /** @param {string} title @param {unknown} value */
  const block = (title, value) => {
    if (value === undefined || value === null) return [];
    return [`**${title}**`, typeof value === "string" ? fenced(value) : fenced(JSON.stringify(value, null, 2), "json")];
  };
  /** @param {MessageAnswer[]} messages */
  const said = (messages) =>
    messages.flatMap(({ role, parts }) =>
      parts.flatMap((part) => block(part.name ? `${code(role)} calls ${code(part.name)}` : code(role), part.value)),
    );
  return [
    `### Step ${step.number}: ${code(step.name)} (${step.kind}${step.failed ? ", failed" : ""})`,
    ...(step.error ? block(code(step.error.type), step.error.message) : []),
    ...block("Arguments", step.tool?.arguments?.value),
    ...block("Result", step.tool?.result?.value),
    ...block("State", step.state?.state?.value),
    ...(step.llm ? said([...step.llm.messages.filter((message) => message.is_new), ...step.llm.response]) : []),
    `Run ${code(run)}, ${code(command)}`,
  ].join("\n\n");
}

/** Length of the longest run of backticks. @param {string} text */
function longestTicks(text) {
  return Math.max(0, ...[...text.matchAll(/\x60+/g)].map(([ticks]) => ticks.length));
}

/** A text in a fence that nothing in it ends. @param {string} text @param {string} [language] */
function fenced(text, language = "") {
  const fence = TICK.repeat(Math.max(3, longestTicks(text) + 1));
  return `${fence}${language}\n${text}\n${fence}`;
}

/** A text as code within a line. @param {string} text */
function code(text) {
  const line = text.replace(/\s+/g, " ").trim() || "?";
  const ticks = TICK.repeat(longestTicks(line) + 1);
  const space = line.startsWith(TICK) || line.endsWith(TICK) ? " " : "";
  return `${ticks}${space}${line}${space}${ticks}`;
}
