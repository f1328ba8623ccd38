import * as v from "valibot";
import { MIGRATIONS_MAX, OPERATION_ID_LENGTH_MAX, RUNNER_PROTOCOL_VERSION, SUMMARY_SIZE_BYTES_MAX } from "./limits.ts";
import { type MigrationRun, RUN_OUTCOMES } from "./migration.ts";
import { type OperationResult, WIRE_OPERATIONS, type WireOperation } from "./result.ts";

/**
 * The termination summary: one bounded line in the container's termination message, written before the frame. It may stand
 * in for a lost frame to say what a run did not do and why, and for a migration its outcome and range; a schema's success is
 * stated by a frame alone.
 */
const MARKER = "PTAH_RUNNER_SUMMARY_V1 ";

const Version = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const Digest = v.pipe(v.string(), v.regex(/^sha256:[0-9a-f]{64}$/));

const Summary = v.strictObject({
  protocolVersion: v.literal(RUNNER_PROTOCOL_VERSION),
  operation: v.picklist(WIRE_OPERATIONS),
  operationId: v.pipe(v.string(), v.minLength(1), v.maxLength(OPERATION_ID_LENGTH_MAX)),
  /** Digest of the frame's payload as printed. */
  frameDigest: Digest,
  childStarted: v.boolean(),
  mutationStarted: v.optional(v.boolean()),
  uncertain: v.optional(v.boolean()),
  errorCode: v.optional(v.pipe(v.string(), v.regex(/^[a-z][a-z0-9_]{0,63}$/))),
  coordinationDigest: v.optional(Digest),
  targetIdentityDigest: v.optional(Digest),
  /** How a migration's run ended, and the first and last version it committed. */
  migration: v.optional(
    v.strictObject({
      outcome: v.picklist(RUN_OUTCOMES),
      appliedCount: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(MIGRATIONS_MAX)),
      firstApplied: v.optional(Version),
      lastApplied: v.optional(Version),
    }),
  ),
});
export type RunSummary = Readonly<v.InferOutput<typeof Summary>>;

/** The summary line of a result whose frame has this payload digest; at most 2 KiB by the bounds of its fields. */
export function encodeSummary(result: OperationResult, frameDigest: string): string {
  const summary: RunSummary = {
    protocolVersion: result.protocolVersion,
    operation: result.operation,
    operationId: result.operationId,
    frameDigest,
    childStarted: result.childStarted,
    mutationStarted: result.mutationStarted,
    uncertain: result.uncertain,
    errorCode: result.error?.code,
    coordinationDigest: result.coordinationDigest,
    targetIdentityDigest: result.targetIdentityDigest,
    ...(result.migrationRun === undefined ? {} : { migration: runSummary(result.migrationRun) }),
  };
  return `${MARKER}${JSON.stringify(summary)}\n`;
}

const runSummary = ({ outcome, applied }: MigrationRun): RunSummary["migration"] => ({
  outcome,
  appliedCount: applied.length,
  firstApplied: applied[0],
  lastApplied: applied.at(-1),
});

/**
 * The one summary of a termination message, bound to an operation; undefined when there is none that is whole, alone and
 * bound. Text of the container runtime may precede it, nothing may follow it.
 */
export function readSummary(
  message: string,
  binding: { readonly operation: WireOperation; readonly operationID: string },
): RunSummary | undefined {
  const at = message.indexOf(MARKER);
  if (at < 0 || message.indexOf(MARKER, at + 1) >= 0 || !message.endsWith("\n")) return undefined;
  const line = message.slice(at + MARKER.length, -1);
  if (line.includes("\n") || Buffer.byteLength(line) > SUMMARY_SIZE_BYTES_MAX) return undefined;
  try {
    const parsed = v.safeParse(Summary, JSON.parse(line));
    if (!parsed.success) return undefined;
    const { operation, operationId } = parsed.output;
    return operation === binding.operation && operationId === binding.operationID ? parsed.output : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether a summary may stand in for a frame that the log lost: only when every frame header left in the log declares the
 * digest the summary names.
 */
export function summaryMayReplace(summary: RunSummary, headerDigests: readonly string[]): boolean {
  return headerDigests.every((digest) => digest === summary.frameDigest);
}
