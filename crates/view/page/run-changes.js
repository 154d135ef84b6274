// Changing runs: a new name, and deleting with a way back.

import { change, runPath } from "./api.js";
import { make } from "./dom.js";
import { showError, toast } from "./frame.js";
import { counted } from "./units.js";

const MAX_NAME_CHARACTERS = 200;

/**
 * Asks for a new name and gives it.
 * @param {string} run
 * @param {string} name
 * @param {(name: string) => void} onRenamed
 */
export function rename(run, name, onRenamed) {
  const input = make("input", { type: "text", value: name, maxlength: MAX_NAME_CHARACTERS, id: "new-name", autocomplete: "off" });
  const form = make(
    "form",
    { method: "dialog" },
    make("div.dialog-head", null, make("h2", { id: "rename-title" }, "Rename the run")),
    make("label", { for: "new-name" }, "Name"),
    " ",
    input,
    make(
      "div.dialog-actions",
      null,
      make("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
      make("button.primary", { type: "submit" }, "Rename"),
    ),
  );
  const dialog = make("dialog.small", { "aria-labelledby": "rename-title", onclose: () => dialog.remove() }, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const wanted = input.value.trim();
    if (wanted === "") return input.focus();
    dialog.close();
    try {
      await change("PATCH", runPath(run), { run_name: wanted });
      onRenamed(wanted);
      toast("Renamed");
    } catch (error) {
      showError(error);
    }
  });
  document.body.append(dialog);
  dialog.showModal();
  input.select();
}

/**
 * Deletes runs; until the viewer stops they can be brought back.
 * @param {string[]} runs
 * @param {() => void} onChange
 */
export async function remove(runs, onChange) {
  /** @type {string[]} */
  const removed = [];
  try {
    for (const run of runs) {
      await change("DELETE", runPath(run));
      removed.push(run);
    }
  } catch (error) {
    showError(error);
  }
  onChange();
  if (removed.length === 0) return;
  toast(`${counted(removed.length, "run")} deleted`, {
    label: "Undo",
    run: async () => {
      try {
        for (const run of removed) await change("POST", runPath(run, "/restore"));
        toast(`${counted(removed.length, "run")} restored`);
      } catch (error) {
        showError(error);
      }
      onChange();
    },
  });
}
