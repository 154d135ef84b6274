// The panels of the inspector: main content by kind, then every detail.

import { make } from "./dom.js";
import { copy, showError } from "./frame.js";
import { messageCards } from "./messages.js";
import { copyAsCurl } from "./run-menu.js";
import { facts, loopCard, runPanel, section } from "./run-about.js";
import { bytes, count, counted, duration } from "./units.js";
import { differencesView, shownValue, textView, valueView } from "./values.js";

/** @import { ErrorDetails, MessageAnswer, Previous, ShownValue, StepJson } from "./answers" */
/** @import { Inspector } from "./inspector.js" */
/** @import { RunModel } from "./run-model.js" */

/** Calls before and after a call that it can be compared with. */
const MAX_OFFERED_CALLS = 50;

/**
 * @param {StepJson} step
 * @param {RunModel} page
 * @param {Inspector} inspector
 * @returns {(HTMLElement | false | null)[]}
 */
export function mainPanel(step, page, inspector) {
  const failure = step.error && errorView(step.error);
  if (step.llm) return [failure, ...llmPanel(step, step.llm, page, inspector)];
  if (step.tool) {
    return [
      failure,
      shownSection("Arguments", step.tool.arguments),
      failure ? null : shownSection("Result", step.tool.result, step.in_flight ? "It has not ended yet." : "Nothing was recorded."),
      comparedSection("Compared with the call before", step.tool.previous_same_tool, page),
    ];
  }
  if (step.state) {
    return [
      comparedSection("What changed", step.state.previous, page),
      step.state.previous ? null : step.state.difference && shownSection("What changed", step.state.difference),
      shownSection("State", step.state.state),
    ];
  }
  if (step.loop) return [loopCard(page, step.loop)];
  if (step.kind === "run") return [failure, ...runPanel(page)];
  return [failure, ...detailsPanel(step, page)];
}

/**
 * @param {string} title
 * @param {ShownValue | null} shown
 * @param {string} [otherwise]
 */
function shownSection(title, shown, otherwise = "Nothing was recorded.") {
  return section(title, shown ? shownValue(shown) : make("p.muted", null, otherwise));
}

/**
 * @param {string} title
 * @param {Previous | null} previous
 * @param {RunModel} page
 */
function comparedSection(title, previous, page) {
  if (!previous) return null;
  const link = make("button.quiet", { onclick: () => page.goTo(previous.event_id) }, `#${previous.number}`);
  return section(
    title,
    previous.differences.length === 0
      ? make("p", null, "✓ Identical to ", link)
      : make(
          "div",
          null,
          make("p.muted", null, "Differs from ", link, ` in ${counted(previous.differences.length, "field")}.`),
          differencesView(previous.differences),
        ),
  );
}

/**
 * @param {StepJson} step
 * @param {NonNullable<StepJson["llm"]>} llm
 * @param {RunModel} page
 * @param {Inspector} inspector
 */
function llmPanel(step, llm, page, inspector) {
  const { plain } = inspector;
  const { messages, compared, removed } = llm;
  const toggle = make(
    "button.chip",
    {
      "aria-pressed": String(plain),
      id: "plain-toggle",
      onclick: () => {
        inspector.plain = !plain;
        inspector.render();
      },
    },
    "Plain text",
  );
  // Messages that the call before had are folded in their place, so that no change is folded with them.
  /** @type {HTMLElement[]} */
  const cards = [];
  for (let from = 0; from < messages.length;) {
    const fold = messages[from].fold;
    const group = messages.slice(from, from + (fold?.count ?? 1));
    cards.push(...(fold ? [foldedMessages(fold.label, group, plain)] : messageCards(group, plain)));
    from += group.length;
  }
  return [
    make(
      "div.panel-tools",
      null,
      make("span.muted", null, llm.heading),
      compared && comparedPicker(step, compared, page, inspector),
      make("span.grow"),
      make("button.quiet", { onclick: () => copyAsCurl(page.id, step).catch(showError) }, "Copy as curl"),
      toggle,
    ),
    ...cards,
    removed.length > 0 && foldedMessages(`${counted(removed.length, "message")} of #${compared?.number} gone`, removed, plain),
    make("h3.divider", null, "Response"),
    ...(llm.response.length > 0 ? messageCards(llm.response, plain) : [make("p.muted", null, "Nothing was recorded.")]),
  ];
}

/**
 * Chooses the call that the messages are compared with.
 * @param {StepJson} step
 * @param {{ event_id: string, number: number }} compared
 * @param {RunModel} page
 * @param {Inspector} inspector
 */
