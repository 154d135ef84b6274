// The run as a whole: verdict and cause, cost, what is unknown; the evidence of
// its loops; where it ran.

import { getJson, runPath } from "./api.js";
import { commandLine } from "./commands.js";
import { glyph, make } from "./dom.js";
import { banner, copy } from "./frame.js";
import { runName, statusBadge } from "./runs-row.js";
import { ago, bytes, count, counted, duration, exactly } from "./units.js";

/** @import { LoopReport, Overview, Problem } from "./answers" */
/** @import { RunPage } from "./run.js" */

/** A running process that writes nothing for longer may hang. */
const SILENCE_NOTICE_DELAY_MS = 30_000;
/** Further tags are in the panel. */
const MAX_HEAD_TAGS = 4;
/** Further problems are counted. */
const MAX_PROBLEMS = 5;

/**
 * @param {RunPage} page
 * @param {Overview} overview
 * @returns {HTMLElement[]}
 */
export function runHead(page, overview) {
  const { totals, heaviest, run_status: status } = overview;
  const name = runName(overview.run_name);
  const isOpen = status === "running" || status === "interrupted";
  const cause = overview.first_cause ?? (isOpen ? overview.in_flight.at(-1)?.span_id : null);
  const label = status === "loop" ? "Show the evidence" : isOpen ? "Show the call in flight" : "Jump to the first cause";
  const menu = make(
    "button.icon",
    {
      "aria-label": "Copy and more (y)",
      title: "Copy and more (y)",
      "aria-haspopup": "menu",
      id: "run-menu",
      onclick: () => page.openMenu(menu),
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
      statusBadge(status),
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
    make(
      "div.verdict",
      null,
      make("p", { id: "verdict" }, overview.sentence),
      cause && status !== "ok" && make("button.quiet", { id: "first-cause", onclick: () => page.goTo(cause) }, label, " →"),
      totals.loop_warnings > 0 &&
        status !== "loop" &&
        overview.loops.length > 0 &&
        make("button.quiet", { onclick: () => page.goTo(overview.loops[0].event_id) }, "Show the loop →"),
      heaviest && make("button.quiet", { onclick: () => page.goTo(heaviest.event_id) }, `${heaviest.label} →`),
      overview.run?.fork &&
        make("a", { id: "origin", href: `/diff/${overview.run.fork.run}/${overview.run_id}` }, "Compare with its origin →"),
    ),
    ...overview.notices.map((notice) => make("p.remark", null, notice)),
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
 * @param {RunPage} page
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

/** More steps of a fact are counted. */
const MAX_LINKS = 24;

/**
 * @param {RunPage} page
 * @param {LoopReport} report
 * @returns {HTMLElement}
 */
export function loopCard(page, report) {
  const steps = new Map([...report.evidence, ...(report.next ? [report.next] : [])].map((step) => [step.number, step]));
  /** @param {number} number */
  const link = (number) => {
    const step = steps.get(number);
    return step && make("button.evidence-link", { title: step.name, onclick: () => page.goTo(step.event_id) }, `#${number}`);
  };
  return make(
    "section.loop-card",
    { data: { kind: "loop" } },
    make("h3", null, glyph("loop"), report.title, make("span.muted", null, ` warned at #${report.number}`)),
    make(
      "dl.facts-list",
      null,
      report.facts.map((fact) =>
        make(
          "div",
          null,
          make("dt", null, fact.label),
          make(
            "dd",
            null,
            ...fact.steps.slice(0, MAX_LINKS).map(link),
            fact.steps.length > MAX_LINKS ? `and ${count(fact.steps.length - MAX_LINKS)} more ` : null,
            fact.text && ` ${fact.text}`,
          ),
        ),
      ),
    ),
  );
}

/** @param {RunPage} page */
export function runPanel(page) {
  const { overview } = page;
  if (!overview) return [];
  const { environment, run, totals } = overview;
  const files = make(
    "details",
    {
      ontoggle: async () => {
        if (files.childElementCount > 1) return;
        const { paths } = await getJson(runPath(page.id, "/paths"));
        files.append(facts(Object.entries(paths).map(([name, path]) => [name.replace("_", " "), String(path)])));
      },
    },
    make("summary", null, "Files"),
  );
  return [
    ...overview.loops.map((report) => loopCard(page, report)),
    section(
      "Where it ran",
      facts([
        ["tokens", totals.tokens.shares ?? ""],
        ["tags", overview.tags.join(", ")],
        ["arguments", environment?.argv.join(" ") ?? (overview.run_status === "running" ? "known when it has ended" : "not recorded")],
        ["directory", environment?.cwd ?? ""],
        ["platform", environment?.platform ?? ""],
        ["language", environment?.language_version ?? ""],
        ["started", overview.started_at ? exactly(Date.parse(overview.started_at)) : ""],
        ["ended", run?.ended_at ? exactly(Date.parse(run.ended_at)) : ""],
        ["log", bytes(overview.log_bytes)],
      ]),
    ),
    files,
  ];
}

/** @param {[string, string][]} list */
export function facts(list) {
  return make(
    "dl.facts-list",
    null,
    list.filter(([, value]) => value !== "").map(([name, value]) => make("div", null, make("dt", null, name), make("dd", null, value))),
  );
}

/**
 * @param {string} title
 * @param {...(Node | string | false | null)} content
 */
export function section(title, ...content) {
  return make("section.part", null, make("h3", null, title), ...content);
}
