/** The migration family: what it reads, plans, runs and rests in. */
import { migrationWayOut } from "../../crds/commands.ts";
import type { PtahMigrationSpec } from "../../crds/migrationspec.ts";
import { MIGRATION_FINALIZER } from "../../crds/names.ts";
import type { ApplyRecord, Claim, ObservationPolicy } from "../../crds/status/index.ts";
import { type Context, need, type Status } from "../context.ts";
import { LEASE_MARGIN_SECONDS, LEASE_SECONDS_MAX, RUN_MARGIN_SECONDS } from "../limits.ts";
import type { RuleId } from "../move.ts";
import { instantOf } from "../time.ts";
import { bindingOf, bindingToday, reservedSerial, sourceDifference, storedWhole, targetOf } from "./bindings.ts";
import type {
  ClaimInputs,
  Family,
  FamilyConstants,
  FamilyFields,
  FamilyNarration,
  Inputs,
  PlanDifference,
  ReadType,
} from "./family.ts";
import { KINDS } from "./kinds.ts";
import { concludeRun, judgeRun } from "./migration-apply.ts";
import { migrationConditions } from "./migration-conditions.ts";
import { migrationPlan, migrationPlanSpec, migrationSpec, sequenceOf } from "./migration-fields.ts";
import { historyBlocks } from "./migration-history.ts";
import { migrationPhase } from "./migration-phase.ts";
import { afterHistoryProof, historyProofFailed, judgeHistory } from "./migration-reads.ts";
import { markAcknowledgments, wordOf } from "./migration-words.ts";
import { migrationWork } from "./migration-work.ts";

function observationOf(c: Context): ObservationPolicy {
  const { policy, execution } = c.spec;
  return { connectTimeout: execution.connectTimeout, lockTimeout: policy.lockTimeout };
}

/** What a cycle's reading or an Apply takes from today's spec. */
function today(c: Context, type: Claim["type"]): ClaimInputs {
  const { artifact } = c.status;
  const realm = c.tools.coordinationDigest(c.resource.namespace, c.spec);
  const spec = migrationSpec(c);
  const { transactionMode } = spec.policy;
  return {
    type,
    generation: c.resource.generation,
    ...(artifact === undefined ? {} : { source: bindingOf(artifact) }),
    target: targetOf(c),
    ...(realm === undefined ? {} : { coordinationDigest: realm }),
    observation: observationOf(c),
    ...(transactionMode === undefined ? {} : { transactionMode }),
    policyFingerprint: c.tools.runPolicyFingerprint(spec),
  };
}

/** A reading may publish, so it reserves a number; beside a record it publishes nothing. */
function readInputs(c: Context, rule: RuleId, read: ReadType): Inputs {
  const inputs = today(c, read);
  if (c.record !== undefined) return { inputs };
  const look = need(c, rule, { piece: "plans" });
  return look === undefined ? { inputs: { ...inputs, planSerial: reservedSerial(c) } } : { look };
}

/** A record's reading: its target, source and observation policy, under today's binding and no Lease. */
function proofInputs(c: Context, _rule: RuleId, record: ApplyRecord, read: ReadType): Inputs {
  return {
    inputs: {
      type: read,
      generation: record.generation,
      proves: record.operationID,
      source: record.source,
      target: record.target,
      coordinationDigest: record.coordinationDigest,
      observation: record.observation,
      policyFingerprint: c.tools.runPolicyFingerprint(migrationSpec(c)),
    },
  };
}

const resolveNext = (sentence: string, alreadyRead: boolean): PlanDifference => ({
  next: "Resolve",
  sentence,
  alreadyRead,
});

/** Why the standing plan no longer holds. */
function planDifference(c: Context): PlanDifference | undefined {
  const { artifact, history, cycle, executionBinding } = c.status;
  const plan = migrationPlan(c.status);
  if (plan === undefined) return undefined;
  const moved = sourceDifference(c, plan.source, artifact);
  if (moved !== undefined) return moved;
  const sameGeneration = cycle?.generation === c.resource.generation;
  if (plan.policyFingerprint !== c.tools.runPolicyFingerprint(migrationSpec(c))) {
    return resolveNext("The policy is not the one the plan was made under; a new plan follows.", sameGeneration);
  }
  if (plan.coordinationDigest !== c.tools.coordinationDigest(c.resource.namespace, c.spec)) {
    return resolveNext("The database realm is not the one the plan was made for; a new plan follows.", sameGeneration);
  }
  if (plan.targetIdentityDigest !== history?.targetIdentityDigest) {
    return resolveNext("The database is not the one the plan was made for; a new plan follows.", true);
  }
  if (plan.historyFingerprint !== history.fingerprint) {
    return resolveNext("The history is not the one the plan continues; a new plan follows.", true);
  }
  if (plan.executionBindingID !== executionBinding?.epoch) {
    return resolveNext("An execution component changed since the plan was made; a new plan follows.", false);
  }
  return storedWhole(c) ? undefined : resolveNext("The plan is not stored whole any more; a new plan follows.", false);
}

/** The sequence goes from the plan that was read back into the claim, and from there alone into the Job. */
function applyInputs(c: Context, approval: Claim["approval"]): ClaimInputs | undefined {
  const plan = migrationPlan(c.status);
  const object = c.view.plan?.value.object;
  if (plan === undefined || c.status.artifact === undefined) return undefined;
  if (object === null || object === undefined || object.uid !== plan.uid) return undefined;
  return {
    ...today(c, "Apply"),
    coordinationDigest: plan.coordinationDigest,
    targetIdentityDigest: plan.targetIdentityDigest,
    policyFingerprint: plan.policyFingerprint,
    plan: { name: plan.name, uid: plan.uid, fingerprint: plan.fingerprint },
    planContentDigest: plan.contentDigest,
    historyFingerprint: plan.historyFingerprint,
    expectedSequence: sequenceOf(migrationPlanSpec(object.spec).migrations),
    ...(approval === undefined ? {} : { approval }),
  };
}

