// The filters above a list: a search, the time, and further values, all of them kept in the address.

import { glyph, make } from "./dom.js";

/** @type {[string, string][]} value, label */
const SINCE = [
  ["", "Any time"],
  ["1h", "Last hour"],
  ["24h", "Last 24 hours"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
];
/** Time without typing before a request. */
const TYPING_DELAY_MS = 150;

/**
 * A field for a query, which is reported when typing rests.
 * @param {Record<string, string>} attributes
 * @param {(query: string) => void} onQuery
 */
export function searchBox(attributes, onQuery) {
  const input = make("input", { type: "search", spellcheck: "false", autocomplete: "off", ...attributes });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing;
  input.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => onQuery(input.value.trim()), TYPING_DELAY_MS);
  });
  return { input, element: make("label.search", null, glyph("search"), input) };
}

/** @template {{ q: string, since: string } & Record<string, string>} Values */
export class Filters {
  /**
   * @param {Values} usual the values that the address leaves out
   * @param {string} placeholder
   * @param {() => void} onChange
   */
  constructor(usual, placeholder, onChange) {
    this.usual = usual;
    this.onChange = onChange;
    this.values = { ...usual };
    const { input, element } = searchBox({ placeholder, "aria-label": "Search runs" }, (q) => this.set({ q }));
    this.input = input;
    this.search = element;
    this.since = make(
      "select",
      { "aria-label": "Started", onchange: () => this.set({ since: this.since.value }) },
      SINCE.map(([value, label]) => make("option", { value }, label)),
    );
    this.read();
    addEventListener("popstate", () => {
      this.read();
      this.onChange();
    });
  }

  /** Takes the values of the address. */
  read() {
    const query = new URLSearchParams(location.search);
    for (const name of /** @type {(keyof Values & string)[]} */ (Object.keys(this.usual))) {
      this.values[name] = /** @type {any} */ (query.get(name) ?? this.usual[name]);
    }
    // A time that is no choice is any time.
    if (!SINCE.some(([value]) => value === this.values.since)) this.values.since = /** @type {any} */ ("");
    this.#show();
  }

  /** @param {{ [name: string]: string }} changes */
  set(changes) {
    Object.assign(this.values, changes);
    this.#show();
    const text = this.query.toString();
    history.replaceState(null, "", text ? `${location.pathname}?${text}` : location.pathname);
    this.onChange();
  }

  #show() {
    const { q, since } = this.values;
    // A text that is being typed may end in a space.
    if (this.input.value.trim() !== q) this.input.value = q;
    this.since.value = since;
  }

  /** The values that are not as usual. */
  get query() {
    return new URLSearchParams(Object.entries(this.values).filter(([name, value]) => value !== "" && value !== this.usual[name]));
  }
}
