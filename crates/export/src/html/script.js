// Finding and folding in an exported run. The page reads without it: every step folds and unfolds by itself.
"use strict";
const tools = document.querySelector(".tools");
const search = document.querySelector(".tools input");
const count = document.querySelector(".tools output");
const steps = Array.from(document.querySelectorAll(".step"));
const texts = new Map();

/** What a step says, in lower case; gathered when it is first searched. */
function textOf(step) {
  if (!texts.has(step)) texts.set(step, step.textContent.toLowerCase());
  return texts.get(step);
}

function find() {
  const wanted = search.value.trim().toLowerCase();
  let shown = 0;
  for (const step of steps) {
    step.hidden = wanted !== "" && !textOf(step).includes(wanted);
    if (!step.hidden) shown += 1;
  }
  count.textContent = wanted === "" ? "" : `${shown} of ${steps.length} steps`;
}

function fold(open) {
  for (const step of steps) if (!step.hidden) step.querySelector("details").open = open;
}

/** A link to a step unfolds it. */
function follow() {
  const step = location.hash.startsWith("#step-") && document.getElementById(location.hash.slice(1));
  if (step) step.querySelector("details").open = true;
}

search.addEventListener("input", find);
document.querySelector("[data-fold=open]").addEventListener("click", () => fold(true));
document.querySelector("[data-fold=closed]").addEventListener("click", () => fold(false));
addEventListener("hashchange", follow);
addEventListener("beforeprint", () => fold(true));
follow();
tools.hidden = false;
