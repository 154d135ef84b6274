// What a test has opened is closed in the opposite order: the page before its server, the server before its files.

/** @type {WeakMap<object, (() => unknown)[]>} */
const opened = new WeakMap();

/** Runs `close` when the test has ended, before what was opened earlier is closed. */
export function atTheEnd(test, close) {
  const waiting = opened.get(test);
  if (waiting) {
    waiting.push(close);
    return;
  }
  const closings = [close];
  opened.set(test, closings);
  test.after(async () => {
    const faults = [];
    for (const one of closings.reverse()) await Promise.resolve().then(one).catch((fault) => faults.push(fault));
    if (faults.length > 0) throw faults[0];
  });
}
