/** The annotation that keeps an unsettled Apply known across a restore that loses status. */
import * as v from "valibot";
import { Digest, Instant } from "../common.ts";
import { int, opt, req, text } from "../meta.ts";

/** Bound on the annotation's value. */
export const MIRROR_MAX_BYTES = 4096;

/** Ids and digests only; at most {@link MIRROR_MAX_BYTES} as JSON. */
export const Mirror = v.object({
  version: req("Version of the stored-state contract that wrote it.", int(1)),
  family: req("Family of the resource.", v.picklist(["schema", "migration"])),
  operationID: req("Operation id of the Apply.", Digest),
  outcome: opt(
    "Outcome, once one was recorded.",
    v.picklist(["ApplySucceeded", "OutcomeUnknown", "Partial", "Unknown"]),
  ),
  generation: req("Generation the Apply was claimed from.", int(0)),
  jobName: req("Name of the Apply's Job.", text(1, 253)),
  jobUID: opt("UID of that Job, once known.", text(1, 128)),
  planName: req("Name of the plan.", text(1, 253)),
  planUID: req("UID of the plan.", text(1, 128)),
  planFingerprint: req("Fingerprint of the plan.", Digest),
  approvalName: opt("Name of the approval.", text(1, 253)),
  approvalUID: opt("UID of the approval.", text(1, 128)),
  coordinationDigest: req("Digest of the database realm.", Digest),
  targetIdentityDigest: req("Digest of the connection's identity.", Digest),
  leaseDurationSeconds: req("Whole duration of the Apply's Lease.", int(5, 86_460)),
  executionNotAfter: req("Instant after which the executor may not run.", Instant),
  terminationGracePeriodSeconds: req("Seconds between the deadline's signal and the kill.", int(1, 300)),
  recordedAt: opt("When the record was written, once there is one.", Instant),
});
export type Mirror = v.InferOutput<typeof Mirror>;
