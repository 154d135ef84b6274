// The context bill of a run: what was sent with its calls, how often, and what it cost.

import { getJson, runPath } from "./api.js";
import { make } from "./dom.js";
import { showError } from "./frame.js";
import { counted } from "./units.js";

/** @import { BilledBlock, ContextBill } from "./answers" */
/** @import { RunModel } from "./run-model.js" */

/** @param {RunModel} page */
export function contextBill(page) {
  const element = make(
    "details",
    { id: "context-bill", ontoggle: () => element.childElementCount === 1 && load().catch(showError) },
    make("summary", null, "What the context cost"),
  );
  async function load() {
    const note = element.appendChild(make("p.muted", { role: "status" }, "Adding up …"));
    /** @type {ContextBill} */
    const bill = await getJson(runPath(page.id, "/context")).catch((error) => {
      // Opened again, it asks again.
      note.remove();
      throw error;
    });
    note.replaceWith(
      make("p", null, bill.summary),
      bill.blocks.length > 0 ? blockTable(bill, page) : "",
      make(
        "ul.muted",
        null,
        bill.notes.map((text) => make("li", null, text)),
      ),
    );
  }
  return element;
}

/**
 * @param {ContextBill} bill
 * @param {RunModel} page
 */
function blockTable(bill, page) {
  /** @param {BilledBlock} block */
  const row = (block) =>
    make(
      "tr",
      { title: block.sentence },
      make("td", null, make("button.quiet", { onclick: () => page.goTo(block.first_event) }, block.name)),
      block.cells.map((cell) => make("td", null, cell)),
    );
  return make(
    "table.context-bill",
    null,
    make(
      "thead",
      null,
      make(
        "tr",
        null,
        ["block", ...bill.columns].map((heading) => make("th", { scope: "col" }, heading)),
      ),
    ),
    make("tbody", null, bill.blocks.map(row)),
    bill.more_blocks > 0 && make("caption", null, `and ${counted(bill.more_blocks, "more block")}`),
  );
}
