// The other views of a run, each made when it is opened first.

/** @import { RunPage } from "./run.js" */
/** @import { OtherView, View } from "./workspace.js" */

/**
 * @param {View} view
 * @param {RunPage} page
 * @returns {Promise<OtherView>}
 */
export async function makeView(view, page) {
  switch (view) {
    case "transcript":
      return new (await import("./transcript.js")).Transcript(page);
    case "state":
      return new (await import("./transcript.js")).Transcript(page, "state");
    case "compare":
      return new (await import("./comparison-tab.js")).ComparisonTab(page);
    default:
      return new (await import("./raw.js")).RawView(page);
  }
}
