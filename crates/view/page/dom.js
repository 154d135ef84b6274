// Making elements. What comes from a trace is always text here; the one place where HTML of the server is inserted is `markdown`.

const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {Node | string | number | null | undefined | false} Child
 * @typedef {Record<string, unknown>} Properties
 */

/**
 * Makes an element: `make("button.quiet", { title: "Copy", onclick: copy }, "Copy")`. Properties that start with `on` are listeners,
 * `data` is an object of data attributes, `true` is an empty attribute, and `false`, `null` and `undefined` leave an attribute out.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag | `${Tag}.${string}`} selector a tag name and classes
 * @param {Properties | null} [properties]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(selector, properties, ...children) {
  const [tag, ...classes] = selector.split(".");
  const element = /** @type {HTMLElementTagNameMap[Tag]} */ (document.createElement(/** @type {string} */ (tag)));
  if (classes.length > 0) element.className = classes.join(" ");
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else if (name === "data") {
      Object.assign(element.dataset, value);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  add(element, children);
  return element;
}

/** Characters that cannot be seen, and those that reverse the direction of their neighbours; tabs and newlines belong to texts. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g;

/**
 * A text in which nothing hides: a character without a shape is shown by its number.
 * @param {string} text
 */
export function visible(text) {
  return text.replace(HIDDEN, (character) => `‹U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}›`);
}

/**
 * @param {Node} parent
 * @param {(Child | Child[])[]} children
 */
function add(parent, children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    parent.appendChild(child instanceof Node ? child : document.createTextNode(visible(String(child))));
  }
}

/**
 * A table with a head of these columns.
 * @param {"table" | `table.${string}`} selector
 * @param {Child[]} heads
 * @param {HTMLTableSectionElement} body
 */
export function table(selector, heads, body) {
  const cells = heads.map((head) => make("th", { scope: "col" }, head));
  return make(selector, null, make("thead", null, make("tr", null, cells)), body);
}

/**
 * Puts these children in the place of all that an element has.
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
}

/** The word for a kind of step. @param {string} kind */
export function kindWord(kind) {
  return kind === "llm" ? "LLM" : capital(kind);
}

/** @param {string} word */
export function capital(word) {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/**
 * Sets a text only when it changes: an unchanged text needs no layout, and is not announced again.
 * @param {Node} node
 * @param {string} text
 */
export function say(node, text) {
  const shown = visible(text);
  if (node.textContent !== shown) node.textContent = shown;
}

/**
 * The element that the page's own markup has for certain.
 * @param {ParentNode} parent
 * @param {string} selector
 * @returns {HTMLElement}
 */
export function find(parent, selector) {
  const found = parent.querySelector(selector);
  if (!(found instanceof HTMLElement)) throw new Error(`the page has no ${selector}`);
  return found;
}

/** The signs of kinds, statuses and actions, drawn on a grid of 16: Unicode's own look different in every font. @type {Record<string, string>} */
const GLYPHS = {
  run: "M5 3l7 5-7 5z",
  llm: "M8 1.5l1.7 4.8 4.8 1.7-4.8 1.7L8 14.5l-1.7-4.8L1.5 8l4.8-1.7z",
  tool: "M10.7 1.6a4 4 0 0 0-4.4 5.3L1.9 11.3a1.5 1.5 0 0 0 0 2.1l.7.7a1.5 1.5 0 0 0 2.1 0l4.4-4.4a4 4 0 0 0 5.3-4.4l-2.3 2.3-2.7-.7-.7-2.7z",
  state: "M8 1.8L14.2 8 8 14.2 1.8 8z",
  error: "M4 2.6L8 6.6l4-4L13.4 4l-4 4 4 4-1.4 1.4-4-4-4 4L2.6 12l4-4-4-4z",
  loop: "M8 2.5a5.5 5.5 0 0 1 4.6 2.5V2.7h1.7v5.2H9.1V6.2h2.3A3.8 3.8 0 1 0 11.7 9l1.6.6A5.5 5.5 0 1 1 8 2.5z",
  span: "M2 5.5h12v5H2zM3.5 7v2h9V7z",
  ok: "M6.3 12.9L1.9 8.5l1.5-1.5 2.9 2.9 6.3-6.3 1.5 1.5z",
  running: "M8 3.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9z",
  interrupted: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zm0 1.7a3.8 3.8 0 1 0 0 7.6 3.8 3.8 0 0 0 0-7.6z",
  damaged: "M8 1.5L15 14H1zM7.2 6v4h1.6V6zm0 5v1.6h1.6V11z",
  open: "M6 3.5L10.5 8 6 12.5l-1.2-1.2L8.1 8 4.8 4.7z",
  search: "M7 2a5 5 0 0 1 4 8l3.3 3.3-1.1 1.1L10 11.1A5 5 0 1 1 7 2zm0 1.6a3.4 3.4 0 1 0 0 6.8 3.4 3.4 0 0 0 0-6.8z",
  copy: "M5 1.5h8.5v10H5zM6.5 3v7H12V3zM2.5 4.5H4v8.5h6.5v1.5h-8z",
  theme: "M8 1.8a6.2 6.2 0 1 1 0 12.4A6.2 6.2 0 0 1 8 1.8zm0 1.5v9.4a4.7 4.7 0 0 0 0-9.4z",
  help: "M6.9 11.2h2v2h-2zM4.8 5.5C4.9 3.5 6.2 2.4 8 2.4s3.2 1.2 3.2 2.9c0 1.3-.7 2-1.5 2.6-.7.5-.9.8-.9 1.6v.5H7v-.8c0-1.2.5-1.8 1.3-2.4.7-.5 1-.8 1-1.5s-.5-1.1-1.3-1.1c-.9 0-1.4.5-1.5 1.3z",
  close: "M4.2 3L8 6.8 11.8 3 13 4.2 9.2 8l3.8 3.8-1.2 1.2L8 9.2 4.2 13 3 11.8 6.8 8 3 4.2z",
  back: "M7 3l1.2 1.2L5.3 7.1H13v1.8H5.3l2.9 2.9L7 13 2 8z",
  up: "M8 4.5l5 5-1.2 1.2L8 6.9l-3.8 3.8L3 9.5z",
  down: "M8 11.5l-5-5 1.2-1.2L8 9.1l3.8-3.8L13 6.5z",
  more: "M2 6.8h2.4v2.4H2zm4.8 0h2.4v2.4H6.8zm4.8 0H14v2.4h-2.4z",
};

/**
 * A sign; decoration, because a word always follows. Its shape is inline: a reference to one shape for all costs the browser a
 * copy of that shape for each use.
 * @param {string} name
 * @returns {SVGSVGElement}
 */
export function glyph(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "glyph");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  svg.append(document.createElementNS(SVG, "path"));
  setGlyph(svg, name);
  return svg;
}

/**
 * @param {SVGSVGElement} svg
 * @param {string} name a kind, a status or an action
 */
export function setGlyph(svg, name) {
  const path = svg.firstElementChild;
  const shape = GLYPHS[name === "failed" ? "error" : name] ?? GLYPHS.damaged;
  if (path && path.getAttribute("d") !== shape) path.setAttribute("d", shape);
}
