import * as v from "valibot";
import { MIGRATIONS_MAX, OPERATION_ID_LENGTH_MAX, RUNNER_PROTOCOL_VERSION, SUMMARY_SIZE_BYTES_MAX } from "./limits.ts";
import { type MigrationRun, RUN_OUTCOMES } from "./migration.ts";
import { type OperationResult, parseResult, WIRE_OPERATIONS, type WireOperation } from "./result.ts";

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

/** Why a stand-in has no more to say than the summary. */
const LOST = "The frame was lost; this is what the termination summary says.";

/**
 * The result that a summary may stand for: what never started, with its reason, and how a migration's run ended. Undefined
 * for anything else, and for a summary that contradicts itself or the sequence it was approved for.
 * @param sequence the versions the run was approved for, in their order
 */
export function resultOfSummary(summary: RunSummary, sequence: readonly number[]): OperationResult | undefined {
  const { migration, errorCode, frameDigest: _frame, ...common } = summary;
  if (common.childStarted && migration === undefined) return undefined;
  const run = migration === undefined ? undefined : runOfSummary(migration, sequence);
  if (migration !== undefined && run === undefined) return undefined;
  const parsed = parseResult({
    ...common,
    childExitCode: -1,
    stdout: "",
    ...(errorCode === undefined ? {} : { error: { code: errorCode, message: LOST } }),
    ...(run === undefined ? {} : { migrationRun: run }),
  });
  return parsed.ok ? parsed.result : undefined;
}

/** The run as the approved sequence completes it; one that failed with nothing committed is said to have selected nothing. */
function runOfSummary(
  { outcome, appliedCount, firstApplied, lastApplied }: NonNullable<RunSummary["migration"]>,
  sequence: readonly number[],
): MigrationRun | undefined {
  const applied = sequence.slice(0, appliedCount);
  if (applied.length !== appliedCount || applied[0] !== firstApplied || applied.at(-1) !== lastApplied)
    return undefined;
  const unselected = outcome === "up-to-date" || (outcome === "failed" && appliedCount === 0);
  return { contractVersion: 1, outcome, planned: unselected ? [] : [...sequence], applied };
}
