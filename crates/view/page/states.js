// The states of the agent, one after the other, and what changed from one to the next.

import { getJson, runPath } from "./api.js";
import { make } from "./dom.js";
import { PartedView } from "./parted-view.js";
import { turnSection } from "./turn.js";
import { counted, duration } from "./units.js";
import { differencesView, shownValue } from "./values.js";

/** @import { StateAnswer } from "./answers" */
/** @import { RunPage } from "./run.js" */

export class States {
  /** @param {RunPage} page */
  constructor(page) {
    this.page = page;
    this.view = new PartedView({
      label: "States",
      size: 25,
      noun: "state",
      nothing: "This run has recorded no state. An agent records one with tracer_sdk::state.",
      load: async (from, limit) => {
        const { states, state_count: total } = await getJson(runPath(page.id, "/states", { from, limit }));
        return { items: /** @type {StateAnswer[]} */ (states), total };
      },
      render: (/** @type {StateAnswer} */ entry) => this.#entry(entry),
    });
    this.element = this.view.element;
    this.element.classList.add("transcript");
  }

  async show() {
    if (this.view.parts.length === 0) await this.view.open(0);
  }

  /** @param {StateAnswer} entry */
  #entry({ row, number, offset_us: offset, state: { state, previous, difference } }) {
    const whole = state && make("details", { open: !previous }, make("summary", null, "The whole state"), shownValue(state));
    return turnSection(
      this.page,
      { row, number, kind: "state" },
      [
        offset ? `+${duration(offset)}` : "0",
        previous ? `${counted(previous.differences.length, "change")} since #${previous.number}` : "the first",
      ],
      previous && previous.differences.length > 0 && differencesView(previous.differences),
      !previous && difference && make("div", null, make("h3.label", null, "What changed, as recorded"), shownValue(difference)),
      whole,
    );
  }
}
