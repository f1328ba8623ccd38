import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { SECRET_ENV } from "../workload/environment.ts";
import type { Env } from "./env.ts";
import { Failed } from "./failure.ts";
import { STDERR_KEPT_BYTES } from "./limits.ts";

/** One executor process: known only by argv, environment, standard output, standard error and exit status. */
export interface ChildRequest {
  readonly binary: string;
  readonly args: readonly string[];
  /** The whole environment of the child; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly workDirectory: string;
  readonly stdoutBytesMax: number;
  /** Time between one SIGTERM and the Pod's own SIGKILL; the child gets two thirds of it. */
  readonly graceMs: number;
  /** Absolute instant at which the child is stopped. */
  readonly notAfterMs?: number;
  /** Asked immediately before the process starts; throws what forbids it. */
  readonly beforeStart?: () => void;
}

export interface ChildOutcome {
  /** Exit status; -1 when a signal ended it. */
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stdoutBytesDropped: number;
  readonly stderr: string;
  readonly stderrBytesDropped: number;
  /** Why it was stopped, where it was. */
  readonly stopped?: "deadline" | "termination";
}

/** Signals this process received and the children it has to pass them to. */
export interface Supervisor {
  /** Runs one child to its end. @throws Failed when it cannot be started at all. */
  run(request: ChildRequest): Promise<ChildOutcome>;
  /** Children that were started. */
  readonly started: () => number;
  /** Exit status of the last child. */
  readonly lastExitCode: () => number;
  /** Whether the Pod was asked to end. */
  readonly terminating: () => boolean;
  /** Ends the waiting for signals. */
  close(): void;
}

/** Time the child has between SIGTERM and SIGKILL: the grace without a third of it (reference 1.7). */
export const stopWaitMs = (graceMs: number): number => graceMs - Math.floor(graceMs / 3);

/**
 * Catches SIGTERM and SIGINT until `close` and passes the first of them to the running child. As process 1 of its container
 * nobody else would.
 * @param secrets the environment whose secret values may not appear in a child's arguments
 */
export function createSupervisor(secrets: Env): Supervisor {
  let terminating = false;
  let started = 0;
  let lastExitCode = -1;
  let stop: ((why: "deadline" | "termination") => void) | undefined;
  const onSignal = (): void => {
    terminating = true;
    stop?.("termination");
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  return {
    run: async (request) => {
      refuseCredentials(request.args, secrets);
      request.beforeStart?.();
      if (terminating) throw new Failed("execution_error", "The Pod was asked to end before the executor was started.");
      const child = await start(request);
      started += 1;
      lastExitCode = -1;
      const outcome = await supervise(child, request, (handler) => {
        stop = handler;
        // The signal may have come while the process was being started.
        if (terminating) handler("termination");
      });
      stop = undefined;
      lastExitCode = outcome.exitCode;
      return outcome;
    },
    started: () => started,
    lastExitCode: () => lastExitCode,
    terminating: () => terminating,
    close: () => {
      process.off("SIGTERM", onSignal);
      process.off("SIGINT", onSignal);
    },
  };
}

/** Arguments are readable by every process of the node; a credential in one of them stops the run. */
function refuseCredentials(args: readonly string[], env: Env): void {
  for (const name of SECRET_ENV) {
    const value = env[name];
    if (value !== undefined && value !== "" && args.some((argument) => argument.includes(value))) {
      throw new Failed("credential_in_arguments", "A credential would have become a command-line argument.");
    }
  }
}

type RunningChild = ChildProcess & { readonly stdout: Readable; readonly stderr: Readable; readonly pid: number };

async function start(request: ChildRequest): Promise<RunningChild> {
  // A process group of its own, so that a kill reaches what the executor may have started.
  const child = spawn(request.binary, [...request.args], {
    cwd: request.workDirectory,
    env: { ...request.env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error: NodeJS.ErrnoException) => {
      reject(
        new Failed(
          "execution_error",
          `The executor could not be started (${error.code ?? "unknown error"}). Check the executor image: it must hold ${request.binary}.`,
        ),
      );
    });
  });
  if (child.pid === undefined || child.stdout === null || child.stderr === null) {
    throw new Failed("execution_error", "The executor could not be started.");
  }
  return child as RunningChild;
}

async function supervise(
  child: RunningChild,
  request: ChildRequest,
  onStop: (handler: (why: "deadline" | "termination") => void) => void,
): Promise<ChildOutcome> {
  const out = capture(child.stdout, request.stdoutBytesMax);
  const err = capture(child.stderr, STDERR_KEPT_BYTES);
  const waitMs = stopWaitMs(request.graceMs);
  let stopped: "deadline" | "termination" | undefined;
  let killTimer: ReturnType<typeof setTimeout> | undefined;
  let pipeTimer: ReturnType<typeof setTimeout> | undefined;
  const stop = (why: "deadline" | "termination"): void => {
    if (stopped !== undefined) return;
    stopped = why;
    // Once: a second one means "stop now" to the executor.
    child.kill("SIGTERM");
    killTimer = setTimeout(() => killGroup(child.pid), waitMs);
  };
  onStop(stop);
  const deadlineTimer =
    request.notAfterMs === undefined
      ? undefined
      : setTimeout(() => stop("deadline"), Math.max(0, request.notAfterMs - Date.now()));
  const exitCode = await new Promise<number>((resolve) => {
    let status = -1;
    child.once("exit", (code) => {
      status = code ?? -1;
      // A descendant may still hold the pipes; they are given the same bound and then closed.
      pipeTimer = setTimeout(() => {
        killGroup(child.pid);
        child.stdout.destroy();
        child.stderr.destroy();
        resolve(status);
      }, waitMs);
    });
    child.once("close", (code) => resolve(code ?? status));
  });
  for (const timer of [killTimer, pipeTimer, deadlineTimer]) clearTimeout(timer);
  return {
    exitCode,
    stdout: out.bytes(),
    stdoutBytesDropped: out.dropped(),
    stderr: err.bytes().toString("utf8"),
    stderrBytesDropped: err.dropped(),
    ...(stopped === undefined ? {} : { stopped }),
  };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group is gone already, which is what was wanted.
  }
}

/** Keeps the first bytes, counts the rest, never makes the child wait. */
function capture(stream: Readable, bytesMax: number): { bytes: () => Buffer; dropped: () => number } {
  const chunks: Buffer[] = [];
  let kept = 0;
  let dropped = 0;
  stream.on("data", (chunk: Buffer) => {
    const part = chunk.subarray(0, Math.max(0, bytesMax - kept));
    if (part.length > 0) chunks.push(part);
    kept += part.length;
    dropped += chunk.length - part.length;
  });
  stream.on("error", () => undefined);
  return { bytes: () => Buffer.concat(chunks), dropped: () => dropped };
}
