// A step in a list of steps that are read one after the other.

import { glyph, kindWord, make } from "./dom.js";

/** @import { RunModel } from "./run-model.js" */

/**
 * @param {RunModel} page
 * @param {{ row: number | null, number: number, kind: string, name?: string, failed?: boolean }} step
 * @param {(string | false | null)[]} facts
 * @param {...(Parameters<typeof make>[2])} content
 */
export function turnSection(page, { row, number, kind, name, failed = false }, facts, ...content) {
  return make(
    "section.turn",
    { data: { kind: failed ? "error" : kind, number } },
    make(
      "div.turn-head",
      null,
      make(
        "h2",
        null,
        make(
          "button.turn-link",
          { title: "Show the step", onclick: () => row !== null && page.select(row, { open: true }) },
          glyph(failed ? "error" : kind),
          make("span.kind", null, kindWord(kind)),
          name && make("b", null, name),
          make("span.mono.muted", null, `#${number}`),
        ),
      ),
      make("span.muted", null, facts.filter(Boolean).join(" · ")),
    ),
    ...content,
  );
}
