// A long list of items of any height, loaded in parts: parts far from the screen leave the page again, so that a run of
// any length costs the same.

import { fill, make } from "./dom.js";
import { showError } from "./frame.js";
import { counted } from "./units.js";

/** Parts in the page at once. */
const MAX_PARTS = 4;

/**
 * @template Item
 * @typedef {object} Source
 * @property {string} label of the list
 * @property {number} size how many things a part has
 * @property {string} noun
 * @property {string} nothing what is said of an empty list
 * @property {(from: number, limit: number) => Promise<{ items: Item[], total: number }>} load
 * @property {(item: Item) => HTMLElement} render
 */

/** @template Item */
export class PartedView {
  /** @param {Source<Item>} source */
  constructor(source) {
    this.source = source;
    this.above = make("div.more-above", { hidden: true });
    this.below = make("div.more-below", { hidden: true });
    this.list = make("div.parts");
    this.element = make("div.scroll", { role: "region", "aria-label": source.label, tabindex: 0 }, this.above, this.list, this.below);
    this.total = 0;
    /** @type {{ from: number, element: HTMLElement }[]} */
    this.parts = [];
    this.busy = false;
    const observer = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) if (entry.isIntersecting) this.#extend(entry.target === this.above ? -1 : 1);
      },
      { root: this.element, rootMargin: "600px" },
    );
    observer.observe(this.above);
    observer.observe(this.below);
  }

  /**
   * Shows the list from about a place on.
   * @param {number} index
   */
  async open(index) {
    const { size } = this.source;
    this.parts = [];
    this.list.replaceChildren();
    await this.#load(Math.max(0, Math.floor(index / size) * size), 1);
    if (this.total === 0) fill(this.list, make("p.empty", null, this.source.nothing));
    else await this.#extend(1);
  }

  /** @param {number} index */
  has(index) {
    return this.parts.some(({ from }) => from <= index && index < from + this.source.size);
  }

  /** @param {1 | -1} direction */
  async #extend(direction) {
    const first = this.parts[0]?.from ?? 0;
    const last = this.parts.at(-1)?.from ?? 0;
    const from = direction < 0 ? first - this.source.size : last + this.source.size;
    if (this.parts.length === 0 || from < 0 || from >= this.total) return;
    await this.#load(from, direction);
  }

  /** @param {number} from @param {1 | -1} direction */
  async #load(from, direction) {
    if (this.busy) return;
    this.busy = true;
    try {
      const { items, total } = await this.source.load(from, this.source.size);
      this.total = total;
      const element = make(
        "div.part-of-list",
        null,
        items.map((item) => this.source.render(item)),
      );
      const part = { from, element };
      if (direction < 0) {
        this.parts.unshift(part);
        this.list.prepend(element);
        // Browsers that do not hold the place by themselves.
        if (this.element.scrollTop === 0) this.element.scrollTop = element.offsetHeight;
      } else {
        this.parts.push(part);
        this.list.append(element);
      }
      if (this.parts.length > MAX_PARTS) (direction < 0 ? this.parts.pop() : this.parts.shift())?.element.remove();
      this.#announce();
    } catch (error) {
      showError(error);
    } finally {
      this.busy = false;
    }
  }

  #announce() {
    const before = this.parts[0]?.from ?? 0;
    const after = Math.max(0, this.total - (this.parts.at(-1)?.from ?? 0) - this.source.size);
    this.above.hidden = before === 0;
    this.below.hidden = after === 0;
    fill(this.above, make("button.quiet", { onclick: () => this.#extend(-1) }, `${counted(before, this.source.noun)} before`));
    fill(this.below, make("button.quiet", { onclick: () => this.#extend(1) }, `${counted(after, this.source.noun)} after`));
  }
}
