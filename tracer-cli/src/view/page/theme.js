// The theme: chosen here, before the first module shows anything, so that no page flashes in the wrong colours. The style sheet does the
// rest through `data-theme` on the root element.
(() => {
  const KEY = "tracer-theme";
  const THEMES = ["system", "light", "dark"];
  const root = document.documentElement;

  /** @param {string} theme */
  function apply(theme) {
    root.dataset.theme = theme;
    for (const button of document.querySelectorAll("[data-theme-toggle]")) {
      button.setAttribute("aria-label", `Theme: ${theme}. Change it`);
      button.setAttribute("title", `Theme: ${theme}`);
    }
  }

  /** Storage can be switched off in the browser; the theme is then that of the system. */
  function stored() {
    try {
      const theme = localStorage.getItem(KEY) ?? "";
      return THEMES.includes(theme) ? theme : "system";
    } catch {
      return "system";
    }
  }

  apply(stored());
  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element) || !event.target.closest("[data-theme-toggle]")) return;
    const next = THEMES[(THEMES.indexOf(root.dataset.theme ?? "system") + 1) % THEMES.length] ?? "system";
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // Kept for this page only.
    }
    apply(next);
  });
  // Another tab changed it.
  addEventListener("storage", () => apply(stored()));
  document.addEventListener("tracer:bar", () => apply(root.dataset.theme ?? "system"));
})();
