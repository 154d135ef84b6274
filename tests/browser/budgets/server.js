// A viewer under measurement: ours, or the Python one.
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

function started(program, args, dataDir) {
  const env = { ...process.env, TRACER_DATA_DIR: dataDir, MAIDA_DATA_DIR: dataDir, HOME: dataDir };
  return spawn(program, args, { env, cwd: dataDir, stdio: ["ignore", "pipe", "ignore"] });
}

const closed = (child) => async () => {
  child.kill("SIGTERM");
  await Promise.race([new Promise((resolve) => child.once("exit", resolve)), sleep(3000)]);
  child.kill("SIGKILL");
};

/** Starts `tracer view` and measures how long it takes until it listens. */
export async function tracerView(program, dataDir) {
  const from = performance.now();
  const child = started(program, ["view", "--no-browser", "--port", "0", "--json"], dataDir);
  const line = await new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (bytes) => { text += bytes; if (text.includes("\n")) resolve(text); });
    child.once("exit", () => reject(new Error("tracer view ended")));
  });
  const { origin, search } = new URL(JSON.parse(line).url);
  return { origin, address: (path) => `${origin}${path}${search}`, pid: child.pid, listening: performance.now() - from, close: closed(child) };
}

/** Starts the Python viewer, which tells nothing: it is asked until it answers. */
export async function pythonView(program, dataDir, port = 18712) {
  const from = performance.now();
  const child = started(program, ["view", "--no-browser", "--port", String(port)], dataDir);
  const origin = `http://127.0.0.1:${port}`;
  while (!(await fetch(`${origin}/api/runs`).then((answer) => answer.ok, () => false))) {
    if (performance.now() - from > 60_000) throw new Error("the Python viewer does not answer");
    await sleep(20);
  }
  return { origin, pid: child.pid, listening: performance.now() - from, close: closed(child) };
}
