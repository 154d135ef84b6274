// What the browser loads before a page is there: its modules with all that they import, the shell, the theme and the style sheet.
// Fails when a page is heavier, or asks more often, than a page may.

import { readFileSync, readdirSync } from "node:fs";

const FOLDER = new URL("../../tracer-cli/src/view/page/", import.meta.url);
const MOST_BYTES = 200_000;
/** One of twenty is left for the rows of a run. */
const MOST_FILES = 19;
const PAGES = ["runs", "run", "diff", "message"];

/** The files that a module loads at once, itself among them; not those of `import()`. */
function loaded(name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  for (const [, imported] of read(name).matchAll(/^import .* from "\.\/(.+)";$/gm)) loaded(imported, found);
  return found;
}

function read(name) {
  return readFileSync(new URL(name, FOLDER), "utf8");
}

let failed = false;
for (const page of PAGES) {
  const files = [...loaded(`${page}.js`), "shell.html", "theme.js", "page.css"];
  const bytes = files.reduce((sum, name) => sum + Buffer.byteLength(read(name)), 0);
  const tooMuch = bytes > MOST_BYTES || files.length > MOST_FILES;
  failed ||= tooMuch;
  console.log(`${tooMuch ? "error: " : ""}${page}: ${files.length} files (at most ${MOST_FILES}), ${bytes} bytes (at most ${MOST_BYTES})`);
}
const known = new Set(PAGES.flatMap((page) => [...loaded(`${page}.js`)]));
const later = readdirSync(FOLDER).filter((name) => name.endsWith(".js") && name !== "theme.js" && !known.has(name));
console.log(`loaded when they are needed: ${later.join(", ")}`);
process.exitCode = failed ? 1 : 0;
