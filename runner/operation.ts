import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ENV } from "../workload/environment.ts";
import type { OperationResult } from "../workload/result.ts";
import type { Bindings } from "./bindings.ts";
import type { ChildOutcome, Supervisor } from "./child.ts";
import type { Env } from "./env.ts";
import { Failed } from "./failure.ts";
import { LAST_WORDS_LENGTH_MAX } from "./limits.ts";
import { writeLog } from "./output.ts";
import type { Redactor } from "./redact.ts";

/** What an operation's body works with. */
export interface Operation {
  readonly env: Env;
  readonly bindings: Bindings;
  readonly supervisor: Supervisor;
  readonly redactor: Redactor;
  readonly ptahBinary: string;
  readonly resultBytesMax: number;
  readonly planBytesMax: number;
  /** Writable directory of the Pod; the executor's HOME and working directory. */
  readonly workDirectory: string;
  readonly nowMs: () => number;
}

/** What a body adds to the result of a success. */
export type Body = (operation: Operation) => Promise<Partial<OperationResult>>;

/** The executor's own name for the major it must meet. */
const EXPECT_SERVER_MAJOR = "PTAH_EXPECT_SERVER_MAJOR";

/** Variables that are neither ours nor a secret and that an executor may need from its image. */
const PASSED: readonly string[] = ["PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/**
 * The whole environment of a child: what it needs by name, and nothing else of ours (no operation id, digest, deadline or
 * Kubernetes variable reaches it).
 */
export function childEnvironment(operation: Operation, names: readonly string[]): Record<string, string> {
  const env: Record<string, string> = { HOME: operation.workDirectory, TMPDIR: operation.workDirectory };
  for (const name of [...PASSED, ...names]) {
    const value = operation.env[name];
    if (value !== undefined && value !== "") env[name] = value;
  }
  env[ENV.databaseURL] = operation.bindings.databaseURL;
  const major = operation.env[ENV.expectedServerMajor] ?? "";
  if (major !== "") env[EXPECT_SERVER_MAJOR] = major;
  return env;
}

/** A child that was stopped gave no answer that counts, except for the report of an Apply. */
export function refuseStopped(outcome: ChildOutcome): void {
  if (outcome.stopped === undefined) return;
  throw new Failed(
    "execution_error",
    outcome.stopped === "deadline"
      ? "The executor was stopped at its deadline."
      : "The Pod was asked to end while the executor was running.",
  );
}

/** An answer that was cut is no answer. */
export function refuseTruncated(outcome: ChildOutcome): void {
  if (outcome.stdoutBytesDropped === 0) return;
  throw new Failed("output_truncated", "The executor wrote more than its report may hold.", {
    truncation: {
      stdout: true,
      stdoutBytesDropped: outcome.stdoutBytesDropped,
      stderr: outcome.stderrBytesDropped > 0,
      stderrBytesDropped: outcome.stderrBytesDropped,
    },
  });
}

/**
 * Tells in the Pod's own log what an executor wrote for a person when it gave no report. It stays out of the result: only a
 * report's own sentence is known to hold no SQL.
 */
export function logLastWords(outcome: ChildOutcome, redactor: Redactor): void {
  const text = redactor.text(outcome.stderr).slice(0, LAST_WORDS_LENGTH_MAX);
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  // Whatever it wrote, it cannot look like a frame.
  for (const line of lines) writeLog(`executor: ${line.replaceAll("PTAH_RUNNER", "PTAH-RUNNER")}`);
}

/** A report's own sentence, redacted, or ours where it has none. */
export function sentence(error: string | null | undefined, otherwise: string, redactor: Redactor): string {
  const text = (error ?? "").trim();
  return text === "" ? otherwise : redactor.text(text);
}

/**
 * Runs a body with a private file of the Pod's work directory, which is gone afterwards.
 * @throws Failed `prepare_plan` where the file cannot be written
 */
export async function withPrivateFile<T>(
  operation: Operation,
  name: string,
  bytes: string | Buffer,
  body: (path: string) => Promise<T>,
): Promise<T> {
  return withPrivateDirectory(operation, async (directory) => {
    const path = join(directory, name);
    try {
      writeFileSync(path, bytes, { mode: 0o400, flag: "wx" });
    } catch (error) {
      throw unwritable(error);
    }
    return body(path);
  });
}

/** The same with a private directory. @throws Failed `prepare_plan` where it cannot be made */
export async function withPrivateDirectory<T>(
  operation: Operation,
  body: (directory: string) => Promise<T>,
): Promise<T> {
  let directory: string;
  try {
    directory = mkdtempSync(join(operation.workDirectory, "ptah-"));
  } catch (error) {
    throw unwritable(error);
  }
  try {
    return await body(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function unwritable(error: unknown): Failed {
  const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
  return new Failed(
    "prepare_plan",
    `The Pod's work directory cannot be used (${code}); nothing was sent to the database. Look at its volume "work".`,
  );
}
