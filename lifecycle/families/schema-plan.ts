/** How a schema's Plan is judged: the target it read, a declaration that took over, no changes, or a new plan. */

import { commandFor } from "../../crds/commands.ts";
import type { PrivilegeChange } from "../../crds/common.ts";
import { chunkName } from "../../crds/names.ts";
import { PLAN_CONTRACT_FILES, type PtahSchemaPlanSpec } from "../../crds/spec.ts";
import type { AppliedPlan, ApplyRecord, Claim, CurrentSchemaPlan, JournalEntry } from "../../crds/status/index.ts";
import type { OperationResult } from "../../workload/result.ts";
import { type Context, patch, type Status } from "../context.ts";
import { waitingPublication } from "../journal.ts";
import type { EventIntent, MetricTransition, Move, RuleId } from "../move.ts";
import { drop } from "../obligations/drop.ts";
import { type PlanDraft, publish } from "../obligations/publish.ts";
import { planRetired } from "../obligations/retirement.ts";
import { durationMetric, failAttempt, nextAttempt } from "../obligations/retry.ts";
import { settled, verified } from "../obligations/settle.ts";
import { judgePlan, type Verdict } from "../policy.ts";
import { cycleAt, cycleEnded, retryAt } from "../positions.ts";
import { instantOf } from "../time.ts";
import type { PlanObjectFacts } from "../view.ts";
import { publishedWith } from "./bindings.ts";
import { schemaPlan, schemaPlanSpec, schemaSpec } from "./schema-fields.ts";
import { ended, nextReading, proofRecord } from "./schema-reads.ts";

export function judgePlanResult(
  c: Context,
  rule: RuleId,
  claim: Claim,
  result: OperationResult,
  ttl: Move | undefined,
): Move {
  const identity = result.targetIdentityDigest;
  if (claim.targetIdentityDigest !== undefined && claim.targetIdentityDigest !== identity) {
    return ttl ?? otherThanObserved(c, rule, claim);
  }
  const record = proofRecord(c, claim);
  if (record !== undefined) {
    const elsewhere = record.targetIdentityDigest !== undefined && record.targetIdentityDigest !== identity;
    if (elsewhere) return ttl ?? targetMoved(c, rule, claim);
    if (record.generation !== c.resource.generation) return ttl ?? superseded(c, rule, claim, record);
  }
  if (result.planOutcome === "NoChanges") return ttl ?? converged(c, rule, claim, record);
  return changes(c, rule, claim, result, record, ttl);
}

/** A Plan that read another target than its Observe is discarded; Observe is next. */
function otherThanObserved(c: Context, rule: RuleId, claim: Claim): Move {
  return drop(c, `${rule}/moved`, claim, {
    set: { ...nextReading(c, claim, "Observe"), retryNotBefore: retryAt(c) },
    cause: {
      at: "dropped",
      leads: "Observing",
      reason: "InputsChanged",
      sentence: "The database changed its identity between reading and planning; it is read again.",
    },
  });
}

/** The proof read another database than the plan's: Blocked, claim and Lease stay, until it is back or a person settles it. */
function targetMoved(c: Context, rule: RuleId, claim: Claim): Move {
  const sentence = `The database that was read is not the one the Apply ran on. Point spec.target.urlFrom at that database again, or establish what the Apply did and use ${c.family.wayOut(c)}.`;
  return ended(c, `${rule}/elsewhere`, claim, {
    set: { activeOperation: nextAttempt(c, claim), retryNotBefore: retryAt(c) },
    cause: { at: "targetMoved", sentence },
  });
}

/** A newer declaration than the record's took over: no plan of the old inputs. */
function superseded(c: Context, rule: RuleId, claim: Claim, record: ApplyRecord): Move {
  return ended(c, `${rule}/superseded`, claim, {
    set: { ...settled(c, record, "Superseded"), cycle: cycleAt(c, c.family.reads[0]) },
    cause: { at: "superseded" },
    journal: [verified(c, record, "Superseded")],
    metrics: [durationMetric(c, claim, "succeeded")],
  });
}

