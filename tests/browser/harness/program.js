// The executables under test: where they are, and how they are run.
import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { atTheEnd } from "./cleanup.js";

const run = promisify(execFile);

/** The folder of the built executables; `.ci/steps/browser` names it. */
export const PROGRAMS = process.env.TRACER_PROGRAMS ?? path.resolve(import.meta.dirname, "../../../target/debug");

/** A folder that is gone after the test. */
export async function temporaryFolder(test) {
  const folder = await mkdtemp(path.join(tmpdir(), "tracer-browser-"));
  atTheEnd(test, () => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** What a program sees: nothing of the developer's own settings. */
export function environment(dataDir, more = {}) {
  const kept = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(TRACER|MAIDA|AGENTDBG)_/.test(name)));
  return { ...kept, TRACER_DATA_DIR: dataDir, HOME: dataDir, ...more };
}

/** Runs `tracer` to its end and gives what it wrote. */
export async function tracer(dataDir, ...args) {
  return run(path.join(PROGRAMS, "tracer"), args, { env: environment(dataDir), cwd: dataDir, maxBuffer: 64 << 20 });
}

/** Runs another of the programs to its end, however it ends. */
export async function finished(dataDir, name, ...args) {
  return run(path.join(PROGRAMS, name), args, { env: environment(dataDir), cwd: dataDir }).catch((error) => error);
}

/** Starts a program; it is ended with the test. */
export function start(test, name, args, dataDir, options = {}) {
  const child = spawn(path.join(PROGRAMS, name), args, {
    env: environment(dataDir, options.env), cwd: dataDir, stdio: options.stdio ?? ["pipe", "pipe", "inherit"],
  });
  atTheEnd(test, () => { if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL"); });
  return child;
}

/** The first line that a program writes. */
export function firstLine(child) {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (bytes) => {
      text += bytes;
      if (text.includes("\n")) resolve(text.slice(0, text.indexOf("\n")));
    });
    child.on("exit", (code) => reject(new Error(`ended with ${code} before its first line: ${text}`)));
    child.on("error", reject);
  });
}
