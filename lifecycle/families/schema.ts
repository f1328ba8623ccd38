/** The schema family: what it reads, plans, proves and rests in. The first descriptor; a second only adds a file like it. */
import { schemaWayOut } from "../../crds/commands.ts";
import { FINALIZER } from "../../crds/names.ts";
import type { PtahSchemaSpec } from "../../crds/spec.ts";
import type { ApplyRecord, Claim, ObservationPolicy } from "../../crds/status/index.ts";
import type { OperationResult } from "../../workload/result.ts";
import { type Context, need, type Status } from "../context.ts";
import { LEASE_MARGIN_SECONDS } from "../limits.ts";
import type { RuleId } from "../move.ts";
import { verified } from "../obligations/settle.ts";
import { judgePlan } from "../policy.ts";
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
  Word,
} from "./family.ts";
import { KINDS } from "./kinds.ts";
import { concludeSchemaApply } from "./schema-apply.ts";
import { schemaConditions } from "./schema-conditions.ts";
import { chunksOf, schemaPlan, schemaSpec } from "./schema-fields.ts";
import { schemaPhase } from "./schema-phase.ts";
import { judgeSchemaRead } from "./schema-reads.ts";
import { server, serverRefusal } from "./schema-server.ts";
import { schemaWork } from "./schema-work.ts";

const reads = ["Resolve", "Verify", "Observe", "Plan"] as const;

function observationOf(c: Context): ObservationPolicy {
  const { policy, dev, execution } = schemaSpec(c);
  return {
    ...(policy.exclude === undefined ? {} : { exclude: policy.exclude }),
    ...(policy.protectedTables === undefined ? {} : { protectedTables: policy.protectedTables }),
    severity: policy.driftSeverity,
    ...(dev === undefined ? {} : { dev: dev.urlFrom }),
    connectTimeout: execution.connectTimeout,
    lockTimeout: policy.lockTimeout,
  };
}

/** What a cycle's reading or an Apply takes from today's spec. */
function today(c: Context, type: Claim["type"]): ClaimInputs {
  const { status } = c;
  const realm = c.tools.coordinationDigest(c.resource.namespace, c.spec);
  const major = status.target?.serverMajor;
  return {
    type,
    generation: c.resource.generation,
    ...(status.source === undefined ? {} : { source: bindingOf(status.source) }),
    target: targetOf(c),
    ...(realm === undefined ? {} : { coordinationDigest: realm }),
    ...(major === undefined ? {} : { serverMajor: major }),
    observation: observationOf(c),
    transactionMode: schemaSpec(c).policy.transactionMode,
    policyFingerprint: c.tools.policyFingerprint(schemaSpec(c)),
  };
}

function planning(c: Context, rule: RuleId, inputs: ClaimInputs): Inputs {
  const look = need(c, rule, { piece: "plans" });
  if (look !== undefined) return { look };
  const identity = c.status.target?.identityDigest;
  return {
    inputs: {
      ...inputs,
      ...(identity === undefined ? {} : { targetIdentityDigest: identity }),
      planSerial: reservedSerial(c),
    },
  };
}

function readInputs(c: Context, rule: RuleId, read: ReadType): Inputs {
  const inputs = today(c, read);
  return read === "Plan" ? planning(c, rule, inputs) : { inputs };
}

/** A record's reading: its target, source and observation policy, under today's binding and its own Lease. */
function proofInputs(c: Context, rule: RuleId, record: ApplyRecord, read: ReadType): Inputs {
  const major = c.status.target?.serverMajor;
  const inputs: ClaimInputs = {
    type: read,
    generation: record.generation,
    proves: record.operationID,
    source: record.source,
    target: record.target,
    coordinationDigest: record.coordinationDigest,
    ...(major === undefined ? {} : { serverMajor: major }),
    observation: record.observation,
    transactionMode: schemaSpec(c).policy.transactionMode,
    policyFingerprint: c.tools.policyFingerprint(schemaSpec(c)),
  };
  if (read !== "Plan") return { inputs };
  const { lease } = record;
  return planning(c, rule, {
    ...inputs,
    ...(lease === undefined
      ? {}
      : { leaseHolder: lease.holder, leaseEpoch: lease.epoch, leaseDurationSeconds: lease.durationSeconds }),
  });
}

/** Why the standing plan no longer holds. The source counts only as it was read uncached, or as status resolved it. */
function planDifference(c: Context): PlanDifference | undefined {
  const { source, cycle } = c.status;
  const plan = schemaPlan(c.status);
  if (plan === undefined) return undefined;
  const moved = sourceDifference(c, plan.source, source);
  if (moved !== undefined) return moved;
  const sameGeneration = cycle?.generation === c.resource.generation;
  if (plan.policyFingerprint !== c.tools.policyFingerprint(schemaSpec(c))) {
    return observeNext("The policy is not the one the plan was computed under; a new plan follows.", sameGeneration);
  }
  if (plan.coordinationDigest !== c.tools.coordinationDigest(c.resource.namespace, c.spec)) {
    return observeNext(
      "The database realm is not the one the plan was computed for; a new plan follows.",
      sameGeneration,
    );
  }
  if (
    plan.targetIdentityDigest !== c.status.target?.identityDigest ||
    plan.serverMajor !== c.status.target.serverMajor
  ) {
    return observeNext("The database is not the one the plan was computed against; a new plan follows.", true);
  }
  if (plan.executionBindingID !== c.status.executionBinding?.epoch) {
    return observeNext("An execution component changed since the plan was computed; a new plan follows.", false);
  }
  return storedWhole(c) ? undefined : observeNext("The plan is not stored whole any more; a new plan follows.", false);
}

