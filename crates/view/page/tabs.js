// A row of tabs: the open one is in the tab order, the arrow keys open its neighbours.

import { make } from "./dom.js";

export class Tabs {
  /**
   * @param {string} label
   * @param {string} panel ID of what they show, and the beginning of their own IDs
   * @param {[string, string, string?][]} tabs value, label, title
   * @param {(value: string) => void} onOpen
   */
  constructor(label, panel, tabs, onOpen) {
    this.buttons = tabs.map(([value, text, title]) =>
      make(
        "button",
        { role: "tab", id: `${panel}-tab-${value}`, title, value, "aria-controls": panel, onclick: () => onOpen(value) },
        text,
      ),
    );
    this.element = make("div.tabs", { role: "tablist", "aria-label": label }, this.buttons);
    this.element.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      const at = this.buttons.findIndex(({ tabIndex }) => tabIndex === 0);
      const next = this.buttons[(at + by + this.buttons.length) % this.buttons.length];
      onOpen(next.value);
      // Opening may have made it again.
      document.getElementById(next.id)?.focus();
    });
  }

  /** @param {string} open */
  show(open) {
    for (const button of this.buttons) {
      button.setAttribute("aria-selected", String(button.value === open));
      button.tabIndex = button.value === open ? 0 : -1;
    }
  }
}
