// Where a selected text came from: a button while a text of the inspector is selected; the answer is a banner over the run.

import { runPath } from "./api.js";
import { make } from "./dom.js";
import { banner, showError } from "./frame.js";
import { Latest } from "./latest.js";
import { effect } from "./store.js";

/** @import { Lineage } from "./answers" */
/** @import { Inspector } from "./inspector.js" */

/** Longer texts are no values. */
const MAX_CHARS = 200;

/** @param {Inspector} inspector */
export function whyButton(inspector) {
  let value = "";
  const latest = new Latest();
  const button = make(
    "button.quiet",
    {
      id: "why",
      hidden: true,
      // The text stays selected.
      onmousedown: (/** @type {Event} */ event) => event.preventDefault(),
      onclick: () => ask(inspector, latest, value).catch(showError),
    },
    "Where did this come from?",
  );
  effect(() => {
    // The answer is about the step that was selected.
    if (inspector.page.selection.row < 0) return;
    latest.drop();
    banner("why", null);
  });
  document.addEventListener("selectionchange", () => {
    const selection = getSelection();
    value = selection?.toString().trim() ?? "";
    const isInside = selection?.anchorNode && inspector.element.contains(selection.anchorNode);
    button.hidden = !isInside || value === "" || value.length > MAX_CHARS;
  });
  return button;
}

/**
 * @param {Inspector} inspector
 * @param {Latest} latest
 * @param {string} value
 */
async function ask({ page }, latest, value) {
  const { step } = page;
  // Of other steps, such as states, it is not known that they use what they have.
  const used = step && (step.kind === "tool" || step.kind === "llm") ? step.number : null;
  const lineage = /** @type {Lineage | null} */ (await latest.ask(runPath(page.id, "/lineage", { value, step: used })));
  if (!lineage) return;
  const places = [...lineage.sources, ...lineage.candidates, lineage.asked_by, lineage.used_by].filter((place) => place !== null);
  banner("why", [
    lineage.sentence,
    " ",
    ...places.map((place) => make("button.quiet", { onclick: () => page.goTo(place.event_id) }, place.words)),
    make("button.quiet", { onclick: () => banner("why", null) }, "Dismiss"),
  ]);
}
