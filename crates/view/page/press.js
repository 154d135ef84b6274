// Updates wait while the pointer is pressed: a control that is drawn again in between would lose the click, or take it to something
// else. What comes by itself, while runs are recorded, waits for that.

/** Max press duration of a click. */
const MAX_PRESS_MS = 2_000;

/** @type {Promise<void>} */
let press = Promise.resolve();
let release = () => {};

addEventListener(
  "pointerdown",
  () => {
    release();
    press = new Promise((resolve) => {
      release = resolve;
      setTimeout(resolve, MAX_PRESS_MS);
    });
  },
  { capture: true },
);
// The click comes right after the release.
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => setTimeout(release), { capture: true });

/** Waits until nothing is pressed. */
export function released() {
  return press;
}
