// Signals: properties of an object that effects follow. An effect runs at once, and again when a property that it read is set anew.

/** The effect that runs now: what it reads is noted. @type {(() => void) | null} */
let running = null;
/** The effects that run when the outermost change is made; null while nothing changes. @type {Set<() => void> | null} */
let waiting = null;

/**
 * Makes properties of an object signals.
 * @template {object} Model
 * @param {Model} model
 * @param {...(keyof Model & string)} names
 */
export function signals(model, ...names) {
  for (const name of names) {
    let value = model[name];
    /** @type {Set<() => void>} */
    const followers = new Set();
    Object.defineProperty(model, name, {
      get() {
        if (running) followers.add(running);
        return value;
      },
      set(next) {
        if (Object.is(next, value)) return;
        value = next;
        batch(() => followers.forEach((follower) => waiting?.add(follower)));
      },
    });
  }
}

/** @param {() => void} run */
export function effect(run) {
  const follower = () => {
    withReader(follower, run);
  };
  follower();
}

/**
 * Reads signals without following them.
 * @template Value
 * @param {() => Value} read
 */
export function untracked(read) {
  return withReader(null, read);
}

/**
 * Makes several changes, after which each effect runs once.
 * @param {() => void} change
 */
export function batch(change) {
  if (waiting) return change();
  waiting = new Set();
  try {
    change();
    // A change by an effect wakes further ones.
    for (const follower of waiting) {
      waiting.delete(follower);
      follower();
    }
  } finally {
    waiting = null;
  }
}

/**
 * @template Value
 * @param {(() => void) | null} reader
 * @param {() => Value} run
 */
function withReader(reader, run) {
  const outer = running;
  running = reader;
  try {
    return run();
  } finally {
    running = outer;
  }
}