const constants: FamilyConstants = {
  name: "migration",
  kind: KINDS.migration,
  planKind: "PtahMigrationPlan",
  finalizer: MIGRATION_FINALIZER,
  reads: ["Resolve", "Verify", "History"],
  afterSource: "History",
  proofStart: "History",
  proofStopsEverything: false,
  proofUnderLease: undefined,
  releasesBeforeProof: true,
  takesLease: (type) => type === "Apply",
  leaseSeconds: (_type, deadlineSeconds) =>
    Math.min(deadlineSeconds + RUN_MARGIN_SECONDS + LEASE_MARGIN_SECONDS, LEASE_SECONDS_MAX),
  lostEndsAtOnce: false,
  projectsPlan: false,
  staleLeads: "Pending",
  staleNext: "Resolve",
  revoked: { leads: "Pending", next: "Resolve" },
  suspendLeads: "Pending",
  keepsUnbuiltClaim: false,
  unknownOutcome: "Unknown",
};

const WITHOUT_RECORD: ReadonlySet<string> = new Set(["Applied", "UpToDate", "Failed"]);

const fields: FamilyFields = {
  record: (status) => status.unresolvedRun,
  withRecord: (record): Partial<Status> => ({ unresolvedRun: record }),
  source: (status) => status.artifact,
  withSource: (source): Partial<Status> => ({ artifact: source }),
  readTarget: (status) => status.history?.targetIdentityDigest,
  accountedFor: ({ lastRun }, id) => lastRun?.operationID === id && WITHOUT_RECORD.has(lastRun.outcome),
  keptPlans: (status) => [status.lastRun?.plan?.uid],
  declared: (spec) => ({ source: (spec as PtahMigrationSpec).artifact, field: "spec.artifact" }),
};

const narration: FamilyNarration = {
  phase: migrationPhase,
  conditions: migrationConditions,
  wayOut: ({ resource }) => migrationWayOut(resource, resource.deleting),
  lostEntry: (c, mirror) => ({
    type: "RunFinished",
    time: mirror.recordedAt ?? instantOf(c.nowMs),
    operationID: mirror.operationID,
    plan: { name: mirror.planName, uid: mirror.planUID, fingerprint: mirror.planFingerprint },
    ...(mirror.approvalName === undefined ? {} : { approvalName: mirror.approvalName }),
    ...(mirror.approvalUID === undefined ? {} : { approvalUID: mirror.approvalUID }),
    authorization: mirror.approvalUID === undefined ? "Policy" : "Approval",
    jobName: mirror.jobName,
    ...(mirror.jobUID === undefined ? {} : { jobUID: mirror.jobUID }),
    outcome: mirror.outcome ?? "Unknown",
  }),
  restoredEvent: () => ({
    type: "Warning",
    reason: "UnresolvedRunRestored",
    note: "Status had lost a run nobody accounted for; its record was put back from metadata, and nothing runs until it is settled.",
  }),
  settledEntry: (c, record, word) => ({
    type: "RunAcknowledged",
    time: instantOf(c.nowMs),
    operationID: record.operationID,
    ...(record.plan === undefined ? {} : { plan: record.plan }),
    jobName: record.job.name,
    ...(record.job.uid === undefined ? {} : { jobUID: record.job.uid }),
    outcome: record.outcome,
    ...(word.acknowledgment === undefined ? {} : { acknowledgment: word.acknowledgment }),
    acknowledgedBy: word.by,
  }),
  settledEvent: ({ by, resolution }) => ({
    type: "Normal",
    reason: resolution === "Acknowledged" ? "UnresolvedRunAcknowledged" : "Settled",
    note: `${by.username} settled the run; the history is read again.`,
  }),
};

export const migrationFamily: Family = {
  ...constants,
  ...fields,
  ...narration,
  authorised(c) {
    const { apply } = migrationSpec(c).policy;
    if (c.status.plan === undefined || apply === "Never") return undefined;
    return apply === "Always" ? { by: "policy" } : { by: "approval" };
  },
  restsIn(c) {
    const plan = migrationPlan(c.status);
    if (c.record !== undefined) return { verdict: "Blocked" };
    if (plan === undefined) return { verdict: historyBlocks(c.status.history) ? "Blocked" : "InSync" };
    const { apply } = migrationSpec(c).policy;
    const cause = { at: "sequenceReady", apply, count: plan.stepCount } as const;
    return { verdict: apply === "OnApproval" ? "AwaitingApproval" : "Planning", cause };
  },
  planDifference,
  chunksOf: () => [],
  intact: (c, { object }) =>
    object !== null &&
    c.tools.sequenceDigest(sequenceOf(migrationPlanSpec(object.spec).migrations)) === object.spec.contentDigest,
  serverRefusal: () => undefined,
  server: (c) => ({ readAt: c.status.history?.observedAt, forgotten: {} }),
  readInputs,
  proofInputs,
  proofFailed: historyProofFailed,
  afterProof: afterHistoryProof,
  applyInputs,
  todaysBinding: (c, source) => bindingToday(c, source, observationOf(c)),
  work: migrationWork,
  judgeRead: judgeHistory,
  judgeApply: judgeRun,
  conclude: concludeRun,
  word: wordOf,
  markWords: markAcknowledgments,
};
