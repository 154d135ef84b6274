// The frame of every page: the bar at the top, banners, toasts with an undo, announcements, errors, and the
// keyboard.

import { fill, find, glyph, make, say } from "./dom.js";
import { KEYS } from "./keys.js";
import { keep, kept } from "./storage.js";
import { startTheme } from "./theme.js";

/** @import { KeyTable } from "./keys.js" */

/**
 * Builds the frame around a page.
 * @param {{ left?: Node[], search?: HTMLElement | null }} [parts]
 * @returns {HTMLElement} where the page goes
 */
export function startFrame({ left = [], search = null } = {}) {
  const main = make("main", { id: "main", tabindex: "-1" });
  document.body.prepend(
    make("a.skip", { href: "#main" }, "Skip to the content"),
    make(
      "header.bar",
      null,
      make("a.brand", { href: "/", "aria-label": "tracer: all runs" }, make("span.mark", { "aria-hidden": "true" }), "tracer"),
      make("nav.places", { "aria-label": "Pages" }, place("/", "Runs", "runs"), place("/stats", "Statistics", "stats")),
      ...left,
      make("span.grow"),
      search,
      make("button.icon", { data: { themeToggle: "" }, "aria-label": "Theme" }, glyph("theme")),
      make("button.icon", { "aria-label": "Keyboard help", title: "Keyboard (?)", onclick: showHelp }, glyph("help")),
    ),
    make("section.banners", { id: "banners", "aria-label": "Notices" }),
    main,
    make("div.toasts", { id: "toasts" }),
    make("div.unseen", { id: "announcer", "aria-live": "polite", role: "status" }),
    make("div.unseen", { id: "alarm", "aria-live": "assertive", role: "alert" }),
  );
  startTheme();
  bind(KEYS.everywhere, {
    help: showHelp,
    allRuns: () => location.assign("/"),
    statistics: () => location.assign("/stats"),
  });
  startKeys();
  addEventListener("error", (event) => showError(event.error ?? event.message));
  addEventListener("unhandledrejection", (event) => showError(event.reason));
  return main;
}

/** @param {string} href @param {string} label @param {string} page */
function place(href, label, page) {
  return make("a", { href, "aria-current": document.body.dataset.page === page ? "page" : null }, label);
}

/**
 * Shows or changes a banner; `null` removes it.
 * @param {string} id
 * @param {(Node | string)[] | null} content
 * @param {"info" | "warning" | "error"} [tone]
 */
export function banner(id, content, tone = "info") {
  const place = find(document, "#banners");
  const existing = document.getElementById(`banner-${id}`);
  if (!content) {
    existing?.remove();
    return;
  }
  const element = existing ?? make("div.banner", { id: `banner-${id}` });
  element.dataset.tone = tone;
  fill(element, glyph(tone === "info" ? "state" : "damaged"), make("div", null, content));
  if (!existing) place.append(element);
}

/**
 * A short notice at the bottom, with one thing that can be done about it.
 * @param {string} text
 * @param {{ label: string, run: () => void }} [action]
 */
export function toast(text, action) {
  const element = make(
    "div.toast",
    null,
    make("span", null, text),
    action &&
      make(
        "button.quiet",
        {
          onclick: () => {
            element.remove();
            action.run();
          },
        },
        action.label,
      ),
    make("button.icon", { "aria-label": "Dismiss", onclick: () => element.remove() }, glyph("close")),
  );
  find(document, "#toasts").replaceChildren(element);
  announce(text);
  // A notice with an undo stays until it is dismissed or the next one comes.
  if (!action) setTimeout(() => element.remove(), 4_000);
}

async function showHelp() {
  const { showKeys } = await import("./help.js");
  showKeys();
}

let lastAnnouncement = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting;

/**
 * Says something to a screen reader: politely at most once in five seconds, and the latest only.
 * @param {string} text
 * @param {boolean} [urgent]
 */
export function announce(text, urgent = false) {
  if (urgent) {
    say(find(document, "#alarm"), text);
    return;
  }
  clearTimeout(waiting);
  waiting = setTimeout(
    () => {
      lastAnnouncement = Date.now();
      say(find(document, "#announcer"), text);
    },
    Math.max(0, lastAnnouncement + 5_000 - Date.now()),
  );
}

/**
 * Reports that something in the page failed, with details to copy; never a blank page.
 * @param {unknown} error
 */
export function showError(error) {
  const message = error instanceof Error ? error.message : String(error);
  const detail = error instanceof Error ? `${error.name}: ${error.message}\n${error.stack ?? ""}` : message;
  banner(
    "error",
    [
      make("strong", null, "Something in this page failed. "),
      message,
      " ",
      make("button.quiet", { onclick: () => copy(detail, "Details copied") }, "Copy the details"),
      make("button.quiet", { onclick: () => banner("error", null) }, "Dismiss"),
    ],
    "error",
  );
}

/**
 * Copies a text and says so.
 * @param {string} text
 * @param {string} confirmation
 */
export async function copy(text, confirmation) {
  try {
    await navigator.clipboard.writeText(text);
    toast(confirmation);
  } catch {
    toast("The browser does not let this page copy");
  }
}

/**
 * Reports that the server cannot be reached; the content stays.
 * @param {boolean} connected
 */
export function showConnection(connected) {
  banner("connection", connected ? null : ["tracer view stopped or cannot be reached; trying again. What is shown here stays."], "warning");
}

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
  return kept(OFF) === "1";
}

/** @param {boolean} off */
export function setLettersOff(off) {
  keep(OFF, off ? "1" : "0");
}

/**
 * @param {KeyTable} table
 * @param {Record<string, (event: KeyboardEvent) => void>} actions by their names in the table
 */
export function bind(table, actions) {
  for (const [group, list] of Object.entries(table)) {
    for (const [action, keys, does] of list) bindings.push({ keys: [keys].flat(), does, run: actions[action], group });
  }
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  return (
    target instanceof Element &&
    target.closest("input:not([type=checkbox]):not([type=range]), textarea, select, [contenteditable]") !== null
  );
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
