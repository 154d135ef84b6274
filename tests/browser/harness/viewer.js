// A running `tracer view`.
import { firstLine, start } from "./program.js";

/** While one works on the page: its files from the disk, so that no build is needed. */
const PAGE_FILES = process.env.TRACER_PAGE_FILES ? ["--page-files", process.env.TRACER_PAGE_FILES] : [];

/** The cookies that the printed addresses of all viewers give a browser. @type {{ name: string, value: string, url: string }[]} */
export const cookies = [];

/** Starts the viewer on a free port and gives its address, `http://127.0.0.1:PORT`; pages opened afterwards may read it. */
export async function view(test, dataDir, ...args) {
  const child = start(test, "tracer", ["view", "--no-browser", "--port", "0", "--json", ...PAGE_FILES, ...args], dataDir);
  const reported = JSON.parse(await firstLine(child));
  const { origin, port, searchParams } = new URL(reported.url);
  const token = searchParams.get("token") ?? "";
  cookies.push({ name: `tracer-token-${port}`, value: token, url: origin });
  return { child, origin, url: reported.url, headers: { "X-Tracer-Token": token } };
}