function comparedPicker(step, compared, { columns }, inspector) {
  const calls = [];
  for (let row = 0; columns && row < columns.length; row += 1) {
    if (columns.kindName(row) === "llm" && row !== step.row) calls.push(row);
  }
  const at = calls.findIndex((row) => row > step.row);
  const near = calls.slice(Math.max(0, (at < 0 ? calls.length : at) - MAX_OFFERED_CALLS)).slice(0, 2 * MAX_OFFERED_CALLS);
  const picker = make(
    "select",
    { "aria-label": "Compared with", id: "compared-call", onchange: () => inspector.compare(Number(picker.value)) },
    near.map((row) => {
      const number = columns?.number[row] ?? 0;
      return make("option", { value: row, selected: number === compared.number }, `against #${number}`);
    }),
  );
  return picker;
}

/**
 * Messages that follow each other here as they did in the call before.
 * @param {string} label
 * @param {MessageAnswer[]} messages
 * @param {boolean} plain
 */
function foldedMessages(label, messages, plain) {
  return make(
    "details.earlier",
    {
      ontoggle: (/** @type {Event} */ event) => {
        const details = /** @type {HTMLDetailsElement} */ (event.currentTarget);
        if (details.open && details.childElementCount === 1) details.append(...messageCards(messages, plain));
      },
    },
    make("summary", null, label),
  );
}

/** @param {ErrorDetails} error */
function errorView({ type, message, stack }) {
  const own = stack.filter((line) => line.is_user).length;
  return make(
    "section.failure",
    null,
    make("h3", null, type),
    make("pre.message-text", null, message),
    stack.length > 0 &&
      make(
        "details",
        { open: true },
        make(
          "summary",
          null,
          `Stack, ${counted(stack.length, "line")}${own > 0 && own < stack.length ? `, ${count(own)} of your code` : ""}`,
        ),
        make(
          "ol.stack.mono",
          null,
          stack.map((line) => make("li", { class: line.is_user ? "own" : "muted" }, line.text)),
        ),
      ),
  );
}

/**
 * Every detail of a step.
 * @param {StepJson} step
 * @param {RunModel} page
 */
export function detailsPanel(step, page) {
  const { llm } = step;
  const parent = step.parent_id;
  return [
    section(
      "Step",
      facts([
        ["started", step.start ? `${step.start.replace("T", " ").replace("Z", " UTC")}` : ""],
        ["ended", step.end ? step.end.replace("T", " ").replace("Z", " UTC") : ""],
        ["duration", step.duration_us === null ? "" : `${duration(step.duration_us)} (${count(step.duration_us)} µs)`],
        ["event", step.event_id],
        ["redacted", step.redactions ? counted(step.redactions, "value") : ""],
        ["truncated", step.truncations ? counted(step.truncations, "value") : ""],
      ]),
      make(
        "p.place",
        null,
        step.line !== null &&
          make(
            "button.quiet.mono",
            { title: "Copy", onclick: () => copy(`${step.file}:${step.line}`, "Place copied") },
            `${step.file}:${step.line}`,
          ),
        parent && make("button.quiet", { onclick: () => page.goTo(parent) }, "Parent"),
      ),
    ),
    llm &&
      llm.tools_offered.length > 0 &&
      section(
        "Tools offered",
        make(
          "ul.offered",
          null,
          llm.tools_offered.map(({ name, description, parameters }) =>
            make(
              "li",
              null,
              make("b", null, name),
              description && make("span.muted", null, ` ${description}`),
              parameters !== null && make("details", null, make("summary", null, "takes"), valueView(parameters)),
            ),
          ),
        ),
      ),
    Object.keys(step.meta).length > 0 && section("Metadata", valueView(step.meta)),
    step.attributes && section("Attributes", shownValue(step.attributes)),
  ];
}

/** @param {StepJson} step */
export function rawPanel(step) {
  if (!step.raw) return [make("p.muted", null, "It is not in the log yet.")];
  const raw = step.raw;
  return [
    make(
      "div.panel-tools",
      null,
      make("span.muted.mono", null, step.line === null ? step.file : `${step.file}:${step.line}`),
      make("span.muted", null, bytes(raw.size)),
      make("span.grow"),
      typeof raw.value === "string" && make("button.quiet", { onclick: () => copy(String(raw.value), "Line copied") }, "Copy the line"),
    ),
    make("div.raw.mono", null, raw.value_url ? shownValue(raw) : make("pre", null, textView(String(raw.value)))),
  ];
}
