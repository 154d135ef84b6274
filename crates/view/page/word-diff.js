// The words in which two texts differ.

/** Longer texts differ as a whole. */
const MAX_COMPARED_PAIRS = 250_000;

/**
 * Both texts in parts, each with whether the other text lacks it.
 * @param {string} before
 * @param {string} after
 * @returns {[[string, boolean][], [string, boolean][]]}
 */
export function wordDiff(before, after) {
  const [a, b] = [before, after].map((text) => text.split(/(?<=\s)|(?=\s)|\b/));
  if (a.length * b.length > MAX_COMPARED_PAIRS) return [[[before, true]], [[after, true]]];
  // The length of the longest series of words that the rests from a pair of words on have in common.
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  /** @type {[[string, boolean][], [string, boolean][]]} */
  const parts = [[], []];
  /** @param {0 | 1} side @param {string} word @param {boolean} isOwn */
  const add = (side, word, isOwn) => {
    const last = parts[side].at(-1);
    if (last?.[1] === isOwn) last[0] += word;
    else parts[side].push([word, isOwn]);
  };
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      add(0, a[i++], false);
      add(1, b[j++], false);
    } else if (j >= b.length || (i < a.length && common[i + 1][j] >= common[i][j + 1])) {
      add(0, a[i++], true);
    } else {
      add(1, b[j++], true);
    }
  }
  return parts;
}
