// The run as it is stored: every span as its JSON, in the order of the log.

import { getJson, jsonText, runPath } from "./api.js";
import { fill, make } from "./dom.js";
import { copy } from "./frame.js";
import { PartedView } from "./parted-view.js";

/** @import { RunModel } from "./run-model.js" */

const MAX_CLOSED_LINE_CHARACTERS = 400;

export class RawView {
  /** @param {RunModel} page */
  constructor(page) {
    this.paths = make("p.raw-paths.mono.muted");
    this.page = page;
    this.view = new PartedView({
      label: "The log",
      size: 50,
      noun: "span",
      nothing: "No span has been written yet.",
      load: async (from, limit) => {
        const { spans } = await getJson(runPath(page.id, "/spans", { from, limit }));
        return { items: /** @type {object[]} */ (spans), total: Math.max(from + spans.length, page.columns?.length ?? 0) };
      },
      render: (/** @type {object} */ span) => this.#span(span),
    });
    this.scroller = this.view.element;
    this.element = make("div.view", null, this.paths, this.scroller);
  }

  async show() {
    if (this.view.parts.length > 0) return;
    const { paths } = await getJson(runPath(this.page.id, "/paths"));
    fill(
      this.paths,
      String(paths.spans_jsonl),
      make("button.quiet", { onclick: () => copy(String(paths.spans_jsonl), "Path copied") }, "Copy the path"),
    );
    await this.view.open(0);
  }

  /** @param {object} span */
  #span(span) {
    // The ID of the run is that of every line: it is left out of the closed one, and the name comes first.
    const { trace_id: _run, name, ...rest } = /** @type {Record<string, unknown>} */ (span);
    const text = jsonText(name === undefined ? rest : { name, ...rest });
    const details = make(
      "details.raw-line",
      {
        ontoggle: () => {
          if (details.childElementCount === 1) details.append(make("pre.mono", null, jsonText(span, 2)));
        },
      },
      make("summary.mono", null, text.slice(0, MAX_CLOSED_LINE_CHARACTERS)),
    );
    return details;
  }
}
