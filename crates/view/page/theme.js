// The theme: that of the system, or light or dark as the reader chose. The style sheet does the rest through `data-theme` on the root
// element. The page's script keeps the browser from painting until it has run, so no page flashes in the wrong colours.

import { keep, kept } from "./storage.js";

const KEY = "tracer-theme";
const THEMES = ["system", "light", "dark"];

/** Shows the theme that was chosen, on the page and on the button that changes it. */
export function startTheme() {
  apply(stored());
  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element) || !event.target.closest("[data-theme-toggle]")) return;
    const shown = document.documentElement.dataset.theme ?? "system";
    const next = THEMES[(THEMES.indexOf(shown) + 1) % THEMES.length] ?? "system";
    keep(KEY, next);
    apply(next);
  });
  // Another tab changed it.
  addEventListener("storage", () => apply(stored()));
}

/** @param {string} theme */
function apply(theme) {
  document.documentElement.dataset.theme = theme;
  for (const button of document.querySelectorAll("[data-theme-toggle]")) {
    button.setAttribute("aria-label", `Theme: ${theme}. Change it`);
    button.setAttribute("title", `Theme: ${theme}`);
  }
}

/** The theme that was chosen, or that of the system. */
function stored() {
  const theme = kept(KEY);
  return THEMES.includes(theme) ? theme : "system";
}
