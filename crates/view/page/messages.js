// Messages as cards: their role and their parts, texts as Markdown or as they were written; thinking folded.

import { make } from "./dom.js";
import { markdown } from "./markdown.js";
import { loadAll, textView, valueView } from "./values.js";
import { bytes } from "./units.js";

/** @import { MessageAnswer, PartAnswer } from "./answers" */

/**
 * @param {MessageAnswer[]} messages
 * @param {boolean} plain whether texts are shown as they were written
 * @returns {HTMLElement[]}
 */
export function messageCards(messages, plain) {
  return messages.map((message) => messageCard(message, plain));
}

/**
 * @param {MessageAnswer} message
 * @param {boolean} plain
 * @returns {HTMLElement}
 */
function messageCard({ role, speaker, parts }, plain) {
  return make(
    "article.message",
    { data: { role: speaker } },
    make("h3.role", null, role),
    parts.length === 0 ? make("p.muted", null, "(nothing)") : parts.map((part) => partView(part, plain)),
  );
}

/**
 * @param {PartAnswer} part
 * @param {boolean} plain
 * @returns {HTMLElement}
 */
function partView(part, plain) {
  const { type, label, name } = part;
  if (type === "thinking" && part.text) return make("details.thinking", null, make("summary", null, label), content(part, plain));
  const isCall = label !== undefined || type === "result";
  if (!isCall) return content(part, plain);
  const isEmpty = part.text === undefined && part.value === undefined;
  return make(
    "div.call",
    null,
    label && make("p.call-name", null, label, " ", name && make("b", null, name)),
    !(label && isEmpty) && type !== "thinking" && content(part, plain),
  );
}

/**
 * @param {PartAnswer} part
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
