/** What claims and plans of both families are bound to alike. */
import type {
  ApplyRecord,
  ExecutionBinding,
  ManagerRecord,
  ObservationPolicy,
  SourceBinding,
  TargetBinding,
} from "../../crds/status/index.ts";
import type { Context } from "../context.ts";
import { wholePlan } from "../obligations/publish.ts";
import type { PlanDifference } from "./family.ts";

/** The source's binding without what only status tells people. */
export function bindingOf(source: SourceBinding): SourceBinding {
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

export function targetOf(c: Context): TargetBinding {
  const { engine, urlFrom, caFrom } = c.spec.target;
  return { engine, urlFrom, ...(caFrom === undefined ? {} : { caFrom }) };
}

/** What a record put back from metadata reads under: today's declaration. */
export function bindingToday(c: Context, source: SourceBinding, observation: ObservationPolicy): Partial<ApplyRecord> {
  const { executionBinding } = c.status;
  return {
    source: bindingOf(source),
    target: targetOf(c),
    observation,
    generation: c.resource.generation,
    ...(executionBinding === undefined ? {} : { binding: executionBinding }),
  };
}

/** Who publishes a plan and what it is to run with. */
export function publishedWith(manager: ManagerRecord, binding: ExecutionBinding) {
  return {
    executionBindingID: binding.epoch,
    controllerImage: manager.controllerImage,
    controllerRevision: manager.controllerRevision,
    controllerStateVersion: binding.controllerStateVersion,
    ptahVersion: binding.ptahVersion,
    executorImage: binding.executorImage,
    runnerImage: manager.runnerImage,
    runnerProtocolVersion: binding.runnerProtocolVersion,
  };
}

/** The number a publishing reading's claim reserves: above every one ever reserved, and every plan this resource owns. */
export function reservedSerial(c: Context): number {
  let highest = c.status.planSerial ?? 0;
  for (const plan of c.view.plans?.value ?? []) highest = Math.max(highest, plan.serial);
  return highest + 1;
}

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

/** Whether the source moved since a plan: it counts only as it was read uncached, or as status resolved it. */
export function sourceDifference(
  c: Context,
  bound: Content,
  resolved: Content | undefined,
): PlanDifference | undefined {
  const facts = c.view.source?.how === "fresh" ? c.view.source.value : undefined;
  const now = facts?.state === "resolved" ? facts : undefined;
  const resolvedElsewhere = resolved === undefined || !sameContent(bound, resolved);
  if (!resolvedElsewhere && (facts === undefined || (now !== undefined && sameContent(bound, now)))) return undefined;
  return {
    next: "Resolve",
    sentence: "The source is not the one the plan was computed from; a new plan follows.",
    alreadyRead: resolvedElsewhere && now !== undefined && resolved !== undefined && sameContent(resolved, now),
  };
}

/** False where an uncached read says that the plan object or a part of it is gone, or not what was published. */
export function storedWhole(c: Context): boolean {
  const { plan } = c.status;
  const piece = c.view.plan;
  if (plan === undefined || piece?.how !== "fresh" || piece.value.name !== plan.name) return true;
  const { object } = piece.value;
  return (
    object !== null &&
    object.uid === plan.uid &&
    object.spec.fingerprint === plan.fingerprint &&
    wholePlan(c, piece.value)
  );
}
