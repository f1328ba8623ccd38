/** Status of a PtahSchema. */
import * as v from "valibot";
import { DatabaseEngine, Digest, Epoch, ImmutableObjectReference, Instant, Severity } from "../common.ts";
import { int, keyed, opt, req, text } from "../meta.ts";
import { ManagerRecord } from "./binding.ts";
import { familyStatusFields, ResolvedSource } from "./family.ts";
import { ApplyRecord } from "./lifecycle.ts";
import { CurrentSchemaPlan } from "./plan.ts";

export const SCHEMA_PHASES = [
  "Pending",
  "Resolving",
  "Verifying",
  "Observing",
  "Planning",
  "ReadyToApply",
  "AwaitingApproval",
  "Blocked",
  "Applying",
  "VerifyingConvergence",
  "InSync",
  "Suspended",
  "Failed",
] as const;
export type SchemaPhase = (typeof SCHEMA_PHASES)[number];

export const DriftFinding = v.object({
  category: req("Category of the difference.", text(1, 64)),
  count: req("How many of it.", int(1)),
  severity: req("The highest severity among them.", Severity),
});
export type DriftFinding = v.InferOutput<typeof DriftFinding>;

export const ObservedTarget = v.object({
  engine: opt("Engine as the spec spells it.", DatabaseEngine),
  serverVersion: opt("Version the server itself reported.", text(1, 64)),
  serverMajor: opt("Major version of the server.", int(1)),
  coordinationDigest: opt("Digest of the database realm.", Digest),
  identityDigest: opt("Digest of the connection's identity, as the runner computed it.", Digest),
  driftReportDigest: opt("Digest of the last drift report; the report's detail stays in the runner.", Digest),
  lastObservedAt: opt("When the database was last read.", Instant),
  highestDriftSeverity: opt("The highest severity found.", Severity),
  driftFindingCount: opt("How many differences were found.", int(0)),
  driftFindings: opt("Differences by category.", keyed(DriftFinding, "category", 64)),
});
export type ObservedTarget = v.InferOutput<typeof ObservedTarget>;

/** The last Apply whose convergence was proved; never written for an outcome nobody established. */
export const AppliedPlan = v.object({
  operationID: req("Operation id of the Apply.", Digest),
  planRef: req("The plan it carried out.", ImmutableObjectReference),
  planFingerprint: req("Fingerprint of that plan.", Digest),
  contentDigest: opt("Digest of that plan's bytes.", Digest),
  sourceContentDigest: opt("Digest of the source content.", Digest),
  coordinationDigest: req("Digest of the database realm.", Digest),
  targetIdentityDigest: req("Digest of the connection's identity.", Digest),
  executionBindingID: req("Epoch of the execution binding it ran under.", Epoch),
  dispatchedBy: opt("Manager that dispatched it.", ManagerRecord),
  completedAt: req("When convergence was proved, not when the Job ended.", Instant),
});
export type AppliedPlan = v.InferOutput<typeof AppliedPlan>;

export const SchemaStatus = v.object({
  phase: opt("Where the resource is, for people; no decision reads it.", v.picklist(SCHEMA_PHASES)),
  ...familyStatusFields,
  source: opt("The source as last resolved.", ResolvedSource),
  target: opt("The database as last read.", ObservedTarget),
  plan: opt("The plan that stands.", CurrentSchemaPlan),
  applied: opt("The last Apply whose convergence was proved.", AppliedPlan),
  pendingObservation: opt("A dispatched Apply whose outcome no reading has proved yet.", ApplyRecord),
});
export type SchemaStatus = v.InferOutput<typeof SchemaStatus>;
