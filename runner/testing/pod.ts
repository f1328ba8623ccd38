import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sha256Digest } from "../../crds/canonical.ts";
import { normalizeEngine } from "../../crds/engine.ts";
import { sequenceDigest } from "../../crds/fingerprints.ts";
import type { SequenceStep } from "../../crds/status/plan.ts";
import { targetIdentity } from "../../crds/targetidentity.ts";
import { encodePlan, type PlanDocument } from "../../sql/plan-document.ts";
import { ENV } from "../../workload/environment.ts";
import { type FrameReading, readFrame } from "../../workload/frame.ts";
import type { OperationResult, WireOperation } from "../../workload/result.ts";
import { encodeSequence } from "../../workload/sequence.ts";
import { type RunSummary, readSummary } from "../../workload/summary.ts";

/** One operation Pod of a test: a directory with the volumes, and the runner as a process of its own. */
const ROOT = join(import.meta.dirname, "..", "..");
const RUN_LIMIT_MS = 90_000;

export const OPERATION_ID = `sha256:${"a".repeat(64)}`;
export const REALM = `sha256:${"b".repeat(64)}`;
export const DATABASE_URL = "postgres://svc:s3cret-w0rd@db.example/app?sslmode=require";

export interface Ended {
  readonly exitCode: number;
  readonly log: string;
  readonly stderr: string;
  readonly reading: FrameReading;
  readonly result: OperationResult | undefined;
  readonly summary: RunSummary | undefined;
  readonly tookMs: number;
}

export interface Call {
  readonly verb: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly pid: number;
  readonly atMs: number;
}

export class Pod {
  readonly directory = mkdtempSync(join(tmpdir(), "ptah-runner-test-"));
  readonly work = join(this.directory, "work");
  readonly binary: string;
  readonly terminationLog = join(this.directory, "termination-log");
  readonly operation: WireOperation;
  env: Record<string, string>;
  #process: ChildProcess | undefined;

  constructor(operation: WireOperation, script: Record<string, unknown> = {}, binary?: string) {
    this.operation = operation;
    this.binary = binary ?? join(this.directory, "executor");
    mkdirSync(this.work);
    writeFileSync(this.terminationLog, "left over from before");
    writeFileSync(join(this.work, "script.json"), JSON.stringify(script));
    const scripted = join(import.meta.dirname, "scripted-executor.ts");
    if (binary === undefined) {
      writeFileSync(this.binary, `#!/bin/sh\nexec '${process.execPath}' '${scripted}' "$@"\n`, { mode: 0o755 });
    }
    this.env = {
      PATH: process.env["PATH"] ?? "",
      HOME: this.work,
      TMPDIR: this.work,
      KUBERNETES_SERVICE_HOST: "10.96.0.1",
      [ENV.operationID]: OPERATION_ID,
      [ENV.protocolVersion]: "1",
      [ENV.databaseURL]: DATABASE_URL,
      [ENV.coordinationDigest]: REALM,
      [ENV.expectedEngine]: "PostgreSQL",
      [ENV.connectTimeout]: "10s",
      [ENV.lockTimeout]: "30s",
    };
  }

  /** Makes this the Pod of an approved Apply: chunks, bindings and deadlines. */
  approve(plan: string, chunkBytes = 200): this {
    const directory = join(this.directory, "plan");
    mkdirSync(directory);
    const bytes = Buffer.from(plan);
    for (let at = 0, index = 0; at < bytes.length; at += chunkBytes, index += 1) {
      writeFileSync(join(directory, `${String(index).padStart(3, "0")}.plan`), bytes.subarray(at, at + chunkBytes));
    }
    Object.assign(this.env, {
      [ENV.planDirectory]: directory,
      [ENV.expectedPlanContentDigest]: sha256Digest(bytes),
      [ENV.transactionMode]: "file",
    });
    return this.fence();
  }

  /** Points this Pod at another database. */
  target(engine: "PostgreSQL" | "MySQL", url: string): this {
    this.env[ENV.expectedEngine] = engine;
    this.env[ENV.databaseURL] = url;
    return this;
  }

  /** Mounts a CA bundle for the target. @returns its path */
  certificate(): string {
    const path = join(this.directory, "ca.pem");
    writeFileSync(path, "-----BEGIN CERTIFICATE-----\n");
    this.env[ENV.databaseCAFile] = path;
    return path;
  }

  /** Makes this the Pod of a migration operation: where the files are, and the lock it waits for. */
  migrations(): this {
    delete this.env[ENV.lockTimeout];
    Object.assign(this.env, {
      [ENV.migrationsDirectory]: join(this.directory, "migrations"),
      [ENV.migrationLockTimeout]: "5m",
    });
    return this;
  }

  /** Makes this the Pod of an approved migration run: sequence, history, bindings and deadlines. */
  approveSequence(steps: readonly SequenceStep[]): this {
    Object.assign(this.env, {
      [ENV.expectedSequence]: encodeSequence(steps),
      [ENV.expectedSequenceDigest]: sequenceDigest(steps),
      [ENV.expectedHistoryFingerprint]: `sha256:${"8".repeat(64)}`,
    });
    return this.migrations().fence();
  }

