// The address of a run's page holds the whole view: what is shown, selected, filtered and searched, so that a copied link shows the same.

export const VIEWS = /** @type {const} */ (["steps", "transcript", "state", "compare", "raw"]);

/** @typedef {typeof VIEWS[number]} View */
/**
 * @typedef {object} Route
 * @property {View} view
 * @property {string} at event that is selected
 * @property {string} tab of the inspector
 * @property {string[]} kinds that are listed; none lists all
 * @property {string} query what is searched for
 * @property {[number, number] | null} range microseconds from the start of the run
 * @property {boolean} folding whether repeats are folded
 * @property {string} against run that is compared with
 */

/**
 * @param {string} [search]
 * @returns {Route}
 */
export function readRoute(search = location.search) {
  const query = new URLSearchParams(search);
  const [from, to] = [query.get("t0"), query.get("t1")].map((text) => (text === null || text === "" ? NaN : Number(text)));
  return {
    view: VIEWS.find((view) => view === query.get("view")) ?? "steps",
    at: query.get("at") ?? "",
    tab: query.get("tab") ?? "",
    kinds: (query.get("kind") ?? "").split(",").filter(Boolean),
    query: query.get("q") ?? "",
    range: from < to ? [from, to] : null,
    folding: query.get("fold") !== "0",
    against: query.get("against") ?? "",
  };
}

/**
 * @param {Route} route
 * @returns {string} the address, without what is as always
 */
export function address(route) {
  const query = new URLSearchParams();
  if (route.view !== "steps") query.set("view", route.view);
  if (route.at) query.set("at", route.at);
  if (route.tab) query.set("tab", route.tab);
  if (route.kinds.length > 0) query.set("kind", route.kinds.join(","));
  if (route.query) query.set("q", route.query);
  if (route.range) {
    query.set("t0", String(Math.round(route.range[0])));
    query.set("t1", String(Math.round(route.range[1])));
  }
  if (!route.folding) query.set("fold", "0");
  if (route.against) query.set("against", route.against);
  const text = query.toString();
  return location.pathname + (text ? `?${text}` : "");
}

/**
 * Writes a route into the address bar: a new view can be gone back from, a new selection cannot.
 * @param {Route} route
 * @param {boolean} [push]
 */
export function writeRoute(route, push = false) {
  const next = address(route);
  if (next === location.pathname + location.search) return;
  if (push) history.pushState(null, "", next);
  else history.replaceState(null, "", next);
}
