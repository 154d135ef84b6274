// The browser's storage. It can be switched off: the page works without.

/** @typedef {"localStorage" | "sessionStorage"} StorageName */

/**
 * @param {string} key
 * @param {StorageName} [storage]
 * @returns {string} empty when nothing is kept
 */
export function kept(key, storage = "localStorage") {
  try {
    return globalThis[storage].getItem(key) ?? "";
  } catch {
    return "";
  }
}

/**
 * @param {string} key
 * @param {string} value
 * @param {StorageName} [storage]
 */
export function keep(key, value, storage = "localStorage") {
  try {
    globalThis[storage].setItem(key, value);
  } catch {
    // The value lasts for this page only.
  }
}
