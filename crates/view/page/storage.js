// The browser's storage. It can be switched off: the page works without.

/**
 * @param {() => Storage} storage a function, since a browser may refuse even to name it
 * @param {string} key
 * @returns {string} empty when nothing is kept
 */
export function kept(storage, key) {
  try {
    return storage().getItem(key) ?? "";
  } catch {
    return "";
  }
}

/**
 * @param {() => Storage} storage
 * @param {string} key
 * @param {string} value
 */
export function keep(storage, key, value) {
  try {
    storage().setItem(key, value);
  } catch {
    // The value lasts for this page only.
  }
}