/** A fresh plan without a statement: the authoritative word that the database converged. */
function converged(c: Context, rule: RuleId, claim: Claim, record: ApplyRecord | undefined): Move {
  const unknownOutcome = record !== undefined && record.outcome !== "ApplySucceeded";
  const applied = record === undefined || unknownOutcome ? undefined : appliedOf(c, record);
  const standing = schemaPlan(c.status);
  return ended(c, `${rule}/converged`, claim, {
    set: {
      ...(record === undefined ? {} : settled(c, record, "Reading")),
      ...(applied === undefined ? {} : { applied }),
      plan: undefined,
      unproven: undefined,
      ...cycleEnded(c),
    },
    cause: { at: "converged", unknownOutcome },
    ...(record === undefined ? {} : { journal: [verified(c, record, "InSync")] }),
    events: [
      { type: "Normal", reason: "OperationCompleted", note: "The database is as declared." },
      ...planRetired(standing),
    ],
    metrics: [durationMetric(c, claim, "succeeded")],
  });
}

function appliedOf(c: Context, record: ApplyRecord): AppliedPlan | undefined {
  const { plan, binding, targetIdentityDigest } = record;
  if (plan === undefined || binding === undefined || targetIdentityDigest === undefined) return undefined;
  return {
    operationID: record.operationID,
    planRef: { name: plan.name, uid: plan.uid },
    planFingerprint: plan.fingerprint,
    ...(record.planBindings === undefined ? {} : { contentDigest: record.planBindings.contentDigest }),
    ...(record.source === undefined ? {} : { sourceContentDigest: record.source.contentDigest }),
    coordinationDigest: record.coordinationDigest,
    targetIdentityDigest,
    executionBindingID: binding.epoch,
    ...(record.dispatchedBy === undefined ? {} : { dispatchedBy: record.dispatchedBy }),
    completedAt: instantOf(c.nowMs),
  };
}

/** Changed bytes are published under the reserved number, then named by the patch that ends the reading. */
function changes(
  c: Context,
  rule: RuleId,
  claim: Claim,
  result: OperationResult,
  record: ApplyRecord | undefined,
  ttl: Move | undefined,
): Move {
  const contentDigest = result.planContentDigest ?? "";
  const summary = c.tools.planSummary(result.stdout, contentDigest);
  if (summary === undefined) return ttl ?? unpublishable(c, rule, claim, "The plan is no document this version reads.");
  const draft = draftOf(c, claim, result, contentDigest, summary);
  if (draft === undefined) return ttl ?? unpublishable(c, rule, claim, "The plan lacks what it has to be bound to.");
  const publication = publish(c, rule, draftedFrom(c, draft, result.stdout), claim.planSerial ?? 0);
  if ("move" in publication) return publication.move;
  if ("gone" in publication) return standingPlanGone(c);
  if ("refused" in publication) return ttl ?? unpublishable(c, rule, claim, publication.refused);
  return ttl ?? decided(c, rule, claim, record, planOf(publication.name, publication.object), publication.kept);
}

/** Retires the plan that is not whole, in rule 14's own move; the reading then publishes under its reserved number. */
function standingPlanGone(c: Context): Move {
  return patch(c, "14", { set: { plan: undefined }, events: planRetired(c.status.plan) });
}

const unpublishable = (c: Context, rule: RuleId, claim: Claim, sentence: string): Move =>
  failAttempt(c, rule, claim, { reason: "OperationFailed", sentence });

/** Everything of a plan but its number, fingerprint and chunks. */
type Bindings = Omit<
  PtahSchemaPlanSpec,
  "serial" | "fingerprint" | "chunks" | "contractVersion" | "schemaRef" | "size"
>;

function draftedFrom(c: Context, bindings: Bindings, document: string): PlanDraft {
  const at = (serial: number) => ({ ...bindings, serial, contractVersion: PLAN_CONTRACT_FILES });
  return {
    fingerprintAt: (serial) => c.tools.planFingerprint({ ...at(serial), schemaUid: c.resource.uid }),
    nameOf: (fingerprint) => c.tools.planName(fingerprint),
    build(serial, fingerprint, name) {
      const chunks = c.tools.planChunks(document, bindings.contentDigest);
      const spec: PtahSchemaPlanSpec = {
        ...at(serial),
        fingerprint,
        schemaRef: { name: c.resource.name, uid: c.resource.uid },
        size: Buffer.byteLength(document),
        chunks: chunks.map(({ bytes, digest }, index) => ({
          name: chunkName(name, index),
          index,
          digest,
          size: bytes.byteLength,
        })),
      };
      return { spec, chunks };
    },
  };
}

