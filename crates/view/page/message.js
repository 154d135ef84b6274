// The page for an address that leads to no run, or to more than one: it says so, and offers what may have been meant.

import { initialData } from "./api.js";
import { make } from "./dom.js";
import { startFrame } from "./frame.js";
import { runName } from "./runs-row.js";
import { ago } from "./units.js";

const { message = "There is nothing here.", wanted = "", candidates = [] } = initialData();
const main = startFrame();
/** @param {{ run_id: string, run_name: string | null, started_at: string | null }} candidate */
const link = ({ run_id: id, run_name: name, started_at: started }) =>
  make(
    "li",
    null,
    make("a", { href: `/r/${id}${location.search}` }, runName(name)),
    " ",
    make("span.mono.muted", null, id),
    started && make("span.muted", null, ` ${ago(Date.parse(started), Date.now())}`),
  );
main.append(
  make(
    "div.page-content.notice",
    null,
    make("h1", null, message),
    wanted && make("p.mono.muted", null, wanted),
    candidates.length > 0 &&
      make("section.part", null, make("h2", null, "Did you mean"), make("ul.candidates", null, candidates.map(link))),
    make("p", null, make("a", { href: "/" }, "All runs")),
  ),
);
