// The menu of a run's page: copying what is shown in the forms that are asked for, and changing the run.

import { getJson, getText, runPath } from "./api.js";
import { copy, showError } from "./frame.js";
import { openMenu } from "./menu.js";
import { remove, rename } from "./run-changes.js";

/** @import { RunPage } from "./run.js" */

/**
 * @param {RunPage} page
 * @param {HTMLElement} button
 */
export function openRunMenu(page, button) {
  const step = page.workspace.inspector?.step;
  const short = page.id.slice(0, 8);
  /** @type {(import("./menu.js").Item | false | null)[]} */
  const selected = step && page.selected >= 0 ? [
    { label: "Copy this step as JSON", run: () => copy(JSON.stringify(step.raw ?? step, null, 2), "Step copied as JSON") },
    { label: "Copy as Markdown", run: () => copy(asMarkdown(page, step), "Step copied as Markdown") },
    step.number > 0 && { label: "Copy the command", run: () => copy(`tracer show ${short} --step ${step.number}`, "Command copied") },
    step.line !== null && { label: "Copy file and line", run: () => copy(`${step.file}:${step.line}`, "Place copied") },
  ] : [
    { label: "Copy the run as JSON", run: () => whole(page.id).catch(showError) },
    { label: "Copy the command", run: () => copy(`tracer show ${short}`, "Command copied") },
    { label: "Copy the folder's path", run: () => path(page.id).catch(showError) },
  ];
  openMenu(button, "Copy and more", [
    { label: "Copy the link", run: () => copy(location.href, "Link copied") },
    ...selected.filter((item) => item !== null && item !== false),
    { label: "Save as one HTML file", run: () => location.assign(`/r/${page.id}/export.html${location.search}`) },
    {
      label: "Rename …",
      run: () => rename(page.id, page.overview?.run_name ?? "", (name) => {
        if (page.overview) page.overview.run_name = name;
        page.showOverview();
      }),
    },
    { label: "Delete", run: () => remove([page.id], () => {}) },
  ]);
}

/** @param {string} run */
async function whole(run) {
  await copy(await getText(runPath(run, "/spans")), "Run copied as JSON");
}

/** @param {string} run */
async function path(run) {
  await copy((await getJson(runPath(run, "/paths"))).paths.run_dir, "Path copied");
}

/**
 * @param {RunPage} page
 * @param {any} step
 */
function asMarkdown(page, step) {
  const text = page.texts.get(page.selected);
  const block = (/** @type {string} */ title, /** @type {unknown} */ value) =>
    value === undefined || value === null ? [] : [`**${title}**`, "```json", JSON.stringify(value, null, 2), "```"];
  return [
    `### #${step.number} ${step.name} (${step.kind})`,
    text ? `${text.gist.input}${text.gist.output ? ` → ${text.gist.output}` : ""}` : "",
    ...block("Arguments", step.tool?.arguments), ...block("Result", step.tool?.result),
    ...block("Messages", step.llm?.messages), ...block("Response", step.llm?.response),
    ...block("Error", step.error), ...block("State", step.state?.state),
    `Run \`${page.id}\`, \`tracer show ${page.id.slice(0, 8)} --step ${step.number}\``,
  ].filter(Boolean).join("\n\n");
}
