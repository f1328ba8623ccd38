/** A plan of pending versions: published out of the history that was read, under the number its reading reserved. */

import { commandFor } from "../../crds/commands.ts";
import { durationMs } from "../../crds/duration.ts";
import type { PtahMigrationPlanSpec } from "../../crds/migrationspec.ts";
import { PLAN_CONTRACT_FILES } from "../../crds/spec.ts";
import type { CurrentMigrationPlan, JournalEntry, MigrationStep } from "../../crds/status/index.ts";
import { type Context, patch, patchIfNew, type Status } from "../context.ts";
import type { EventIntent, MetricTransition, Move, RuleId } from "../move.ts";
import { type PlanDraft, publish } from "../obligations/publish.ts";
import { planRetired } from "../obligations/retirement.ts";
import { durationMetric } from "../obligations/retry.ts";
import { instantOf, msOf } from "../time.ts";
import type { PlanObjectFacts } from "../view.ts";
import { publishedWith } from "./bindings.ts";
import { migrationPlan, migrationPlanSpec, migrationSpec, sequenceOf } from "./migration-fields.ts";
import { type Reading, readFields, unpublished, verification } from "./migration-reading.ts";

export function planned(
  c: Context,
  rule: RuleId,
  reading: Reading,
  steps: readonly MigrationStep[],
  ttl: Move | undefined,
): Move {
  const draft = draftOf(c, reading, steps);
  if (draft === undefined) return ttl ?? unpublished(c, rule, reading, "The plan lacks what it has to be bound to.");
  const told = patchIfNew(c, `${rule}/planning`, { cause: { at: "sequencePending", count: steps.length } });
  if (told !== undefined) return told;
  const publication = publish(c, rule, draft, reading.claim.planSerial ?? 0);
  if ("move" in publication) return publication.move;
  // Retires the plan that is not whole, in rule 14's own move; the reading then publishes under its reserved number.
  if ("gone" in publication) return patch(c, "14", { set: { plan: undefined }, events: planRetired(c.status.plan) });
  if ("refused" in publication) return ttl ?? unpublished(c, rule, reading, publication.refused);
  return ttl ?? decided(c, rule, reading, planOf(publication.name, publication.object), publication.kept);
}

type Bindings = Omit<PtahMigrationPlanSpec, "serial" | "fingerprint">;

function bindingsOf(c: Context, reading: Reading, steps: readonly MigrationStep[]): Bindings | undefined {
  const { executionBinding } = c.status;
  const { claim, read, history } = reading;
  const { source, coordinationDigest, policyFingerprint, planSerial } = claim;
  if (executionBinding === undefined || source === undefined || coordinationDigest === undefined) return undefined;
  if (policyFingerprint === undefined || planSerial === undefined) return undefined;
  return {
    contractVersion: PLAN_CONTRACT_FILES,
    migrationRef: { name: c.resource.name, uid: c.resource.uid },
    contentDigest: c.tools.sequenceDigest(sequenceOf(steps)),
    source,
    coordinationDigest,
    targetIdentityDigest: history.targetIdentityDigest,
    policyFingerprint,
    ...publishedWith(c.view.configuration.manager, executionBinding),
    historyFingerprint: history.fingerprint,
    currentVersion: read.currentVersion,
    stepCount: steps.length,
    migrations: [...steps],
  };
}

function draftOf(c: Context, reading: Reading, steps: readonly MigrationStep[]): PlanDraft | undefined {
  const bindings = bindingsOf(c, reading, steps);
  if (bindings === undefined) return undefined;
  const { migrationRef: _ref, migrations: _steps, stepCount: _count, ...bound } = bindings;
  return {
    fingerprintAt: (serial) =>
      c.tools.sequencePlanFingerprint({ ...covered(bound), serial, migrationUid: c.resource.uid }),
    nameOf: (fingerprint) => c.tools.sequencePlanName(fingerprint),
    build: (serial, fingerprint) => ({ spec: { ...bindings, serial, fingerprint }, chunks: [] }),
  };
}

/** Without the records of who published it: they bind nothing. */
function covered<T extends { controllerImage: string; controllerRevision: string; runnerImage: string }>(bound: T) {
  const { controllerImage: _image, controllerRevision: _revision, runnerImage: _runner, ...rest } = bound;
  return rest;
}

/** The plan as status names it: what the object that was read back binds. */
function planOf(name: string, object: PlanObjectFacts): CurrentMigrationPlan {
  const { contractVersion: _c, migrationRef: _r, migrations: _m, ...bindings } = migrationPlanSpec(object.spec);
  return { name, uid: object.uid, ...bindings, createdAt: object.createdAt };
}

function decided(c: Context, rule: RuleId, reading: Reading, plan: CurrentMigrationPlan, kept: boolean): Move {
  const { apply } = migrationSpec(c).policy;
  const standing = migrationPlan(c.status);
  const replaced = kept || standing === undefined || standing.dispatched === true ? undefined : standing;
  const named = { ...plan, approvalRequired: kept ? standing?.approvalRequired : apply === "OnApproval" };
  const said = verification(c, reading, "Pending", "MigrationsPending");
  const set: Partial<Status> = { ...readFields(c, reading), ...said.set, ...spaced(c), plan: named };
  const asked = !kept && apply === "OnApproval";
  return patch(c, `${rule}/decided`, {
    set,
    cause: { at: "sequenceReady", apply, count: plan.stepCount },
    journal: [...said.journal, ...(kept ? [] : [published(plan)])],
    events: [...planRetired(replaced), ...(asked ? [approvalAsked(c)] : [])],
    metrics: [durationMetric(c, reading.claim, "succeeded"), ...planMetrics(kept, asked)],
  });
}

/** A run that failed is not tried again at once, so that no loop of runs goes on. */
function spaced(c: Context): Partial<Status> {
  const { lastRun } = c.status;
  if (lastRun?.outcome !== "Failed" || lastRun.finishedAt === undefined) return {};
  const untilMs = msOf(lastRun.finishedAt) + durationMs(c.spec.execution.failureRetryInterval);
  return untilMs > c.nowMs ? { retryNotBefore: instantOf(untilMs) } : {};
}

const published = (plan: CurrentMigrationPlan): JournalEntry => ({
  type: "PlanPublished",
  time: plan.createdAt,
  plan: { name: plan.name, uid: plan.uid, fingerprint: plan.fingerprint },
});

const approvalAsked = ({ resource }: Context): EventIntent => ({
  type: "Normal",
  reason: "ApprovalRequired",
  note: `A plan waits for an approval: ${commandFor("approve", "migration", resource)}`,
});

function planMetrics(kept: boolean, asked: boolean): readonly MetricTransition[] {
  if (kept) return [];
  const required: readonly MetricTransition[] = asked ? [{ metric: "approvals_total", outcome: "required" }] : [];
  return [{ metric: "plans_total", destructive: false }, ...required];
}
