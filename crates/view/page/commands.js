// The command lines that the page suggests: for the program, the data directory and the bucket that it shows the runs of.

/** The commands that find a run of a bucket, too. */
const OF_BUCKETS = ["show", "validate-trace"];

/**
 * @param {{ program: string, store: string }} words what the viewer was started with
 * @param {string} command
 * @param {string} rest its arguments
 */
export function joined({ program, store }, command, rest = "") {
  return `${program} ${command}${OF_BUCKETS.includes(command) ? store : ""} ${rest}`.trimEnd();
}

/** @param {string} command @param {string} [rest] */
export function commandLine(command, rest) {
  const word = (/** @type {string} */ name) => document.querySelector(`meta[name="tracer-${name}"]`)?.getAttribute("content") ?? "";
  return joined({ program: word("command") || "tracer", store: word("store") }, command, rest);
}
