import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { MIB } from "./figure.ts";
import { limits } from "./limits.ts";

/** Runs a program to its end, alone: nothing else of this process runs meanwhile. @returns milliseconds @throws unless it ends with 0 */
export function timed(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): number {
  const began = performance.now();
  const { status, error, stderr } = spawnSync(command, args, {
    env,
    timeout: limits.processMsMax,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const tookMs = performance.now() - began;
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}: ${error ?? stderr.toString()}`);
  return tookMs;
}

/** @returns how many seconds the work took */
export async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
}

/** Memory of one process as the kernel accounts it. */
export interface Memory {
  /** All resident pages (what `ps` calls RSS): the executable's own pages of the page cache included. */
  readonly residentMiB: number;
  /** Of those, the pages that are the process's alone. */
  readonly anonymousMiB: number;
  /** The most there ever was. */
  readonly peakMiB: number;
}

const KIB = 1024;

/** @throws when the process is gone */
export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const mib = (key: string): number => {
    const found = new RegExp(`^${key}:\\s+(\\d+) kB$`, "m").exec(status);
    if (found?.[1] === undefined) throw new Error(`process ${pid} has ended`);
    return (Number(found[1]) * KIB) / MIB;
  };
  const residentMiB = mib("VmRSS");
  // The kernel brings its record of the peak up to date only now and then.
  return { residentMiB, anonymousMiB: mib("RssAnon"), peakMiB: Math.max(residentMiB, mib("VmHWM")) };
}

/** The memory of a process at rest: of several looks the one with most resident, the first some time after the last work. */
export async function memoryAtRest(pid: number): Promise<Memory> {
  await new Promise((resolve) => setTimeout(resolve, limits.memoryRestMs));
  let most = memoryOf(pid);
  for (let look = 1; look < limits.memorySamples; look += 1) {
    await new Promise((resolve) => setTimeout(resolve, limits.memoryPollMs));
    const now = memoryOf(pid);
    most = now.residentMiB > most.residentMiB ? now : { ...most, peakMiB: now.peakMiB };
  }
  return most;
}