  /** What every Apply is bound to: realm, target and deadlines. */
  fence(): this {
    const engine = normalizeEngine(this.env[ENV.expectedEngine] ?? "") ?? "postgresql";
    const identity = targetIdentity(engine, this.env[ENV.databaseURL] ?? "", this.env[ENV.databaseCAFile]);
    if (!identity.ok) throw new Error(identity.message);
    Object.assign(this.env, {
      [ENV.expectedCoordinationDigest]: REALM,
      [ENV.expectedTargetIdentityDigest]: identity.digest,
      [ENV.dispatchNotAfter]: new Date(Date.now() + 60_000).toISOString(),
      [ENV.executionNotAfter]: new Date(Date.now() + 120_000).toISOString(),
      [ENV.terminationGraceSeconds]: "30",
    });
    return this;
  }

  async run(extra: readonly string[] = []): Promise<Ended> {
    const began = performance.now();
    const args = [join(ROOT, "main.ts"), "runner", "--operation", this.operation, "--ptah-binary", this.binary];
    const child = spawn(process.execPath, [...args, "--termination-log", this.terminationLog, ...extra], {
      env: this.env,
    });
    this.#process = child;
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
    const exitCode = await new Promise<number>((resolve, reject) => {
      const limit = setTimeout(() => {
        child.kill("SIGKILL");
        reject(new Error(`the runner did not end within ${RUN_LIMIT_MS} ms`));
      }, RUN_LIMIT_MS);
      child.once("close", (code) => {
        clearTimeout(limit);
        resolve(code ?? -1);
      });
    });
    const log = Buffer.concat(out);
    const reading = readFrame(log, { operation: this.operation, operationID: OPERATION_ID });
    return {
      exitCode,
      log: log.toString("utf8"),
      stderr: Buffer.concat(err).toString("utf8"),
      reading,
      result: reading.kind === "Found" ? reading.result : undefined,
      summary: readSummary(readFileSync(this.terminationLog, "utf8"), {
        operation: this.operation,
        operationID: OPERATION_ID,
      }),
      tookMs: performance.now() - began,
    };
  }

  /** Sends a signal to the running runner. */
  signal(name: "SIGTERM" | "SIGKILL"): void {
    this.#process?.kill(name);
  }

  /** What reached the scripted executor, in order. */
  calls(): Call[] {
    const path = join(this.work, "calls.jsonl");
    if (!existsSync(path)) return [];
    // The last line may still be on its way.
    const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Call);
  }

  /** Waits until the executor was called so many times. */
  async called(times: number): Promise<Call> {
    return until(`${times} calls of the executor`, () => this.calls()[times - 1]);
  }

  /** Waits until the runner's process has its own handler of SIGTERM. */
  async listens(): Promise<void> {
    await until("a runner that catches SIGTERM", () => {
      const status = readFileSync(`/proc/${this.#process?.pid}/status`, "utf8");
      const caught = BigInt(`0x${/^SigCgt:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"}`);
      return (caught & (1n << 14n)) === 0n ? undefined : true;
    });
  }

  /** Waits until the scripted executor has its own handler of SIGTERM. */
  async executorListens(): Promise<void> {
    await until("an executor that catches SIGTERM", () =>
      existsSync(join(this.work, "listening")) ? true : undefined,
    );
  }

  dispose(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Waits for a condition with a deadline. */
export async function until<T>(what: string, condition: () => T | undefined, limitMs = 30_000): Promise<T> {
  const end = Date.now() + limitMs;
  for (;;) {
    const value = condition();
    if (value !== undefined) return value;
    if (Date.now() > end) throw new Error(`waited ${limitMs} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The bytes of a small valid plan. */
export function planText(
  name: string,
  sql: readonly string[] = ["CREATE TABLE t (id int)"],
  exclude?: string[],
): string {
  const document: PlanDocument = {
    format_version: 1,
    name,
    dialect: "postgres",
    from_fingerprint: `sha256:${"1".repeat(64)}`,
    to_fingerprint: `sha256:${"2".repeat(64)}`,
    ...(exclude === undefined ? {} : { exclude }),
    destructive: false,
    statements: sql.map((text) => ({
      sql: text,
      severity: "safe",
      reason: "",
      transaction: "joined",
      commitAfter: false,
      class: { destructive: false, privilegeChanges: [] },
    })),
  };
  const encoded = encodePlan(document);
  if ("error" in encoded) throw new Error(encoded.error.message);
  return Buffer.from(encoded.bytes).toString("utf8");
}

/** Names of the variables that reached an executor; those a shell adds by itself are nobody's. */
export const variablesOf = (call: Call | undefined): string[] =>
  Object.keys(call?.env ?? {})
    .filter((name) => !["PWD", "SHLVL", "_", "OLDPWD"].includes(name))
    .sort();

/** All that the executor of a migration operation gets. */
export const MIGRATION_VARIABLES: readonly string[] = [
  "HOME",
  "PATH",
  "PTAH_CONNECT_TIMEOUT",
  "PTAH_DB_URL",
  "PTAH_MIGRATION_LOCK_TIMEOUT",
  "TMPDIR",
];
