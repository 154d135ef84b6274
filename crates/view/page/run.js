// The page of a run: its parts, put together around one model.

import { initialData } from "./api.js";
import { make } from "./dom.js";
import { showError, startFrame } from "./frame.js";
import { follow } from "./live.js";
import { Minimap } from "./minimap.js";
import { RunHead } from "./run-head.js";
import { bindRunKeys } from "./run-keys.js";
import { columnsOf, nextTask, RunModel } from "./run-model.js";
import { RunTools } from "./run-tools.js";
import { Steps } from "./steps.js";
import { Workspace } from "./workspace.js";

/** A run that has ended is followed later than one that is running: it can only be deleted. */
const FOLLOW_DELAY_MS = 5_000;

const initial = initialData();
// The server's first data come with the script: the page is built once, with its rows, not step by step. Otherwise it is built
// in a task of its own, not in the one that ends the parsing of the document and lays it out.
const columns = initial.overview ? await columnsOf(initial.run_id).catch(() => null) : await nextTask().then(() => null);

const page = new RunModel(initial);
const steps = new Steps(page);
const tools = new RunTools(page);
const workspace = new Workspace(page, steps);
const main = startFrame({ left: [make("span.place", null, page.overview?.run_name ?? "run")] });
main.append(new RunHead(page).element, new Minimap(page).element, tools.element, workspace.element);
if (columns) page.columns = columns;
bindRunKeys(page, { steps, tools, workspace });
page
  .start()
  .then(() => {
    const isOpen = page.overview?.run_status === "running" || page.overview?.run_status === "interrupted";
    setTimeout(() => follow(page, steps), isOpen ? 0 : FOLLOW_DELAY_MS);
  })
  .catch(showError);
