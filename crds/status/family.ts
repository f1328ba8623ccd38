/** What the statuses of both families hold alike: the lifecycle is written over these fields. */
import * as v from "valibot";
import { Condition, Digest, Instant } from "../common.ts";
import { int, keyed, kube, opt, req, text } from "../meta.ts";
import { ExecutionBinding, SourceBinding } from "./binding.ts";
import { Journal } from "./journal.ts";
import { BindingRetirement, Claim, Cycle, LockRelease, ResolvedRun, Unproven } from "./lifecycle.ts";

/** What was asked for, what it was resolved to, under which policy, and when. */
export const ResolvedSource = v.object({
  ...SourceBinding.entries,
  requestedReference: req("What the spec asked for, as kind and name.", text(1, 1024)),
  digest: req("Digest of the content, as printed by kubectl get.", Digest),
  fileCount: opt("How many files were selected.", int(0)),
  sizeBytes: opt("Size of the selected files together.", int(0)),
  resolvedAt: req("When.", Instant),
});
export type ResolvedSource = v.InferOutput<typeof ResolvedSource>;

/** Fields both families' statuses have. */
export const familyStatusFields = {
  observedGeneration: opt(
    "Generation this status was written for; -1 before the first.",
    v.pipe(v.number(), v.integer(), v.minValue(-1), kube<number>({ format: "int64" })),
  ),
  executionBinding: opt("What operations run under.", ExecutionBinding),
  activeOperation: opt("The operation under way.", Claim),
  pendingLockRelease: opt("A Lease that is owed back.", LockRelease),
  pendingBindingRetirement: opt("A retired execution binding whose approvals are not marked yet.", BindingRetirement),
  resolvedRun: opt("How the last record ended.", ResolvedRun),
  closedOperationID: opt("The last Apply that was withdrawn before anything ran.", Digest),
  cycle: opt("Where the readings stand.", Cycle),
  retryNotBefore: opt("Nothing is tried again before this instant.", Instant),
  planSerial: opt("Highest plan number ever reserved.", int(0)),
  unproven: opt("Applies since the last reading that found no changes.", Unproven),
  lastReadRequest: opt("Last value of the read-requested-at annotation that was answered.", text(1, 128)),
  lastAttemptTime: opt("When an operation was last claimed.", Instant),
  lastSuccessfulReconciliation: opt("When a cycle of readings last ended without a failure.", Instant),
  nextReconciliationTime: opt("When the database is read again if nothing changes before.", Instant),
  journal: opt("Significant events, bounded.", Journal),
  conditions: opt("Conditions; docs/reasons.md lists types and reasons.", keyed(Condition, "type", 24)),
} as const;

const FamilyStatus = v.object(familyStatusFields);
/** Status as far as it does not depend on the family. Record, source and plan differ in name or shape. */
export type FamilyStatus = v.InferOutput<typeof FamilyStatus>;
