import { sequenceDigest } from "../crds/fingerprints.ts";
import type { SequenceStep } from "../crds/status/plan.ts";
import { ENV } from "../workload/environment.ts";
import { parseSequence } from "../workload/sequence.ts";
import { digestOf, type Env } from "./env.ts";
import { Failed } from "./failure.ts";

/** The directory of the migration files: a path of this Pod. @throws Failed `invalid_configuration` */
export function migrationsDirectory(env: Env): string {
  const path = env[ENV.migrationsDirectory] ?? "";
  if (!path.startsWith("/") || path.includes("://")) {
    throw new Failed("invalid_configuration", `${ENV.migrationsDirectory} is no absolute path.`);
  }
  return path;
}

/** How the statements of every file are grouped; undefined leaves each file its own way. @throws Failed */
export function migrationMode(env: Env): "file" | "none" | undefined {
  const mode = env[ENV.migrationTransactionMode] ?? "";
  if (mode === "") return undefined;
  if (mode !== "file" && mode !== "none") {
    throw new Failed("invalid_configuration", `${ENV.migrationTransactionMode} must be file or none.`);
  }
  return mode;
}

/**
 * The approved sequence, once its digest is the approved one. The history it was computed against can only be seen to be
 * named: this process reads no revision table.
 * @throws Failed
 */
export function approvedSequence(env: Env): readonly SequenceStep[] {
  const expected = boundDigest(env, ENV.expectedSequenceDigest);
  boundDigest(env, ENV.expectedHistoryFingerprint);
  const text = env[ENV.expectedSequence] ?? "";
  if (text === "") throw new Failed("missing_plan_binding", `${ENV.expectedSequence} is not set.`);
  const steps = parseSequence(text);
  if (steps === undefined) {
    throw new Failed("invalid_plan", "The approved sequence cannot be read; nothing was sent to the database.");
  }
  if (sequenceDigest(steps) !== expected) {
    throw new Failed(
      "plan_digest_mismatch",
      "The sequence in this Pod is not the approved one; nothing was sent to the database.",
    );
  }
  return steps;
}

const boundDigest = (env: Env, name: string): string =>
  digestOf(env, name, "missing_plan_binding", "plan_binding_mismatch");

/** The file of `--expect-sequence`: what the executor compares with its own selection under its lock (reference 6.5). */
export function expectedSequenceFile(steps: readonly SequenceStep[]): string {
  const migrations = steps.map(({ version, versionKey }) => ({
    version,
    ...(versionKey === undefined ? {} : { version_key: versionKey }),
  }));
  return `${JSON.stringify({ migrations })}\n`;
}
