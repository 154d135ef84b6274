// Messages as cards: their role and their parts, texts as Markdown or as they were written; thinking folded.

import { getText } from "./api.js";
import { make } from "./dom.js";
import { showError } from "./frame.js";
import { markdown } from "./markdown.js";
import { shownValue } from "./values.js";

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
 * A picture, or a sound to be played.
 * @param {NonNullable<PartAnswer["media"]>} media
 * @param {string} label
 */
function mediaView({ type, url }, label) {
  const shown = type.startsWith("image/")
    ? make("img.picture", { alt: label, title: label })
    : make("audio", { controls: true, "aria-label": label });
  getText(url)
    .then((text) => (shown.src = `data:${type};base64,${text}`))
    .catch(showError);
  return make("figure.media", null, shown, make("figcaption.muted", null, label));
}

/**
 * @param {PartAnswer} part
 * @param {boolean} plain
 * @returns {HTMLElement}
 */
function partView(part, plain) {
  const { type, label, name, html } = part;
  if (part.media) return mediaView(part.media, label ?? type);
  const isEmpty = part.value === null && !part.value_url;
  const content = () =>
    isEmpty ? make("span.muted", null, "(nothing)") : shownValue(part, html !== undefined && !plain ? markdown(html) : undefined);
  if (type === "thinking" && (part.value || part.value_url)) return make("details.thinking", null, make("summary", null, label), content());
  if (label === undefined && type !== "result") return content();
  return make(
    "div.call",
    null,
    label && make("p.call-name", null, label, " ", name && make("b", null, name)),
    !(label && isEmpty) && type !== "thinking" && content(),
  );
}
