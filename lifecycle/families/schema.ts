/** The schema family: what it reads, plans, proves and rests in. The first descriptor; a second only adds a file like it. */
import type { ApplyRecord, Claim, ObservationPolicy, SourceBinding, TargetBinding } from "../../crds/status/index.ts";
import type { OperationResult } from "../../workload/result.ts";
import { type Context, need, type Status } from "../context.ts";
import { LEASE_MARGIN_SECONDS } from "../limits.ts";
import type { RuleId } from "../move.ts";
import { wholePlan } from "../obligations/publish.ts";
import { judgePlan } from "../policy.ts";
import type { OwnedPlanFacts } from "../view.ts";
import type { ClaimInputs, Family, Inputs, PlanDifference, ReadType } from "./family.ts";
import { judgeSchemaRead } from "./schema-reads.ts";
import { schemaWork } from "./schema-work.ts";

const reads = ["Resolve", "Verify", "Observe", "Plan"] as const;

/** The source's binding without what only status tells people. */
function bindingOf(source: SourceBinding): SourceBinding {
  const { kind, identity, contentDigest, snapshot, policyUID, policyDigest } = source;
  return {
    kind,
    identity,
    contentDigest,
    ...(snapshot === undefined ? {} : { snapshot }),
    ...(policyUID === undefined ? {} : { policyUID }),
    ...(policyDigest === undefined ? {} : { policyDigest }),
  };
}

function targetOf(c: Context): TargetBinding {
  const { engine, urlFrom, caFrom } = c.spec.target;
  return { engine, urlFrom, ...(caFrom === undefined ? {} : { caFrom }) };
}

function observationOf(c: Context): ObservationPolicy {
  const { policy, dev, execution } = c.spec;
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
    transactionMode: c.spec.policy.transactionMode,
    policyFingerprint: c.tools.policyFingerprint(c.spec),
  };
}

/** The number a Plan's claim reserves: above every one ever reserved, and every plan this resource owns. */
function reserved(c: Context, owned: readonly OwnedPlanFacts[]): number {
  let highest = c.status.planSerial ?? 0;
  for (const plan of owned) highest = Math.max(highest, plan.serial);
  return highest + 1;
}

function planning(c: Context, rule: RuleId, inputs: ClaimInputs): Inputs {
  const look = need(c, rule, { piece: "plans" });
  if (look !== undefined) return { look };
  const identity = c.status.target?.identityDigest;
  return {
    inputs: {
      ...inputs,
      ...(identity === undefined ? {} : { targetIdentityDigest: identity }),
      planSerial: reserved(c, c.view.plans?.value ?? []),
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
    transactionMode: c.spec.policy.transactionMode,
    policyFingerprint: c.tools.policyFingerprint(c.spec),
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
  const { plan, source, cycle } = c.status;
  if (plan === undefined) return undefined;
  const bound = plan.source;
  const facts = c.view.source?.how === "fresh" ? c.view.source.value : undefined;
  const now = facts?.state === "resolved" ? facts : undefined;
  const resolvedElsewhere = source === undefined || !sameContent(bound, source);
  if (resolvedElsewhere || (facts !== undefined && (now === undefined || !sameContent(bound, now)))) {
    return {
      next: "Resolve",
      sentence: "The source is not the one the plan was computed from; a new plan follows.",
      alreadyRead: resolvedElsewhere && now !== undefined && source !== undefined && sameContent(source, now),
    };
  }
  const sameGeneration = cycle?.generation === c.resource.generation;
  if (plan.policyFingerprint !== c.tools.policyFingerprint(c.spec)) {
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
  return objectDifference(c);
}

const observeNext = (sentence: string, alreadyRead: boolean): PlanDifference => ({
  next: "Observe",
  sentence,
  alreadyRead,
});

type Content = Pick<SourceBinding, "kind" | "identity" | "contentDigest" | "policyUID" | "policyDigest">;

function sameContent(a: Content, b: Content): boolean {
  return (
    a.kind === b.kind &&
    a.identity === b.identity &&
    a.contentDigest === b.contentDigest &&
    a.policyUID === b.policyUID &&
    a.policyDigest === b.policyDigest
  );
}

/** The plan object or a chunk is gone or not its digest, by an uncached read. */
function objectDifference(c: Context): PlanDifference | undefined {
  const { plan } = c.status;
  const piece = c.view.plan;
  if (plan === undefined || piece?.how !== "fresh" || piece.value.name !== plan.name) return undefined;
  const { object } = piece.value;
  const whole =
    object !== null &&
    object.uid === plan.uid &&
    object.spec.fingerprint === plan.fingerprint &&
    wholePlan(c, piece.value);
  return whole ? undefined : observeNext("The plan is not stored whole any more; a new plan follows.", false);
}

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
  const { plan } = c.status;
  return plan === undefined ? undefined : judgePlan(c.spec.policy, plan, c.status.unproven);
}

export const schemaFamily: Family = {
  name: "schema",
  kind: "PtahSchema",
  reads,
  afterSource: "Observe",
  proofStart: "Observe",
  proofStopsEverything: true,
  proofUnderLease: "Plan",
  takesLease: (type) => type === "Plan" || type === "Apply",
  leaseSeconds: (_type, deadlineSeconds) => deadlineSeconds + LEASE_MARGIN_SECONDS,
  ttlOnRunning: true,
  staleLeads: "Observing",
  record: (status) => status.pendingObservation,
  withRecord: (record): Partial<Status> => ({ pendingObservation: record }),
  source: (status) => status.source,
  authorised(c) {
    const verdict = verdictOf(c);
    if (verdict?.kind === "ReadyToApply") return { by: "policy" };
    return verdict?.kind === "AwaitingApproval" ? { by: "approval" } : undefined;
  },
  restsIn(c) {
    const verdict = verdictOf(c);
    const plan = c.status.plan;
    if (verdict === undefined || plan === undefined) return { verdict: c.status.phase ?? "InSync" };
    return { verdict: verdict.kind, cause: { at: "decided", verdict, statementCount: plan.statementCount } };
  },
  planDifference,
  readInputs,
  proofInputs,
  applyInputs,
  todaysBinding: (c, source) => ({
    source: bindingOf(source),
    target: targetOf(c),
    observation: observationOf(c),
    generation: c.resource.generation,
    ...(c.status.executionBinding === undefined ? {} : { binding: c.status.executionBinding }),
  }),
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
};
