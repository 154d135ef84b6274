// Messages as cards: who, and what was said, as Markdown or as it was written; tool calls with their arguments; thinking folded.

import { make } from "./dom.js";
import { markdown } from "./markdown.js";
import { loadAll, textView, valueView } from "./values.js";
import { bytes, counted } from "./units.js";

/** @import { Message, Part } from "./contract" */

/**
 * @param {Message[]} messages
 * @param {boolean} plain whether texts are shown as they were written
 * @returns {HTMLElement[]}
 */
export function messageCards(messages, plain) {
  return messages.map((message) => messageCard(message, plain));
}

/**
 * @param {Message} message
 * @param {boolean} plain
 * @returns {HTMLElement}
 */
export function messageCard({ role, parts }, plain) {
  return make(
    "article.message",
    { data: { role: roleClass(role) } },
    make("h3.role", null, role),
    parts.length === 0 ? make("p.muted", null, "(nothing)") : parts.map((part) => partView(part, plain)),
  );
}

/** @param {string} role */
export function roleClass(role) {
  if (role === "assistant" || role === "model") return "assistant";
  if (role === "tool" || role === "function") return "tool";
  return role === "system" || role === "developer" ? "system" : "user";
}

/**
 * @param {Part} part
 * @param {boolean} plain
 * @returns {HTMLElement}
 */
function partView(part, plain) {
  switch (part.type) {
    case "thinking":
      return make(
        "details.thinking",
        null,
        make("summary", null, `Thinking, ${counted([...(part.text ?? "")].length, "character")}`),
        content(part, plain),
      );
    case "call":
      return make("div.call", null, make("p.call-name", null, "calls ", make("b", null, part.name ?? "a tool")), content(part, plain));
    case "result":
      return make("div.call", null, content(part, plain));
    default:
      return content(part, plain);
  }
}

/**
 * @param {Part} part
 * @param {boolean} plain
 * @returns {HTMLElement}
 */
function content(part, plain) {
  const { text, html, value, tail, value_url: url, size } = part;
  const shown =
    html !== undefined && !plain
      ? markdown(html)
      : text !== undefined
        ? textView(text)
        : value !== undefined
          ? valueView(value)
          : make("span.muted", null, "(nothing)");
  if (!url) return shown;
  /** @type {HTMLElement} */
  const whole = make(
    "div.value-cut",
    null,
    shown,
    make(
      "p.cut",
      null,
      `${bytes(size)} shown of it; the end follows. `,
      loadAll(url, size, () => whole),
    ),
    textView(tail ?? ""),
  );
  return whole;
}
