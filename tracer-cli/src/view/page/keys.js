// The keyboard: one table of what each key does, which is also what `help.js` shows.

/**
 * @typedef {{ keys: string[], does: string, run: (event: KeyboardEvent) => void, group?: string }} Binding
 */

const OFF = "tracer-keys-off";

/** @type {Binding[]} */
export const bindings = [];
/** The first key of a sequence such as `g r`, while the second is awaited. */
let pending = "";

/** @returns {boolean} whether single-letter keys are switched off (WCAG 2.1.4) */
export function lettersOff() {
  try {
    return localStorage.getItem(OFF) === "1";
  } catch {
    return false;
  }
}

/** @param {boolean} off */
export function setLettersOff(off) {
  try {
    localStorage.setItem(OFF, off ? "1" : "0");
  } catch {
    // Kept for nobody; storage is off.
  }
}

/**
 * @param {string} group
 * @param {[string | string[], string, (event: KeyboardEvent) => void][]} list keys, what they do in words, and the deed
 */
export function bind(group, list) {
  for (const [keys, does, run] of list) bindings.push({ keys: [keys].flat(), does, run, group });
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  return target instanceof Element && target.closest("input:not([type=checkbox]):not([type=range]), textarea, select, [contenteditable]") !== null;
}

/** Starts listening. */
export function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target) && event.key !== "Escape") return;
    const inDialog = event.target instanceof Element && event.target.closest("dialog, [role=menu]");
    if (inDialog) return;
    const onControl = event.target instanceof Element && event.target.closest("button, a, summary, [role=tab], [role=slider], input");
    // A control keeps the keys that work it.
    if (onControl && ["Enter", " ", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) return;
    const typed = pending ? `${pending} ${event.key}` : event.key;
    pending = "";
    if (event.key.length === 1 && event.key !== " " && lettersOff()) return;
    const binding = bindings.find(({ keys }) => keys.includes(typed)) ?? bindings.find(({ keys }) => keys.includes(event.key));
    if (binding) {
      event.preventDefault();
      binding.run(event);
    } else if (bindings.some(({ keys }) => keys.some((key) => key.startsWith(`${event.key} `)))) {
      pending = event.key;
      setTimeout(() => (pending = ""), 1_500);
    }
  });
}

