// The comparison tab of a run's page: this run after another one or a baseline, at first the
// run that it was forked from, or the previous run of the same name.

import { getJson } from "./api.js";
import { showComparison } from "./comparison.js";
import { fill, make } from "./dom.js";
import { Latest } from "./latest.js";
import { runName } from "./runs-row.js";

/** @import { TableRow } from "./answers" */
/** @import { RunModel } from "./run-model.js" */

/** More runs are found on the page of all runs. */
const MAX_OFFERED = 200;
/** Precedes the name of a baseline in a place that else holds the ID of a run. */
const BASELINE = "baseline:";

export class ComparisonTab {
  /** @param {RunModel} page */
  constructor(page) {
    this.page = page;
    this.latest = new Latest();
    this.picker = make("select", { id: "compare-with", onchange: () => this.compare(this.picker.value) });
    this.content = make("div");
    this.link = make("a", { hidden: true }, "Open as a page");
    this.element = make(
      "div.scroll.page-content",
      { role: "region", "aria-label": "Comparison", tabindex: 0 },
      make("div.panel-tools", null, make("label", { for: "compare-with" }, "This run, compared with"), this.picker, this.link),
      this.content,
    );
  }

  async show() {
    if (this.picker.childElementCount > 0) return;
    const [{ runs }, { baselines }] = await Promise.all([getJson("/api/table"), getJson("/api/baselines")]);
    const own = this.page.overview?.run_name ?? null;
    const started = this.page.overview?.started_at ?? "";
    const others = /** @type {TableRow[]} */ (runs).filter((run) => run.trace_id !== this.page.id && run.started_at);
    const same = others.filter((run) => run.run_name === own);
    const rest = others.filter((run) => run.run_name !== own);
    const previous = same.find((run) => (run.started_at ?? "") < started) ?? same[0];
    if (others.length + baselines.length === 0) {
      return fill(this.content, make("p.empty", null, "There is no other run to compare with, and no baseline."));
    }
    /** @param {TableRow} run */
    const option = (run) =>
      make(
        "option",
        { value: run.trace_id },
        `${runName(run.run_name)} · ${run.run_status} · ${run.cells.started.text} · ${run.trace_id.slice(0, 8)}`,
      );
    fill(
      this.picker,
      make("option", { value: "" }, baselines.length > 0 ? "Pick a run or a baseline" : "Pick a run"),
      same.length > 0 && make("optgroup", { label: "Of the same name" }, same.slice(0, MAX_OFFERED).map(option)),
      rest.length > 0 && make("optgroup", { label: "Others" }, rest.slice(0, MAX_OFFERED).map(option)),
      baselines.length > 0 && make("optgroup", { label: "Baselines" }, /** @type {string[]} */ (baselines).map(baselineOption)),
    );
    const kept = own !== null && baselines.includes(own) ? BASELINE + own : "";
    // A fork is compared with its origin.
    const origin = others.find((run) => run.trace_id === this.page.overview?.run?.fork?.run);
    const wanted = this.page.route.against || (origin ?? previous)?.trace_id || kept;
    this.picker.value = wanted;
    if (wanted) await this.compare(wanted);
  }

  /** @param {string} other ID of a run, or a baseline's name behind `baseline:` */
  async compare(other) {
    this.page.setRoute({ against: other });
    this.link.hidden = !other;
    this.latest.drop();
    if (!other) return fill(this.content);
    const baseline = other.startsWith(BASELINE) ? other.slice(BASELINE.length) : null;
    this.link.href =
      baseline === null ? `/diff/${other}/${this.page.id}` : `/diff/${this.page.id}/baseline/${encodeURIComponent(baseline)}`;
    /** @type {Record<string, string>} */
    const sides = baseline === null ? { a: other, b: this.page.id } : { a: this.page.id, baseline };
    await showComparison(this.content, sides, this.latest);
  }
}

/** @param {string} name */
function baselineOption(name) {
  return make("option", { value: BASELINE + name }, name);
}
