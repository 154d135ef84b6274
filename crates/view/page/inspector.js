// The selected step in tabs: main content by kind, every detail, the line as it is stored.

import { runPath } from "./api.js";
import { detailsPanel, mainPanel, rawPanel } from "./details.js";
import { fill, glyph, kindWord, make } from "./dom.js";
import { copy } from "./frame.js";
import { Latest } from "./latest.js";
import { Tabs } from "./tabs.js";
import { duration } from "./units.js";
import { whyButton } from "./why.js";

/** @import { StepKind, StepJson } from "./answers" */
/** @import { RunModel } from "./run-model.js" */

/** The name of the first tab. @type {Record<StepKind, string>} */
const MAIN_TAB = { run: "Run", llm: "Messages", tool: "Call", state: "State", error: "Error", loop: "Evidence", span: "Span" };

export class Inspector {
  /**
   * @param {RunModel} page
   * @param {HTMLElement} element
   * @param {() => void} close
   */
  constructor(page, element, close) {
    this.page = page;
    this.element = element;
    this.close = close;
    this.latest = new Latest();
    this.plain = false;
    this.why = whyButton(this);
  }

  /** @param {number} row @param {boolean} isChosen whether the address names it */
  async show(row, isChosen) {
    const { page } = this;
    this.latest.drop();
    const { columns } = page;
    await page.whole;
    if (page.columns !== columns) row = page.selected;
    if (row < 0) return;
    const known = page.loaded?.row === row ? page.loaded : null;
    page.loaded = null;
    const step = /** @type {StepJson | null} */ (known ?? (await this.latest.ask(runPath(page.id, "/steps", { row }))));
    if (!step) return;
    page.step = step;
    if (isChosen) page.setRoute({ at: step.event_id });
    this.render();
  }

  /** Compares the messages with those of the call in another row. @param {number} row */
  async compare(row) {
    const { page } = this;
    const { step } = page;
    if (!step) return;
    const compared = await this.latest.ask(runPath(page.id, `/steps/${encodeURIComponent(step.event_id)}`, { against: row }));
    if (!compared) return;
    page.step = compared;
    this.render();
  }

  render() {
    const { page } = this;
    const { step } = page;
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
      make("button.icon.back", { "aria-label": "Back to the steps", onclick: this.close }, glyph("back")),
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
      this.why,
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
