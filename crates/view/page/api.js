// Requests to the server: a change carries the token that the page was served with.

/** An answer of the API that is an error. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<Response>}
 */
async function ask(path, options) {
  const response = await fetch(path, { credentials: "same-origin", ...options });
  if (response.ok) return response;
  let error = { code: "http", message: `the viewer answered ${response.status}` };
  try {
    error = { ...error, ...(await response.json()).error };
  } catch {
    // Not JSON: the status says all there is.
  }
  throw new ApiError(response.status, error.code, error.message);
}

/**
 * @param {string} path
 * @param {{ signal?: AbortSignal }} [options]
 * @returns {Promise<any>}
 */
export async function getJson(path, options) {
  return parseJson(await (await ask(path, options)).text());
}

/** Every integer that a JavaScript number would round has so many digits. */
const LONG_INTEGER = /\d{16}/;

/**
 * What a JSON says; integers that a number would round are `bigint`.
 * @param {string} text
 * @returns {any}
 */
export function parseJson(text) {
  return LONG_INTEGER.test(text) ? JSON.parse(text, exactInteger) : JSON.parse(text);
}

/**
 * @param {string} _name
 * @param {unknown} value
 * @param {{ source?: string }} [context] where the browser gives it
 */
function exactInteger(_name, value, context) {
  const source = context?.source ?? "";
  return Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value;
}

/**
 * The JSON of a value, with every digit of its integers.
 * @param {unknown} value
 * @param {number} [indent]
 */
export function jsonText(value, indent) {
  const raw = (/** @type {string} */ _name, /** @type {unknown} */ item) =>
    typeof item === "bigint" ? /** @type {any} */ (JSON).rawJSON(String(item)) : item;
  return JSON.stringify(value, raw, indent);
}

/**
 * @param {string} path
 * @returns {Promise<string>}
 */
export async function getText(path) {
  return (await ask(path)).text();
}

/** Larger answers are assembled as they arrive: all at once would block the page. */
const STREAMED_ANSWER_BYTES = 1_048_576;

/**
 * @param {string} path
 * @returns {Promise<ArrayBuffer>}
 */
export async function getBytes(path) {
  const response = await ask(path);
  const size = Number(response.headers.get("Content-Length"));
  const reader = size > STREAMED_ANSWER_BYTES ? response.body?.getReader() : undefined;
  if (!reader) return response.arrayBuffer();
  const bytes = new Uint8Array(size);
  let at = 0;
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    bytes.set(piece.value, at);
    at += piece.value.length;
  }
  return bytes.buffer;
}

/**
 * @param {"PATCH" | "DELETE" | "POST"} method
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<void>}
 */
export async function change(method, path, body = {}) {
  const token = document.querySelector('meta[name="tracer-token"]')?.getAttribute("content") ?? "";
  await ask(path, {
    method,
    headers: { "Content-Type": "application/json", "X-Tracer-Token": token },
    body: JSON.stringify(body),
  });
}

/**
 * A path under a run.
 * @param {string} run
 * @param {string} [rest]
 * @param {Record<string, string | number | null | undefined>} [query]
 */
export function runPath(run, rest = "", query = {}) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") search.set(name, String(value));
  }
  const text = search.toString();
  return `/api/runs/${encodeURIComponent(run)}${rest}${text ? `?${text}` : ""}`;
}

/** The data that the server put into the page, so that the first paint asks for nothing. */
export function initialData() {
  const element = document.getElementById("initial-data");
  try {
    return parseJson(element?.textContent ?? "null") ?? {};
  } catch {
    return {};
  }
}

/** A connection that is back sooner is not reported as lost. */
const RECONNECT_GRACE_MS = 1_500;

/**
 * Listens to the server as long as the page is visible: a browser allows six connections to one server, for all its tabs.
 * @param {() => string} path asked for at every connection
 * @param {Record<string, () => void>} listeners by event name
 * @param {(connected: boolean) => void} [onConnection]
 * @returns {() => void} stops listening
 */
export function listen(path, listeners, onConnection = () => {}) {
  /** @type {EventSource | null} */
  let source = null;
  let retry = 500;
  let stopped = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let notice;
  const lost = () => {
    notice ??= setTimeout(() => onConnection(false), RECONNECT_GRACE_MS);
  };

  const open = () => {
    if (stopped || source || document.hidden) return;
    const opened = new EventSource(path());
    source = opened;
    opened.addEventListener("open", () => {
      retry = 500;
      clearTimeout(notice);
      notice = undefined;
      onConnection(true);
    });
    for (const [name, listener] of Object.entries(listeners)) {
      opened.addEventListener(name, listener);
    }
    opened.addEventListener("error", () => {
      lost();
      if (opened.readyState === EventSource.CONNECTING) return;
      // The browser has given up; we have not.
      close();
      timer = setTimeout(open, retry);
      retry = Math.min(retry * 2, 10_000);
    });
  };
  const close = () => {
    source?.close();
    source = null;
  };
  const onVisibility = () => (document.hidden ? close() : open());
  document.addEventListener("visibilitychange", onVisibility);
  open();
  return () => {
    stopped = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", onVisibility);
    close();
  };
}
