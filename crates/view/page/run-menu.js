// The menu of a run's page: copying, saving, renaming, deleting.

import { getJson, getText, jsonText, parseJson, runPath } from "./api.js";
import { commandLine } from "./commands.js";
import { copy, showError, toast } from "./frame.js";
import { openMenu } from "./menu.js";
import { CRITICAL } from "./outline.js";
import { remove, rename } from "./run-changes.js";

/** @import { StepJson } from "./answers" */
/** @import { RunModel } from "./run-model.js" */

/** @param {RunModel} page */
export function openRunMenu(page) {
  const { step } = page;
  const short = page.id.slice(0, 8);
  const showStep = commandLine("show", `${short} --step ${step?.number}`);
  /** @type {(import("./menu.js").Item | false | null)[]} */
  const selected =
    step && page.selected >= 0
      ? [
          { label: "Copy this step as JSON", run: () => copy(asJson(step), "Step copied as JSON") },
          step.number > 0 && { label: "Copy for a model", run: () => copyForModel(page.id, step).catch(showError) },
          step.number > 0 && { label: "Copy the command", run: () => copy(showStep, "Command copied") },
          step.llm && { label: "Copy as curl", run: () => copyAsCurl(page.id, step).catch(showError) },
          ...fromHere(step, short),
          step.line !== null && { label: "Copy file and line", run: () => copy(`${step.file}:${step.line}`, "Place copied") },
        ]
      : [
          { label: "Copy the run as JSON", run: () => whole(page.id).catch(showError) },
          { label: "Copy the command", run: () => copy(commandLine("show", short), "Command copied") },
          { label: "Copy the folder's path", run: () => path(page.id).catch(showError) },
        ];
  openMenu(document.getElementById("run-menu") ?? document.body, "Copy and more", [
    { label: "Copy the link", run: () => copy(location.href, "Link copied") },
    ...selected.filter((item) => item !== null && item !== false),
    { label: "Save as one HTML file", run: () => location.assign(exportAddress(page)) },
    {
      label: "Rename …",
      run: () =>
        rename(page.id, page.overview?.run_name ?? "", (name) => {
          if (page.overview) page.overview = { ...page.overview, run_name: name };
        }),
    },
    { label: "Delete", run: () => remove([page.id], () => {}) },
  ]);
}

/** Copies a step as a text that marks what was recorded. @param {string} run @param {StepJson} step */
async function copyForModel(run, step) {
  await copy(await getText(stepPath(run, step, "/text")), "Step copied as text");
}

/** @param {string} run @param {StepJson} step @param {string} rest */
function stepPath(run, step, rest) {
  return runPath(run, `/steps/${encodeURIComponent(step.event_id)}${rest}`);
}

/**
 * Copies the request of a model call as a command; what was not kept is said.
 * @param {string} run
 * @param {StepJson} step
 */
export async function copyAsCurl(run, step) {
  const { command, note } = await getJson(stepPath(run, step, "/curl"));
  if (command === null) toast(`Nothing was copied: ${note}`);
  else await copy(command, `Copied as curl: ${note}`);
}

/**
 * The commands that answer the calls of models as they were recorded: up to this one, or all of them.
 * @param {StepJson} step
 * @param {string} run
 */
function fromHere(step, run) {
  const call = callNumber(step);
  if (call === null) return [];
  return [
    { label: "Fork from here", run: () => copy(commandLine("fork", `${run} --at ${call}`), "Command copied") },
    { label: "Replay the run", run: () => copy(commandLine("replay", run), "Command copied") },
  ];
}

/** Which of the calls of models it is that the run kept; `null` where it kept none. @param {StepJson} step */
export function callNumber(step) {
  const number = step.meta.call_number;
  return typeof number === "number" ? number : null;
}

/** The run as one file, filtered as it is shown. @param {RunModel} page */
function exportAddress({ id, route }) {
  const query = new URLSearchParams();
  const kinds = route.kinds.filter((kind) => kind !== CRITICAL);
  if (kinds.length > 0) query.set("kind", kinds.join(","));
  if (route.query) query.set("q", route.query);
  return `/r/${id}/export.html${query.size > 0 ? `?${query}` : ""}`;
}

/** @param {string} run */
async function whole(run) {
  await copy(await getText(runPath(run, "/spans")), "Run copied as JSON");
}

/** @param {string} run */
async function path(run) {
  await copy((await getJson(runPath(run, "/paths"))).paths.run_dir, "Path copied");
}

/** The line of a step as it is stored, laid out to be read. @param {StepJson} step */
function asJson(step) {
  const line = step.raw?.value;
  return typeof line === "string" ? jsonText(parseJson(line), 2) : jsonText(step, 2);
}
