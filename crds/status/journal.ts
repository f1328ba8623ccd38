/** The lifecycle journal of both families (seed 003, "The lifecycle journal"). */
import * as v from "valibot";
import { ApprovalIdentity, Digest, ImmutableObjectReference, Instant } from "../common.ts";
import { atomic, int, opt, req, text } from "../meta.ts";
import { PlanReference } from "./plan.ts";

export const JOURNAL_TYPES = [
  "PlanPublished",
  "ApprovalAccepted",
  "ApplyFinished",
  "Verified",
  "RunFinished",
  "RunAcknowledged",
  "OperationFailed",
] as const;

export const JournalEntry = v.object({
  type: req("What happened.", v.picklist(JOURNAL_TYPES)),
  time: req("When; for repeated failures, when the first of them happened.", Instant),
  plan: opt("The plan the entry is about.", PlanReference),
  approvalRequired: opt("PlanPublished: whether the plan asked for a person when it was published.", v.boolean()),
  replaced: opt("PlanPublished: the plan it took the place of, which a person could have approved.", PlanReference),
  approvalName: opt("ApprovalAccepted, RunFinished: name of the approval.", text(1, 253)),
  approvalUID: opt("ApprovalAccepted, RunFinished: UID of the approval; tells two of one name apart.", text(1, 128)),
  approver: opt("Who approved, as admission stamped it.", ApprovalIdentity),
  authorization: opt("RunFinished: whether an approval or the policy let it run.", v.picklist(["Approval", "Policy"])),
  operation: opt("OperationFailed: the operation that failed.", text(1, 63)),
  operationID: opt("The Apply the entry belongs to.", Digest),
  jobName: opt("Name of the Job.", text(1, 253)),
  jobUID: opt("UID of the Job.", text(1, 128)),
  outcome: opt("How it ended; its meaning depends on the type of the entry.", text(1, 63)),
  appliedCount: opt("RunFinished: how many versions it applied.", int(0)),
  stoppedAt: opt(
    "RunFinished: where it stopped.",
    v.object({
      version: req("Version of the migration that stopped.", int(1)),
      statement: opt("Position of the statement that failed, from 1.", int(1)),
    }),
  ),
  acknowledgment: opt("RunAcknowledged: the acknowledgment.", ImmutableObjectReference),
  acknowledgedBy: opt("RunAcknowledged: who acknowledged, as admission stamped it.", ApprovalIdentity),
  reason: opt("Condition reason.", text(1, 128)),
  count: opt("OperationFailed: attempts in a row with the same operation and reason.", int(1)),
  lastTime: opt("OperationFailed: when the last of them happened.", Instant),
});
export type JournalEntry = v.InferOutput<typeof JournalEntry>;

export const JOURNAL_MAX_ENTRIES = 64;

export const Journal = v.object({
  coveredSince: req("The instant from which the journal is complete.", Instant),
  entries: opt("Oldest first.", atomic(JournalEntry, JOURNAL_MAX_ENTRIES)),
});
export type Journal = v.InferOutput<typeof Journal>;
