// The dialog of the keyboard shortcuts.

import { make } from "./dom.js";
import { bindings, lettersOff, setLettersOff } from "./frame.js";
import { shownKey } from "./keys.js";

/** Shows what the keys do. */
export function showKeys() {
  const groups = Map.groupBy(bindings, ({ group }) => group ?? "");
  const off = make("input", {
    type: "checkbox",
    id: "letters-off",
    onchange: () => setLettersOff(off.checked),
  });
  off.checked = lettersOff();
  const dialog = make(
    "dialog.help",
    { "aria-labelledby": "help-title", onclose: () => dialog.remove() },
    make("div.dialog-head", null, make("h2", { id: "help-title" }, "Keyboard"), make("button", { onclick: () => dialog.close() }, "Close")),
    make(
      "div.help-groups",
      null,
      [...groups].map(([group, list]) =>
        make(
          "section",
          null,
          make("h3", null, group),
          make(
            "dl.keys",
            null,
            list.map(({ keys, does }) =>
              make(
                "div",
                null,
                make(
                  "dt",
                  null,
                  keys.map((key) => make("kbd", null, shownKey(key))),
                ),
                make("dd", null, does),
              ),
            ),
          ),
        ),
      ),
    ),
    make("label.switch", { for: "letters-off" }, off, " Switch single-letter keys off"),
  );
  document.body.append(dialog);
  dialog.showModal();
}
