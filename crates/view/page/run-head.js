// The head of a run's page: verdict and links to the steps behind it, numbers, what is unknown; and the notices of a run that is not whole.

import { commandLine } from "./commands.js";
import { fill, glyph, make } from "./dom.js";
import { banner, copy } from "./frame.js";
import { runName, statusBadge } from "./runs-row.js";
import { effect } from "./store.js";
import { ago, counted, duration, exactly } from "./units.js";

/** @import { Overview, Problem } from "./answers" */
/** @import { RunModel } from "./run-model.js" */

/** A running process that writes nothing for longer may hang. */
const SILENCE_NOTICE_DELAY_MS = 30_000;
/** Further tags are in the panel. */
const MAX_HEAD_TAGS = 4;
/** Further problems are counted. */
const MAX_PROBLEMS = 5;

export class RunHead {
  /** @param {RunModel} page */
  constructor(page) {
    const loading = make("div.run-head", null, make("h1", null, "Run ", page.id.slice(0, 8)));
    const reading = page.hasBeginning && make("div.verdict", null, make("p", null, "Only the beginning has been read so far …"));
    this.element = make("div", { id: "run-head" }, loading, reading);
    effect(() => {
      if (page.failure && reading) reading.remove();
    });
    effect(() => {
      const { overview } = page;
      if (!overview) return;
      document.title = `${overview.run_status}: ${overview.run_name ?? page.id.slice(0, 8)} · tracer`;
      const focused = this.element.contains(document.activeElement) ? document.activeElement?.id : "";
      fill(this.element, headParts(page, overview));
      if (focused) document.getElementById(focused)?.focus();
      runBanners(page, overview);
    });
    effect(() => {
      const dismiss = make("button.quiet", { onclick: () => (page.isMissing = false) }, "Dismiss");
      banner("missing", page.isMissing ? ["The linked step is not in this run (any more). ", dismiss] : null, "warning");
    });
  }
}

/** @param {RunModel} page */
export async function openMenu(page) {
  const { openRunMenu } = await import("./run-menu.js");
  openRunMenu(page);
}

/**
 * @param {RunModel} page
 * @param {Overview} overview
 * @returns {HTMLElement[]}
 */
function headParts(page, overview) {
  const name = runName(overview.run_name);
  const menu = make(
    "button.icon",
    {
      "aria-label": "Copy and more (y)",
      title: "Copy and more (y)",
      "aria-haspopup": "menu",
      id: "run-menu",
      onclick: () => openMenu(page),
    },
    glyph("more"),
  );
  const numbers = make("div.facts", { id: "facts", role: "group", "aria-label": "In numbers", tabindex: -1 }, headFacts(overview));
  // On a narrow page they scroll: then the keyboard has to get there.
  new ResizeObserver(() => (numbers.tabIndex = numbers.scrollWidth > numbers.clientWidth ? 0 : -1)).observe(numbers);
  return [
    make(
      "div.run-head",
      null,
      statusBadge(overview.run_status),
      make("h1", null, name),
      make(
        "span.id",
        null,
        overview.run_id.slice(0, 8),
        make(
          "button.icon",
          { "aria-label": "Copy the run's ID", title: overview.run_id, onclick: () => copy(overview.run_id, "ID copied") },
          glyph("copy"),
        ),
      ),
      overview.origin && make("span.origin", null, "from ", overview.origin),
      overview.started_at &&
        make(
          "time.muted",
          { datetime: overview.started_at, title: exactly(Date.parse(overview.started_at)) },
          ago(Date.parse(overview.started_at), Date.now()),
        ),
      numbers,
      menu,
    ),
    make("div.verdict", null, make("p", { id: "verdict" }, overview.sentence), make("div.verdict-links", null, links(page, overview))),
    ...overview.notices.map((notice) => make("p.remark", null, notice)),
  ];
}

/**
 * The steps behind the verdict, and what else is looked at first.
 * @param {RunModel} page
 * @param {Overview} overview
 */
function links(page, { run_id: id, run_status: status, first_cause: first, in_flight: inFlight, totals, loops, heaviest, run }) {
  const isOpen = status === "running" || status === "interrupted";
  const cause = first ?? (isOpen ? inFlight.at(-1)?.span_id : null);
  const label = status === "loop" ? "Show the evidence" : isOpen ? "Show the call in flight" : "Jump to the first cause";
  /** @param {string} event @param {string} text @param {string} [name] */
  const link = (event, text, name) => make("button.quiet", { id: name, onclick: () => page.goTo(event) }, `${text} →`);
  return [
    cause && status !== "ok" && link(cause, label, "first-cause"),
    totals.loop_warnings > 0 && status !== "loop" && loops.length > 0 && link(loops[0].event_id, "Show the loop"),
    heaviest && link(heaviest.event_id, heaviest.label),
    run?.fork && make("a", { id: "origin", href: `/diff/${run.fork.run}/${id}` }, "Compare with its origin →"),
  ];
}

/** @param {Overview} overview */
function headFacts({ duration_us: time, facts, tags }) {
  return [
    time !== null && make("span", null, make("b", null, duration(time))),
    ...facts.map((fact) => make("span", null, fact)),
    ...tags.slice(0, MAX_HEAD_TAGS).map((tag) => make("span.tag", null, tag)),
  ];
}

/**
 * Notices of a run that is not complete: what cannot be read, what is going on.
 * @param {RunModel} page
 * @param {Overview} overview
 */
export function runBanners(page, overview) {
  const { run_status: status, problems, more_problems: more } = overview;
  const all = problems.length + more;
  banner(
    "problems",
    overview.problem_summary === null
      ? null
      : [
          make("strong", null, overview.problem_summary),
          make(
            "ul.mono",
            null,
            problems.slice(0, MAX_PROBLEMS).map((problem) => make("li", null, problemText(problem))),
            all > MAX_PROBLEMS &&
              make(
                "li",
                null,
                `and ${counted(all - MAX_PROBLEMS, "more", "more")}: ${commandLine("validate-trace", overview.run_id.slice(0, 8))}`,
              ),
          ),
        ],
    "warning",
  );
  const flying = overview.in_flight.map(({ span_id: id, name, started_at: start }) =>
    make("button.quiet", { onclick: () => page.goTo(id) }, `${name} (for ${duration((Date.now() - Date.parse(start)) * 1_000)})`),
  );
  const silent = Date.now() - page.lastChange;
  if (status === "running" && silent > SILENCE_NOTICE_DELAY_MS) {
    banner(
      "status",
      [
        make("strong", null, "Still running, but silent. "),
        `Nothing was recorded for ${duration(silent * 1_000)}. `,
        ...(flying.length > 0 ? ["In flight: ", ...flying] : []),
      ],
      "warning",
    );
  } else {
    banner("status", null);
  }
}

/** @param {Problem} problem */
function problemText({ location, code, message }) {
  return `${location}: ${message} (${code})`;
}
