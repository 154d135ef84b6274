// A running `tracer view`.
import { firstLine, start } from "./program.js";

/** While one works on the page: its files from the disk, so that no build is needed. */
const PAGE_FILES = process.env.TRACER_PAGE_FILES ? ["--page-files", process.env.TRACER_PAGE_FILES] : [];

/** Starts the viewer on a free port and gives its address, `http://127.0.0.1:PORT`. */
export async function view(test, dataDir, ...args) {
  const child = start(test, "tracer", ["view", "--no-browser", "--port", "0", "--json", ...PAGE_FILES, ...args], dataDir);
  const reported = JSON.parse(await firstLine(child));
  return { child, origin: new URL(reported.url).origin, url: reported.url };
}
