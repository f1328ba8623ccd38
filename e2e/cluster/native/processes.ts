import { spawn } from "node:child_process";
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { LIMITS } from "../limits.ts";
import { waitFor } from "../wait.ts";

/** What identifies a process beyond its reusable number: when it was started, in clock ticks since boot. */
export interface ProcessRecord {
  pid: number;
  startTicks: string;
  program: string;
}

export interface ProcessSpec {
  name: string;
  program: string;
  args: readonly string[];
  env?: Record<string, string>;
}

export interface ProcessDirs {
  run: string;
  logs: string;
}

/**
 * Starts a program that outlives this one, its output going to a log file; leaves a pid file behind.
 * Returns when the new process runs that program (until then it still shows this one's command line), or has ended.
 */
export async function startProcess(dirs: ProcessDirs, spec: ProcessSpec): Promise<void> {
  const log = openSync(logFile(dirs, spec.name), "a");
  try {
    const child = spawn(spec.program, spec.args, {
      detached: true,
      stdio: ["ignore", log, log],
      env: { ...process.env, ...spec.env },
      cwd: "/",
    });
    // A program that cannot be started shows itself as "not running" to whoever waits for it.
    child.on("error", () => {});
    child.unref();
    if (child.pid === undefined) throw new Error(`${spec.program} cannot be started`);
    const record = { pid: child.pid, startTicks: startTicks(child.pid) ?? "", program: spec.program };
    writeFileSync(pidFile(dirs, spec.name), `${JSON.stringify(record)}\n`);
    const begun = () => startTicks(record.pid) === undefined || commandLine(record.pid)[0] === spec.program;
    await waitFor(`the start of ${spec.name}`, begun, { timeoutMs: LIMITS.killMs, pollMs: 5 });
  } finally {
    closeSync(log);
  }
}

export function recordedNames(dirs: ProcessDirs): string[] {
  if (!existsSync(dirs.run)) return [];
  return readdirSync(dirs.run)
    .filter((name) => name.endsWith(".pid"))
    .map((name) => name.slice(0, -".pid".length));
}

export function readRecord(dirs: ProcessDirs, name: string): ProcessRecord | undefined {
  try {
    const parsed: unknown = JSON.parse(readFileSync(pidFile(dirs, name), "utf8"));
    return isRecord(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The recorded process if it is still that very process: same number, same start, and its command line still names the
 * program. A number that the system gave to another process since never matches.
 */
export function runningProcess(dirs: ProcessDirs, name: string): ProcessRecord | undefined {
  const record = readRecord(dirs, name);
  if (!record || startTicks(record.pid) !== record.startTicks) return undefined;
  return commandLine(record.pid)[0] === record.program ? record : undefined;
}

/** Ends the recorded process, kindly first, and forgets it. */
export async function stopProcess(dirs: ProcessDirs, name: string): Promise<void> {
  const record = runningProcess(dirs, name);
  // Not by its command line, which a dying process loses before it is gone.
  if (record) await endProcess(record.pid, () => startTicks(record.pid) !== record.startTicks);
  rmSync(pidFile(dirs, name), { force: true });
}

/** SIGTERM, then SIGKILL after the grace time. `ended` says when the process is gone. */
export async function endProcess(pid: number, ended: () => boolean): Promise<void> {
  signal(pid, "SIGTERM");
  try {
    await waitFor(`the end of process ${pid}`, ended, { timeoutMs: LIMITS.stopGraceMs, pollMs: 25 });
  } catch {
    signal(pid, "SIGKILL");
    await waitFor(`the end of process ${pid}`, ended, { timeoutMs: LIMITS.killMs, pollMs: 25 });
  }
}

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Already gone, which is what was wanted.
  }
}

export function commandLine(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
}

/** Field 22 of /proc/<pid>/stat (proc(5)); undefined for a process that is gone or only waits to be reaped. */
export function startTicks(pid: number): string | undefined {
  try {
    return parseStartTicks(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return undefined;
  }
}

/** The name in field 2 may hold blanks and parentheses: fields are counted from its last closing one. */
export function parseStartTicks(stat: string): string | undefined {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
}

/** The last lines of a component's log, for the message about its failure. */
export function logTail(dirs: ProcessDirs, name: string): string {
  const path = logFile(dirs, name);
  if (!existsSync(path)) return "";
  const sizeBytes = statSync(path).size;
  const length = Math.min(sizeBytes, LIMITS.logTailBytes);
  const buffer = Buffer.alloc(length);
  const file = openSync(path, "r");
  try {
    readSync(file, buffer, 0, length, sizeBytes - length);
  } finally {
    closeSync(file);
  }
  return buffer.toString("utf8").trimEnd().split("\n").slice(-LIMITS.logTailLines).join("\n");
}

function logFile(dirs: ProcessDirs, name: string): string {
  return join(dirs.logs, `${name}.log`);
}

function pidFile(dirs: ProcessDirs, name: string): string {
  return join(dirs.run, `${name}.pid`);
}

function isRecord(value: unknown): value is ProcessRecord {
  if (typeof value !== "object" || value === null) return false;
  const record = value as Partial<ProcessRecord>;
  return Number.isInteger(record.pid) && typeof record.startTicks === "string" && typeof record.program === "string";
}