const observeNext = (sentence: string, alreadyRead: boolean): PlanDifference => ({
  next: "Observe",
  sentence,
  alreadyRead,
});

function applyInputs(c: Context, approval: Claim["approval"]): ClaimInputs | undefined {
  const { plan, source } = c.status;
  if (plan === undefined || source === undefined) return undefined;
  return {
    ...today(c, "Apply"),
    coordinationDigest: plan.coordinationDigest,
    targetIdentityDigest: plan.targetIdentityDigest,
    policyFingerprint: plan.policyFingerprint,
    plan: { name: plan.name, uid: plan.uid, fingerprint: plan.fingerprint },
    planContentDigest: plan.contentDigest,
    ...(approval === undefined ? {} : { approval }),
  };
}

function verdictOf(c: Context) {
  const plan = schemaPlan(c.status);
  return plan === undefined ? undefined : judgePlan(schemaSpec(c).policy, plan, c.status.unproven);
}

/** The annotation that ends a record, as admission stamped it. */
function word(c: Context, record: ApplyRecord): Word | undefined {
  const { settledApply } = c.resource.marks;
  if (settledApply?.by === undefined || settledApply.operationID !== record.operationID) return undefined;
  return { resolution: "Settled", by: settledApply.by };
}

const constants: FamilyConstants = {
  name: "schema",
  kind: KINDS.schema,
  planKind: "PtahSchemaPlan",
  finalizer: FINALIZER,
  reads,
  afterSource: "Observe",
  proofStart: "Observe",
  proofStopsEverything: true,
  proofUnderLease: "Plan",
  releasesBeforeProof: false,
  takesLease: (type) => type === "Plan" || type === "Apply",
  leaseSeconds: (_type, deadlineSeconds) => deadlineSeconds + LEASE_MARGIN_SECONDS,
  lostEndsAtOnce: true,
  projectsPlan: true,
  staleLeads: "Observing",
  staleNext: "Observe",
  revoked: { leads: "AwaitingApproval", next: undefined },
  suspendLeads: "Suspended",
  keepsUnbuiltClaim: true,
  unknownOutcome: "OutcomeUnknown",
};

const fields: FamilyFields = {
  record: (status) => status.pendingObservation,
  withRecord: (record): Partial<Status> => ({ pendingObservation: record }),
  source: (status) => status.source,
  withSource: (source): Partial<Status> => ({ source }),
  readTarget: (status) => status.target?.identityDigest,
  accountedFor: () => false,
  keptPlans: (status) => [status.applied?.planRef.uid],
  declared: (spec) => ({ source: (spec as PtahSchemaSpec).desired, field: "spec.desired" }),
};

const narration: FamilyNarration = {
  phase: schemaPhase,
  conditions: schemaConditions,
  wayOut: ({ resource }) => schemaWayOut(resource),
  lostEntry: (c, mirror) => ({
    type: "ApplyFinished",
    time: mirror.recordedAt ?? instantOf(c.nowMs),
    operationID: mirror.operationID,
    plan: { name: mirror.planName, uid: mirror.planUID, fingerprint: mirror.planFingerprint },
    jobName: mirror.jobName,
    outcome: mirror.outcome === "ApplySucceeded" ? "Succeeded" : "Unknown",
  }),
  restoredEvent: () => ({
    type: "Warning",
    reason: "RecordRestored",
    note: "Status had lost an Apply nobody accounted for; its record was put back from metadata and its proof follows.",
  }),
  settledEntry: (c, record) => verified(c, record, "Unknown"),
  settledEvent: ({ by }) => ({
    type: "Normal",
    reason: "Settled",
    note: `${by.username} settled the Apply; the database is read again.`,
  }),
};

export const schemaFamily: Family = {
  ...constants,
  ...fields,
  ...narration,
  authorised(c) {
    const verdict = verdictOf(c);
    if (verdict?.kind === "ReadyToApply") return { by: "policy" };
    return verdict?.kind === "AwaitingApproval" ? { by: "approval" } : undefined;
  },
  restsIn(c) {
    const verdict = verdictOf(c);
    const plan = schemaPlan(c.status);
    if (verdict === undefined || plan === undefined) return { verdict: c.status.phase ?? "InSync" };
    return { verdict: verdict.kind, cause: { at: "decided", verdict, statementCount: plan.statementCount } };
  },
  planDifference,
  chunksOf,
  intact: () => true,
  serverRefusal,
  server,
  readInputs,
  proofInputs,
  proofFailed: () => undefined,
  afterProof: () => undefined,
  applyInputs,
  todaysBinding: (c, source) => bindingToday(c, source, observationOf(c)),
  work: schemaWork,
  judgeRead: judgeSchemaRead,
  judgeApply(claim: Claim, result: OperationResult) {
    if (result.error !== undefined) {
      return { unknown: true, sentence: `Apply ended with ${result.error.code}: ${result.error.message}.` };
    }
    const elsewhere =
      result.targetIdentityDigest !== claim.targetIdentityDigest ||
      result.coordinationDigest !== claim.coordinationDigest;
    return elsewhere
      ? { unknown: true, sentence: "Apply ran on another database than the one its plan was computed for." }
      : { unknown: false, sentence: "The plan was applied; a fresh reading proves it." };
  },
  conclude: concludeSchemaApply,
  word,
  markWords: () => undefined,
};
