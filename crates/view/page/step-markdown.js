// A step as Markdown, for an issue or for another model. What a trace holds is code in it, so that no Markdown of it is one.

import { jsonText } from "./api.js";
import { bytes } from "./units.js";

/** @import { MessageAnswer, PartAnswer, ShownValue, StepJson } from "./answers" */

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
    return [`**${title}**`, typeof value === "string" ? fenced(value) : fenced(jsonText(value, 2), "json")];
  };
  /** A value, or how a large one begins. @param {string} title @param {ShownValue | PartAnswer | null} [shown] */
  const shownBlock = (title, shown) => {
    const isCut = shown?.head !== undefined;
    return block(isCut ? `${title}, the beginning of ${bytes(shown.size)}` : title, shown?.head ?? shown?.value);
  };
  /** @param {MessageAnswer[]} messages */
  const said = (messages) =>
    messages.flatMap(({ role, parts }) =>
      parts.flatMap((part) => shownBlock(part.name ? `${code(role)} calls ${code(part.name)}` : code(role), part)),
    );
  return [
    `### Step ${step.number}: ${code(step.name)} (${step.kind}${step.failed ? ", failed" : ""})`,
    ...(step.error ? block(code(step.error.type), step.error.message) : []),
    ...shownBlock("Arguments", step.tool?.arguments),
    ...shownBlock("Result", step.tool?.result),
    ...shownBlock("State", step.state?.state),
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
