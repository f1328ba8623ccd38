/** Status of an approval, both families. */
import * as v from "valibot";
import { Condition, Digest, Instant } from "../common.ts";
import { int, keyed, opt, req, text } from "../meta.ts";

/** The one dispatch an approval was spent on. */
export const ConsumedBy = v.object({
  operationID: req("Operation id of the Apply that spent the approval.", Digest),
  jobName: req("Name of that Apply's Job.", text(1, 253)),
  at: req("When it was spent.", Instant),
});
export type ConsumedBy = v.InferOutput<typeof ConsumedBy>;

export const ApprovalStatus = v.object({
  observedGeneration: opt("Generation of the approval this status was written for.", int(0)),
  consumedBy: opt("The one dispatch this approval was spent on; to every other it is worth nothing.", ConsumedBy),
  conditions: opt("Accepted, Consumed and Stale.", keyed(Condition, "type", 16)),
});
export type ApprovalStatus = v.InferOutput<typeof ApprovalStatus>;
