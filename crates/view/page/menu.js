// A menu that opens at a button and is worked with the arrow keys.

import { make } from "./dom.js";

/** @typedef {{ label: string, run: () => void }} Item */

/**
 * Opens a menu; choosing, Escape, and going elsewhere close it.
 * @param {HTMLElement} button
 * @param {string} label
 * @param {Item[]} items
 */
export function openMenu(button, label, items) {
  document.querySelector(".menu")?.remove();
  const menu = make("div.menu", { role: "menu", "aria-label": label });
  let isOpen = true;
  const close = (/** @type {boolean} */ refocus) => {
    // Removing the menu takes the focus from it, which closes it again.
    if (!isOpen) return;
    isOpen = false;
    menu.remove();
    button.removeAttribute("aria-expanded");
    if (refocus) button.focus();
  };
  for (const { label: text, run } of items) {
    menu.append(
      make(
        "button",
        {
          role: "menuitem",
          tabindex: -1,
          onclick: () => {
            close(true);
            run();
          },
        },
        text,
      ),
    );
  }
  menu.addEventListener("keydown", (event) => {
    const buttons = [...menu.querySelectorAll("button")];
    const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    const next = { ArrowDown: at + 1, ArrowUp: at - 1 + buttons.length, Home: 0, End: buttons.length - 1 }[event.key];
    if (next !== undefined) {
      event.preventDefault();
      buttons[next % buttons.length]?.focus();
    } else if (event.key === "Escape" || event.key === "Tab") {
      event.preventDefault();
      close(true);
    }
  });
  menu.addEventListener("focusout", (event) => {
    if (!(event.relatedTarget instanceof Node && menu.contains(event.relatedTarget))) close(false);
  });
  (document.getElementById("main") ?? document.body).append(menu);
  const box = button.getBoundingClientRect();
  menu.style.top = `${Math.max(8, Math.min(box.bottom + 4, innerHeight - menu.offsetHeight - 8))}px`;
  menu.style.left = `${Math.max(8, Math.min(box.right - menu.offsetWidth, innerWidth - menu.offsetWidth - 8))}px`;
  button.setAttribute("aria-expanded", "true");
  menu.querySelector("button")?.focus();
}
