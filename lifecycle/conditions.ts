/**
 * What the conditions of a transition are made of, kstatus included: Ready always there; Reconciling=True while something
 * comes by itself; Stalled=True only when a person must act on a Blocked resource; a plan that waits for a person carries
 * neither. What to do next stands in the reason's own row of the table of reasons; a message adds it only where the case
 * says more than the row.
 */
/** `stale`: Unknown from now on, where it was ever told; `doubtful`: the same, only where it is True; `absent`: taken off. */
type Value = "True" | "False" | "Unknown" | "stale" | "doubtful" | "absent";
export type Line = readonly [type: string, status: Value, reason: string, sentence: string];

export type Told = readonly Line[];

export type Flow = "reconciling" | "stalled" | "rests";

export function told(
  ready: "True" | "False" | "Unknown",
  reason: string,
  sentence: string,
  flow: Flow,
  ...more: readonly Line[]
): Told {
  return [
    ["Ready", ready, reason, sentence],
    ["Reconciling", flow === "reconciling" ? "True" : "absent", reason, sentence],
    ["Stalled", flow === "stalled" ? "True" : "absent", reason, sentence],
    ...more,
  ];
}

export const ACTIVE: Line = ["Suspended", "False", "Active", "The resource is active."];
export const IDLE: Line = ["Applying", "False", "JobCompleted", "No Apply is under way."];
export const SUCCEEDED: Line = ["ReconciliationFailed", "False", "Succeeded", "The last operation succeeded."];
/** The same of a reading: it says nothing about an Apply that did not do what it should. */
export const READ: Line = ["ReconciliationFailed", "False", "Succeeded", "The last operation succeeded."];
/** A failure whose retry is off: what failed is not under way any more, and is not tried again as its message says. */
export const NOT_TRIED: Line = ["ReconciliationFailed", "absent", "Succeeded", "The operation is not tried."];
export const NO_APPROVAL: Line = ["ApprovalRequired", "False", "NotRequired", "No plan waits for an approval."];

/** Said wherever no plan waits at this moment: one that waited may still hold, and a reading says so. */
export const NOT_WAITING: Line = [
  "ApprovalRequired",
  "doubtful",
  "StaleObservation",
  "Whether a plan that waited for an approval still holds is known once everything has been read again.",
];

export const failed = (reason: string, sentence: string): Line => ["ReconciliationFailed", "True", reason, sentence];
