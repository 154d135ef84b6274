// The run as a conversation: new messages, tool calls and their results; or its states and their changes.

import { getJson, runPath } from "./api.js";
import { make } from "./dom.js";
import { messageCards } from "./messages.js";
import { PartedView } from "./parted-view.js";
import { turnSection } from "./turn.js";
import { counted, duration } from "./units.js";
import { differencesView, shownValue } from "./values.js";

/** @import { TurnAnswer } from "./answers" */
/** @import { RunModel } from "./run-model.js" */

const STEPS_PER_PART = 20;
/** A larger result is folded. */
const MAX_OPEN_RESULT_BYTES = 600;

export class Transcript {
  /**
   * @param {RunModel} page
   * @param {"state"} [kind] of the steps, where not all are shown
   */
  constructor(page, kind) {
    this.page = page;
    this.kind = kind;
    this.view = new PartedView({
      label: kind ? "States" : "Transcript",
      size: STEPS_PER_PART,
      noun: kind ?? "step",
      nothing: kind ? "This run has recorded no state. An agent records one with tracer_sdk::state." : "Nothing has been said in this run.",
      load: async (from, limit) => {
        const { turns, turn_count: total } = await getJson(runPath(page.id, "/transcript", { kind, from, limit }));
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
    await this.view.open(Math.max(0, this.#placeOf(number)));
    this.reveal(number);
  }

  /**
   * The place of a step in the list; of one that is not in it, that of the last one before.
   * @param {number} number
   */
  #placeOf(number) {
    const { columns } = this.page;
    if (!this.kind || !columns) return number - 1;
    let before = 0;
    for (let row = 0; row < columns.length; row += 1) {
      if (columns.kindName(row) === this.kind && columns.number[row] <= number) before += 1;
    }
    return before - 1;
  }

  /** @param {number} number */
  async reveal(number) {
    const place = this.#placeOf(number);
    if (place < 0) return;
    if (!this.view.has(place)) await this.view.open(place);
    const turns = [.../** @type {NodeListOf<HTMLElement>} */ (this.element.querySelectorAll(".turn"))];
    const current = turns.findLast((turn) => Number(turn.dataset.number) <= number);
    for (const turn of turns) turn.classList.toggle("current", turn === current);
    current?.scrollIntoView({ block: "nearest" });
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
      turn.state && this.#state(turn.state),
      turn.error && make("div.failure", null, make("h3.label", null, turn.error.type), make("p.message-text", null, turn.error.message)),
    );
  }

  /** @param {NonNullable<TurnAnswer["state"]>} state */
  #state({ state, previous, difference }) {
    return make(
      "div",
      null,
      previous && make("p.muted", null, `${counted(previous.differences.length, "change")} since #${previous.number}`),
      previous && previous.differences.length > 0 && differencesView(previous.differences),
      !previous && difference && make("div", null, make("h3.label", null, "What changed, as recorded"), shownValue(difference)),
      state && make("details", { open: !previous }, make("summary", null, "The whole state"), shownValue(state)),
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
