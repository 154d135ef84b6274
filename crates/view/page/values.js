// Values as people read them: objects as names and values that open when they are wanted, texts as texts, never as escaped JSON.

import { getText } from "./api.js";
import { fill, make, table, visible } from "./dom.js";
import { bytes, count, counted } from "./units.js";

/** @import { DifferenceAnswer, Json, ShownValue } from "./answers" */

/** Longer lists are shown in parts. */
const ITEMS_PER_PART = 100;
/** Nested values are open to this depth, when they are not large. */
const OPEN_DEPTH = 2;
const MAX_OPEN_ENTRIES = 20;
const REDACTED = "__REDACTED__";
const TRUNCATED = "__TRUNCATED__";

/**
 * A value with its size, or the two ends of a large one and a way to the whole.
 * @param {ShownValue} shown
 * @param {HTMLElement} [beginning] the value, or its beginning, where it is not shown as it is
 * @returns {HTMLElement}
 */
export function shownValue(shown, beginning = valueView(shown.head ?? shown.value)) {
  if (!shown.value_url) return beginning;
  /** @type {HTMLElement} */
  const whole = make(
    "div.value-cut",
    null,
    beginning,
    make(
      "p.cut",
      null,
      `${bytes(shown.size)} in all; the beginning and the end are shown. `,
      loadAll(shown.value_url, shown.size, () => whole),
    ),
    textView(shown.tail ?? ""),
  );
  return whole;
}

/**
 * @param {string} url
 * @param {number} size
 * @param {() => HTMLElement} place what the whole is put into
 */
function loadAll(url, size, place) {
  const button = make(
    "button.quiet",
    {
      onclick: async () => {
        button.disabled = true;
        const text = await getText(url);
        let value = /** @type {Json} */ (text);
        try {
          value = JSON.parse(text);
        } catch {
          // A text that is not JSON is shown as it is.
        }
        fill(place(), valueView(value));
      },
    },
    `Load all ${bytes(size)}`,
  );
  return button;
}

/**
 * @param {Json} value
 * @param {string} [name] the key that holds it
 * @param {number} [depth]
 * @returns {HTMLElement}
 */
export function valueView(value, name = "", depth = 0) {
  if (typeof value === "string") return textView(value, name);
  if (value === null || typeof value !== "object") return make("span.value.mono", null, String(value));
  const entries = Array.isArray(value)
    ? value.map((item, index) => /** @type {[string, Json]} */ ([String(index), item]))
    : Object.entries(value);
  if (entries.length === 0) return make("span.value.mono.muted", null, Array.isArray(value) ? "[ ]" : "{ }");
  const list = make("dl.value-fields");
  const isArray = Array.isArray(value);
  const showFrom = (/** @type {number} */ from) => {
    for (const [key, item] of entries.slice(from, from + ITEMS_PER_PART)) list.append(field(key, item, depth, isArray));
    const rest = entries.length - from - ITEMS_PER_PART;
    if (rest <= 0) return;
    const more = make(
      "button.quiet",
      {
        onclick: () => {
          row.remove();
          showFrom(from + ITEMS_PER_PART);
        },
      },
      `Show ${count(Math.min(ITEMS_PER_PART, rest))} of ${count(rest)} more`,
    );
    const row = make("div", null, make("dt"), make("dd", null, more));
    list.append(row);
  };
  showFrom(0);
  return list;
}

/**
 * @param {string} key
 * @param {Json} value
 * @param {number} depth
 * @param {boolean} isIndex
 */
function field(key, value, depth, isIndex) {
  const label = make("dt.mono", { class: isIndex ? "mono muted" : "mono" }, key);
  if (value === null || typeof value !== "object" || Object.keys(value).length === 0) {
    return make("div", null, label, make("dd", null, valueView(value, key, depth + 1)));
  }
  const size = Object.keys(value).length;
  const content = make("div.nested");
  const details = make(
    "details",
    { open: depth < OPEN_DEPTH && size <= MAX_OPEN_ENTRIES },
    make("summary", null, make("span.mono.muted", null, Array.isArray(value) ? counted(size, "item") : counted(size, "field"))),
    content,
  );
  const build = () => {
    if (details.open && content.childElementCount === 0) content.append(valueView(value, key, depth + 1));
  };
  details.addEventListener("toggle", build);
  build();
  return make("div.has-nested", null, label, make("dd", null, details));
}

/**
 * A text as it is, with marks in the place of what was left out.
 * @param {string} text
 * @param {string} [name]
 * @returns {HTMLElement}
 */
export function textView(text, name = "") {
  const element = make(text.includes("\n") ? "pre.value.text" : "span.value.text");
  const parts = text.split(new RegExp(`(${REDACTED}|${TRUNCATED})`));
  for (const part of parts) {
    if (part === REDACTED)
      element.append(make("span.mark-left-out", null, name && text === REDACTED ? `‹redacted: ${name}›` : "‹redacted›"));
    else if (part === TRUNCATED) element.append(make("span.mark-left-out", null, "‹truncated›"));
    else element.append(visible(part));
  }
  if (text === "") element.append(make("span.muted", null, "(empty)"));
  return element;
}

/**
 * Differences field by field.
 * @param {DifferenceAnswer[]} differences
 * @returns {HTMLElement}
 */
export function differencesView(differences) {
  return table(
    "table.differences",
    ["Field", "Before", "After"],
    make(
      "tbody",
      null,
      differences.map(({ of, path, before, after }) =>
        make(
          "tr",
          null,
          make("th.mono", { scope: "row" }, path || of),
          make("td.before", null, before === null ? make("span.muted", null, "not there") : textView(before)),
          make("td.after", null, after === null ? make("span.muted", null, "not there") : textView(after)),
        ),
      ),
    ),
  );
}
