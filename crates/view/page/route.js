// The address of a run's page: it holds the view, the selection, the filters and the search, so that a copied link shows the same.

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
 * @property {string} sort what the steps are sorted by; nothing lists them by time
 * @property {string} against run, or `baseline:` and a name, that is compared with
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
    sort: query.get("sort") ?? "",
    against: query.get("against") ?? "",
  };
}

/**
 * @param {Route} route
 * @returns {string} the address, without the usual values
 */
export function address(route) {
  const [from, to] = route.range ?? [];
  const given = Object.entries({
    view: route.view === "steps" ? "" : route.view,
    at: route.at,
    tab: route.tab,
    kind: route.kinds.join(","),
    q: route.query,
    t0: from === undefined ? "" : String(Math.round(from)),
    t1: to === undefined ? "" : String(Math.round(to)),
    fold: route.folding ? "" : "0",
    sort: route.sort,
    against: route.against,
  }).filter(([, value]) => value !== "");
  const text = new URLSearchParams(given).toString();
  return location.pathname + (text ? `?${text}` : "");
}

/**
 * Writes a route into the address bar: a new view can be gone back from, a new selection cannot.
 * @param {Route} route
 * @param {boolean} push
 */
export function writeRoute(route, push) {
  const next = address(route);
  if (next === location.pathname + location.search) return;
  if (push) history.pushState(null, "", next);
  else history.replaceState(null, "", next);
}
