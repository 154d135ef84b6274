// Values as people read them: objects as names and values that open when they are wanted, texts as texts, never as escaped JSON.

import { getText, parseJson } from "./api.js";
import { fill, make, table, visible } from "./dom.js";
import { searchBox } from "./filters.js";
import { copy } from "./frame.js";
import { bytes, count, counted } from "./units.js";
import { wordDiff } from "./word-diff.js";

/** @import { DifferenceAnswer, Json, ShownValue } from "./answers" */

/** Longer lists are shown in parts. */
const ITEMS_PER_PART = 100;
/** Nested values are open to this depth, when they are not large. */
const OPEN_DEPTH = 2;
const MAX_OPEN_ENTRIES = 20;
/** Wider objects are no rows of a table. */
const MAX_TABLE_COLUMNS = 8;
/** A value with so many values in it can be searched. */
const MIN_SEARCHED = 24;
const MAX_HITS = 50;
const MAX_HIT_CHARACTERS = 120;
/** Pictures that run nothing. */
const PICTURE = /^data:image\/(png|jpeg|gif|webp);base64,[\w+/=]+$/;
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
          value = parseJson(text);
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
 * @param {string} [path] where it is in the value that is shown, such as `order.items[2]`
 * @param {number} [depth]
 * @returns {HTMLElement}
 */
export function valueView(value, path = "", depth = 0) {
  if (typeof value === "string") return PICTURE.test(value) ? make("img.picture", { src: value, alt: path }) : textView(value, path);
  if (value === null || typeof value !== "object") return make("span.value.mono", null, String(value));
  const entries = Object.entries(value);
  if (entries.length === 0) return make("span.value.mono.muted", null, Array.isArray(value) ? "[ ]" : "{ }");
  const columns = columnsOf(value);
  const list = columns ? make("tbody") : make("dl.value-fields");
  const showFrom = (/** @type {number} */ from) => {
    for (const [key, item] of entries.slice(from, from + ITEMS_PER_PART)) {
      const place = Array.isArray(value) ? `${path}[${key}]` : path ? `${path}.${key}` : key;
      list.append(columns ? tableRow(key, item, columns, place) : field(key, item, depth, place));
    }
    const rest = entries.length - from - ITEMS_PER_PART;
    if (rest <= 0) return;
    const showMore = () => {
      row.remove();
      showFrom(from + ITEMS_PER_PART);
    };
    const more = make("button.quiet", { onclick: showMore }, `Show ${count(Math.min(ITEMS_PER_PART, rest))} of ${count(rest)} more`);
    const row = columns
      ? make("tr", null, make("td", { colspan: columns.length + 1 }, more))
      : make("div", null, make("dt"), make("dd", null, more));
    list.append(row);
  };
  showFrom(0);
  const shown = columns
    ? table("table.value-table", [make("span.unseen", null, "Row"), ...columns], /** @type {HTMLTableSectionElement} */ (list))
    : list;
  return depth === 0 && leaves(value, "", MIN_SEARCHED).length === MIN_SEARCHED ? make("div", null, search(value), shown) : shown;
}

/** The names that all of several flat objects have: these are a table. @param {Json} value */
function columnsOf(value) {
  if (!Array.isArray(value) || value.length < 2) return null;
  const names = isFlat(value[0]) ? Object.keys(/** @type {object} */ (value[0])) : [];
  const isRow = (/** @type {Json} */ item) => isFlat(item) && Object.keys(/** @type {object} */ (item)).join() === names.join();
  return names.length > 0 && names.length <= MAX_TABLE_COLUMNS && value.every(isRow) ? names : null;
}

/** @param {Json} item */
function isFlat(item) {
  const isObject = item !== null && typeof item === "object" && !Array.isArray(item);
  return isObject && Object.values(item).every((value) => value === null || typeof value !== "object");
}

/** @param {string} key @param {any} item @param {string[]} columns @param {string} path */
function tableRow(key, item, columns, path) {
  const cells = columns.map((name) => make("td", null, valueView(item[name], `${path}.${name}`, 1)));
  return make("tr", null, make("th.mono.muted", { scope: "row" }, key), cells);
}

/**
 * The values within a value with their paths, at most some.
 * @param {Json} value
 * @param {string} path
 * @param {number} most
 * @param {(path: string, text: string) => boolean} [fits]
 * @param {[string, string][]} [found]
 */
function leaves(value, path, most, fits = () => true, found = []) {
  if (found.length >= most) return found;
  if (value !== null && typeof value === "object") {
    for (const [key, item] of Object.entries(value)) {
      leaves(item, Array.isArray(value) ? `${path}[${key}]` : path ? `${path}.${key}` : key, most, fits, found);
    }
  } else if (fits(path, String(value))) {
    found.push([path, String(value)]);
  }
  return found;
}

/** Finds names and texts within a large value, and copies their paths. @param {Json} value */
function search(value) {
  const hits = make("ul.value-hits", { "aria-live": "polite" });
  const { element } = searchBox({ placeholder: "Find in this value", "aria-label": "Find in this value" }, (query) => {
    const wanted = query.toLowerCase();
    const fits = (/** @type {string} */ path, /** @type {string} */ text) => `${path}\n${text}`.toLowerCase().includes(wanted);
    const found = query === "" ? [] : leaves(value, "", MAX_HITS, fits);
    const hit = (/** @type {[string, string]} */ [path, text]) =>
      make("li", null, copyPath(path, path), " ", text.slice(0, MAX_HIT_CHARACTERS));
    fill(hits, query !== "" && found.length === 0 ? make("li.muted", null, "no hits") : found.map(hit));
  });
  return make("div.value-search", null, element, hits);
}

/** @param {string} path @param {string} label */
function copyPath(path, label) {
  return make("button.key.mono", { title: `Copy the path ${path}`, onclick: () => copy(path, "Path copied") }, label);
}

/**
 * @param {string} key
 * @param {Json} value
 * @param {number} depth
 * @param {string} path
 */
function field(key, value, depth, path) {
  const label = make("dt", null, copyPath(path, key));
  if (value === null || typeof value !== "object" || Object.keys(value).length === 0) {
    return make("div", null, label, make("dd", null, valueView(value, path, depth + 1)));
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
    if (details.open && content.childElementCount === 0) content.append(valueView(value, path, depth + 1));
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
 * Two texts of which the words that differ are marked.
 * @param {string} before
 * @param {string} after
 */
export function wordDifference(before, after) {
  const [was, is] = wordDiff(before, after);
  const marked = (/** @type {"del" | "ins"} */ tag, /** @type {[string, boolean][]} */ parts) =>
    make(
      "span.value.text",
      null,
      parts.map(([text, isOwn]) => (isOwn ? make(tag, null, text) : text)),
    );
  return [marked("del", was), marked("ins", is)];
}

/**
 * Differences field by field.
 * @param {DifferenceAnswer[]} differences
 * @returns {HTMLElement}
 */
export function differencesView(differences) {
  const none = () => make("span.muted", null, "not there");
  return table(
    "table.differences",
    ["Field", "Before", "After"],
    make(
      "tbody",
      null,
      differences.map(({ of, path, before, after }) => {
        const [was, is] =
          before !== null && after !== null
            ? wordDifference(before, after)
            : [before, after].map((text) => (text === null ? none() : textView(text)));
        return make("tr", null, make("th.mono", { scope: "row" }, path || of), make("td.before", null, was), make("td.after", null, is));
      }),
    ),
  );
}
