// A cache of the items of a long list, loaded in parts as they come onto the screen.

/** While the scroll bar is dragged, most items are gone before an answer could arrive. */
const MAX_REQUESTS_IN_FLIGHT = 2;
const MAX_CACHED_ITEMS = 8_000;

/** @template Item */
export class CachedList {
  /**
   * @param {number} size of a part
   * @param {(from: number, limit: number) => Promise<Item[]>} load
   * @param {() => void} [onLoad]
   */
  constructor(size, load, onLoad = () => {}) {
    this.size = size;
    this.load = load;
    this.onLoad = onLoad;
    /** By their place in the list. @type {Map<number, Item>} */
    this.items = new Map();
    /** @type {Set<number>} */
    this.asked = new Set();
    this.requests = 0;
    /** Items that wait for an answer. @type {number[]} */
    this.waiting = [];
  }

  /** @param {number} place @returns {Item | undefined} */
  get(place) {
    return this.items.get(place);
  }

  /** @param {number} from @param {Item[]} items */
  put(from, items) {
    items.forEach((item, index) => this.items.set(from + index, item));
    for (const oldest of this.items.keys()) {
      if (this.items.size <= MAX_CACHED_ITEMS) break;
      this.items.delete(oldest);
      this.asked.delete(Math.floor(oldest / this.size));
    }
  }

  /**
   * Asks for the items that are not here yet; of those that have to wait, the last that were needed.
   * @param {number[]} places
   */
  need(places) {
    this.waiting = this.requests < MAX_REQUESTS_IN_FLIGHT ? [] : places;
    if (this.waiting.length > 0) return;
    for (const place of places) {
      const part = Math.floor(place / this.size);
      if (!this.items.has(place) && !this.asked.has(part)) this.ask(part);
    }
  }

  /**
   * Asks for a part, known or not.
   * @param {number} part
   */
  async ask(part) {
    this.asked.add(part);
    this.requests += 1;
    try {
      this.put(part * this.size, await this.load(part * this.size, this.size));
      this.onLoad();
    } catch {
      // Scrolling to them again asks again.
      this.asked.delete(part);
    } finally {
      this.requests -= 1;
      this.need(this.waiting);
    }
  }

  /**
   * Forgets the items that are no longer true.
   * @param {(place: number, item: Item) => boolean} isStale
   */
  forget(isStale) {
    for (const [place, item] of this.items) if (isStale(place, item)) this.items.delete(place);
    this.asked.clear();
  }
}