function draftOf(
  c: Context,
  claim: Claim,
  result: OperationResult,
  contentDigest: string,
  summary: NonNullable<ReturnType<Context["tools"]["planSummary"]>>,
): Bindings | undefined {
  const { executionBinding } = c.status;
  const { source, coordinationDigest, serverMajor } = claim;
  const { targetIdentityDigest } = result;
  if (executionBinding === undefined || source === undefined || coordinationDigest === undefined) return undefined;
  if (serverMajor === undefined || targetIdentityDigest === undefined) return undefined;
  return {
    contentDigest,
    source,
    coordinationDigest,
    targetIdentityDigest,
    serverMajor,
    actualStateFingerprint: summary.actualStateFingerprint,
    desiredStateFingerprint: summary.desiredStateFingerprint,
    policyFingerprint: claim.policyFingerprint ?? "",
    ...publishedWith(c.view.configuration.manager, executionBinding),
    dialect: summary.dialect,
    destructive: summary.destructive,
    ...(summary.privilegeChanges.length === 0
      ? {}
      : { privilegeChanges: summary.privilegeChanges as PrivilegeChange[] }),
    statementCount: summary.statementCount,
  };
}

/** The plan as status names it: what the object that was read back binds. */
function planOf(name: string, object: PlanObjectFacts): CurrentSchemaPlan {
  const {
    contractVersion: _c,
    schemaRef: _s,
    dialect: _d,
    size: _z,
    chunks: _k,
    ...bindings
  } = schemaPlanSpec(object.spec);
  return { name, uid: object.uid, ...bindings, createdAt: object.createdAt };
}

function decided(
  c: Context,
  rule: RuleId,
  claim: Claim,
  record: ApplyRecord | undefined,
  plan: CurrentSchemaPlan,
  kept: boolean,
): Move {
  const { unproven } = c.status;
  // Another desired state is another question: what was not proved before says nothing about it.
  const still = unproven?.desiredStateFingerprint === plan.desiredStateFingerprint ? unproven : undefined;
  const verdict = judgePlan(schemaSpec(c).policy, plan, still);
  const standing = schemaPlan(c.status);
  const replaced = kept || standing === undefined || standing.dispatched === true ? undefined : standing;
  const named = { ...plan, approvalRequired: kept ? standing?.approvalRequired : verdict.kind === "AwaitingApproval" };
  const set: Partial<Status> = {
    ...(record === undefined ? {} : settled(c, record, "Reading")),
    plan: named,
    unproven: still,
    ...cycleEnded(c),
    // Applies that prove nothing are spaced, so that no loop of DDL runs.
    ...(record !== undefined && still !== undefined ? { retryNotBefore: retryAt(c) } : {}),
  };
  return ended(c, `${rule}/decided`, claim, {
    set,
    cause: { at: "decided", verdict, statementCount: plan.statementCount },
    journal: entries(c, record, named, kept),
    events: [...planRetired(replaced), ...approvalAsked(c, verdict, kept)],
    metrics: [durationMetric(c, claim, "succeeded"), ...planMetrics(plan, verdict, kept)],
  });
}

function entries(
  c: Context,
  record: ApplyRecord | undefined,
  plan: CurrentSchemaPlan,
  kept: boolean,
): readonly JournalEntry[] {
  const list: JournalEntry[] = record === undefined ? [] : [verified(c, record, "DriftRemains")];
  if (kept) return list;
  const waited = waitingPublication(c.status.journal?.entries);
  const replaced = waited?.approvalRequired === true && waited.plan?.uid !== plan.uid ? waited.plan : undefined;
  list.push({
    type: "PlanPublished",
    time: plan.createdAt,
    plan: { name: plan.name, uid: plan.uid, fingerprint: plan.fingerprint },
    approvalRequired: plan.approvalRequired === true,
    ...(replaced === undefined ? {} : { replaced }),
  });
  return list;
}

function approvalAsked(c: Context, verdict: Verdict, kept: boolean): readonly EventIntent[] {
  if (kept || verdict.kind !== "AwaitingApproval") return [];
  const note = `A plan waits for an approval: ${commandFor("approve", "schema", c.resource)}`;
  return [{ type: "Normal", reason: "ApprovalRequired", note }];
}

function planMetrics(plan: CurrentSchemaPlan, verdict: Verdict, kept: boolean): readonly MetricTransition[] {
  if (kept) return [];
  const asked: readonly MetricTransition[] =
    verdict.kind === "AwaitingApproval" ? [{ metric: "approvals_total", outcome: "required" }] : [];
  return [{ metric: "plans_total", destructive: plan.destructive }, ...asked];
}
