// What processes take of the machine, read from /proc.
import { readFile, readdir } from "node:fs/promises";

async function field(pid, name) {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const line = status.split("\n").find((one) => one.startsWith(`${name}:`));
  return line ? Number.parseInt(line.slice(name.length + 1), 10) / 1024 : 0;
}

/** The most memory that the process has ever had, in MB. */
export const peakMemory = (pid) => field(pid, "VmHWM");

/** The memory of the largest renderer among the browser's processes, in MB. */
export async function rendererMemory() {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const sizes = await Promise.all(pids.map(async (pid) => {
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    return command.includes("--type=renderer") ? field(pid, "VmRSS") : 0;
  }));
  return Math.max(0, ...sizes);
}
