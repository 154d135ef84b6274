// The one place where HTML gets into the page: Markdown of a message, which the server has turned into HTML already. Nothing of it is
// trusted: it is parsed where nothing loads or runs, and only elements that mean text are made again, with no attribute but a link's.

import { make, visible } from "./dom.js";

const ALLOWED = new Set([
  "p",
  "em",
  "strong",
  "del",
  "code",
  "pre",
  "blockquote",
  "ul",
  "ol",
  "li",
  "h1",
  "h2",
  "h3",
  "h4",
  "h5",
  "h6",
  "hr",
  "br",
  "table",
  "thead",
  "tbody",
  "tr",
  "th",
  "td",
  "a",
  "span",
  "sup",
]);
/** A heading of a message must not outrank those of the page. */
const HEADINGS = /^h[1-6]$/;
const SCHEMES = ["http:", "https:", "mailto:"];

/**
 * @param {string} html
 * @returns {HTMLElement}
 */
export function markdown(html) {
  const inert = new DOMParser().parseFromString(html, "text/html");
  const element = make("div.prose");
  copyInto(element, inert.body);
  return element;
}

/**
 * @param {Element} target
 * @param {Node} source
 */
function copyInto(target, source) {
  for (const node of source.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) {
      target.append(visible(node.textContent ?? ""));
    } else if (node instanceof Element) {
      const tag = node.localName;
      if (tag === "input") {
        target.append(node.hasAttribute("checked") ? "☑" : "☐");
      } else if (!ALLOWED.has(tag)) {
        copyInto(target, node);
      } else {
        const made = document.createElement(HEADINGS.test(tag) ? "p" : tag);
        if (HEADINGS.test(tag)) made.className = `heading ${tag}`;
        if (made instanceof HTMLAnchorElement) link(made, node.getAttribute("href") ?? "");
        target.append(made);
        copyInto(made, node);
      }
    }
  }
}

/**
 * @param {HTMLAnchorElement} anchor
 * @param {string} target
 */
function link(anchor, target) {
  try {
    if (!SCHEMES.includes(new URL(target).protocol)) return;
  } catch {
    return;
  }
  anchor.href = target;
  anchor.title = target;
  anchor.target = "_blank";
  anchor.rel = "noopener noreferrer";
}
