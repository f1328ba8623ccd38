import * as v from "valibot";
import { SEQUENCE_MAX, type SequenceStep } from "../crds/status/plan.ts";
import { MIGRATION_KEY_LENGTH_MAX } from "./limits.ts";

/**
 * The approved sequence of a migration plan on its way into the Pod: one environment variable, its digest beside it
 * (reference, runner contract 6.5).
 */

const Step = v.strictObject({
  version: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  version_key: v.pipe(v.string(), v.maxLength(MIGRATION_KEY_LENGTH_MAX)),
  checksum: v.pipe(v.string(), v.minLength(1), v.maxLength(MIGRATION_KEY_LENGTH_MAX)),
  checkpoint: v.boolean(),
  transaction_mode: v.picklist(["", "file", "none"]),
});
const Sequence = v.pipe(v.array(Step), v.minLength(1), v.maxLength(SEQUENCE_MAX));

/** The sequence as the Job carries it. */
export function encodeSequence(migrations: readonly SequenceStep[]): string {
  return JSON.stringify(
    migrations.map((m) => ({
      version: m.version,
      version_key: m.versionKey ?? "",
      checksum: m.checksum,
      checkpoint: m.checkpoint ?? false,
      transaction_mode: m.transactionMode ?? "",
    })),
  );
}

/** The sequence a Job carries, or undefined for text that is none: another field, no step, or a version twice. */
export function parseSequence(text: string): SequenceStep[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const parsed = v.safeParse(Sequence, value);
  if (!parsed.success) return undefined;
  const steps = parsed.output;
  if (new Set(steps.map((step) => step.version)).size !== steps.length) return undefined;
  return steps.map((step) => ({
    version: step.version,
    checksum: step.checksum,
    ...(step.version_key === "" ? {} : { versionKey: step.version_key }),
    ...(step.checkpoint ? { checkpoint: true } : {}),
    ...(step.transaction_mode === "" ? {} : { transactionMode: step.transaction_mode }),
  }));
}
