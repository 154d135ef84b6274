// The selected step in tabs: main content by kind, every detail, the line as it is stored.

import { runPath } from "./api.js";
import { detailsPanel, mainPanel, rawPanel } from "./details.js";
import { fill, glyph, kindWord, make } from "./dom.js";
import { copy } from "./frame.js";
import { Latest } from "./latest.js";
import { Tabs } from "./tabs.js";
import { duration } from "./units.js";

/** @import { StepKind, StepJson } from "./answers" */
/** @import { RunPage } from "./run.js" */

/** The name of the first tab. @type {Record<StepKind, string>} */
const MAIN_TAB = { run: "Run", llm: "Messages", tool: "Call", state: "State", error: "Error", loop: "Evidence", span: "Span" };

export class Inspector {
  /**
   * @param {RunPage} page
   * @param {HTMLElement} element
   */
  constructor(page, element) {
    this.page = page;
    this.element = element;
    /** @type {StepJson | null} */
    this.step = null;
    this.latest = new Latest();
    this.plain = false;
  }

  /**
   * @param {number} row
   * @param {StepJson | null} known its answer, where it is here
   */
  async show(row, known) {
    this.latest.drop();
    const step = /** @type {StepJson | null} */ (known ?? (await this.latest.ask(runPath(this.page.id, "/steps", { row }))));
    if (!step) return;
    this.step = step;
    if (this.page.isChosen) this.page.setRoute({ at: step.event_id });
    this.render();
  }

  render() {
    const { step, page } = this;
    if (!step) return;
    const focused = this.element.contains(document.activeElement) ? document.activeElement?.id : "";
    const tabs = new Tabs(
      "About the step",
      "step-panel",
      [
        ["main", MAIN_TAB[step.kind]],
        ["details", "Details"],
        ["raw", "Raw"],
      ],
      (tab) => this.openTab(tab === "main" ? "" : tab),
    );
    const { tab } = page.route;
    const open = tab === "details" || tab === "raw" ? tab : "main";
    tabs.show(open);
    const panel = make(
      "div.step-panel",
      { role: "tabpanel", id: "step-panel", "aria-labelledby": `step-panel-tab-${open}`, tabindex: 0 },
      open === "raw" ? rawPanel(step) : open === "details" ? detailsPanel(step, page) : mainPanel(step, page, this),
    );
    fill(this.element, this.#head(step), tabs.element, panel);
    this.element.setAttribute("aria-label", `Step ${step.number}, ${step.name}`);
    if (focused) document.getElementById(focused)?.focus();
  }

  /** @param {StepJson} step */
  #head(step) {
    const facts = [
      step.outcome !== "ok" || step.kind === "llm" || step.kind === "tool" ? step.outcome : "",
      step.duration_us ? duration(step.duration_us) : "",
      step.offset_us !== null && step.kind !== "run" ? `at +${duration(step.offset_us)}` : "",
      ...step.facts,
    ].filter(Boolean);
    return make(
      "div.step-head",
      { data: { kind: step.failed && step.kind !== "run" ? "error" : step.kind } },
      make("button.icon.back", { "aria-label": "Back to the steps", onclick: () => this.page.workspace.close() }, glyph("back")),
      make(
        "div.step-title",
        null,
        make(
          "h2",
          null,
          make("span.kind", null, glyph(step.kind), kindWord(step.kind)),
          " ",
          make("span.step-name", null, step.name),
          step.number > 0 && make("span.muted.mono", null, ` #${step.number}`),
        ),
        make("p.muted", null, facts.join(" · ")),
      ),
      make(
        "button.icon",
        { "aria-label": "Copy the link to this step", title: "Copy the link", onclick: () => copy(location.href, "Link copied") },
        glyph("copy"),
      ),
    );
  }

  /** @param {string} tab */
  openTab(tab) {
    this.page.setRoute({ tab });
    this.render();
  }
}
