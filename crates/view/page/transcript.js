// The run as a conversation: what was said that is new, which tools were called with what, and what came of it.

import { getJson, runPath } from "./api.js";
import { make } from "./dom.js";
import { messageCards } from "./messages.js";
import { PartedView } from "./parted-view.js";
import { turnSection } from "./turn.js";
import { counted, duration } from "./units.js";
import { shownValue } from "./values.js";

/** @import { TurnAnswer } from "./answers" */
/** @import { RunPage } from "./run.js" */

const STEPS_PER_PART = 20;
/** A larger result is folded. */
const MAX_OPEN_RESULT_BYTES = 600;

export class Transcript {
  /** @param {RunPage} page */
  constructor(page) {
    this.page = page;
    this.view = new PartedView({
      label: "Transcript",
      size: STEPS_PER_PART,
      noun: "step",
      nothing: "Nothing has been said in this run.",
      load: async (from, limit) => {
        const { turns, step_count: total } = await getJson(runPath(page.id, "/transcript", { from, limit }));
        return { items: /** @type {TurnAnswer[]} */ (turns), total };
      },
      render: (/** @type {TurnAnswer} */ turn) => this.#turn(turn),
    });
    this.element = this.view.element;
    this.element.classList.add("transcript");
  }

  /** Opens at the selected step. */
  async show() {
    const { columns, selected } = this.page;
    const number = columns && selected >= 0 ? columns.number[selected] : 0;
    await this.view.open(Math.max(0, number - 1));
    this.reveal(number);
  }

  /** @param {number} number */
  async reveal(number) {
    if (number === 0) return;
    const find = () => this.element.querySelector(`[data-number="${number}"]`);
    if (!find()) await this.view.open(number - 1);
    for (const turn of this.element.querySelectorAll(".turn.current")) turn.classList.remove("current");
    find()?.classList.add("current");
    find()?.scrollIntoView({ block: "nearest" });
  }

  /** @param {TurnAnswer} turn */
  #turn(turn) {
    const facts = [
      turn.offset_us ? `+${duration(turn.offset_us)}` : "",
      turn.duration_us ? duration(turn.duration_us) : "",
      turn.in_flight ? "in flight" : "",
    ];
    return turnSection(
      this.page,
      turn,
      facts,
      turn.note && make("p.muted", null, turn.note),
      messageCards(turn.messages, false),
      messageCards(turn.response, false),
      (turn.arguments || turn.result) &&
        make(
          "div.turn-call",
          null,
          turn.arguments && make("div", null, make("h3.label", null, "Arguments"), shownValue(turn.arguments)),
          turn.result && this.#result(turn.result),
        ),
      turn.gist && make("p.turn-gist", null, turn.gist),
      turn.error && make("div.failure", null, make("h3.label", null, turn.error.type), make("p.message-text", null, turn.error.message)),
    );
  }

  /** @param {NonNullable<TurnAnswer["result"]>} result */
  #result(result) {
    if (result.size <= MAX_OPEN_RESULT_BYTES) return make("div", null, make("h3.label", null, "Result"), shownValue(result));
    const details = make(
      "details",
      {
        ontoggle: () => {
          if (details.childElementCount === 1) details.append(shownValue(result));
        },
      },
      make("summary", null, `Result, ${counted(result.size, "byte")}`),
    );
    return details;
  }
}
