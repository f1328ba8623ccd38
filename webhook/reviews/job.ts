import type { Job } from "../../workload/kubernetes.ts";
import type { WebhookConfig } from "../config.ts";
import type { Reads } from "../reads.ts";
import { ALLOWED, deny, firstOf, type ReviewRequest, type Verdict } from "../review.ts";
import { dispatchedProblem, owningSubject } from "./claim.ts";
import { same, sameOrEmpty } from "./same.ts";

/** Fences an operation's Job: who may create it and when, and that it stays what it was. */
export async function reviewJob(request: ReviewRequest, reads: Reads, config: WebhookConfig): Promise<Verdict> {
  if (request.operation === "UPDATE") {
    const wrong = changeProblem(request, config);
    return wrong === undefined ? ALLOWED : deny(wrong);
  }
  if (request.user.username !== config.manager) {
    return deny("Jobs with the operator's labels or owner are created by the operator alone; use other labels");
  }
  const owner = owningSubject(request.object.metadata.ownerReferences);
  if (owner === undefined) return deny("an operation's Job is owned by exactly one PtahSchema or PtahMigration");
  const { family } = owner;
  const subject = await family.read(reads, request.namespace, owner.name);
  if (subject === undefined || subject.metadata.uid !== owner.uid)
    return deny(`the ${family.kind} that owns this Job does not exist`, 404);
  if (subject.status?.activeOperation?.jobUID !== undefined) {
    return deny(`the ${family.noun}'s active operation already has its Job; an operation creates one Job at most`);
  }
  const wrong = dispatchedProblem(family, subject, jobOf(request), undefined, config.stateVersion);
  return wrong === undefined ? ALLOWED : deny(wrong);
}

/** The request's namespace counts; an object on its way in may leave its own out. */
export function jobOf({ object, namespace, name }: ReviewRequest): Job {
  return { ...object, metadata: { name, ...object.metadata, namespace } } as unknown as Job;
}

function changeProblem({ object, oldObject, user }: ReviewRequest, config: WebhookConfig): string | undefined {
  const before = oldObject?.metadata;
  const collects = config.garbageCollectors.includes(user.username);
  const unowned = collects && (object.metadata.ownerReferences ?? []).length === 0;
  return firstOf([
    () => (sameOrEmpty(object.metadata.labels, before?.labels) ? undefined : "an operation's Job keeps its labels"),
    () =>
      sameOrEmpty(object.metadata.annotations, before?.annotations)
        ? undefined
        : "an operation's Job keeps its annotations",
    () =>
      unowned || sameOrEmpty(object.metadata.ownerReferences, before?.ownerReferences)
        ? undefined
        : "an operation's Job keeps its owner",
    () =>
      same(withoutTtl(object["spec"]), withoutTtl(oldObject?.["spec"]))
        ? undefined
        : "an operation's Job cannot be changed",
    () =>
      user.username === config.manager || same(ttlOf(object["spec"]), ttlOf(oldObject?.["spec"]))
        ? undefined
        : "ttlSecondsAfterFinished of an operation's Job is set by the operator alone, once its result is stored",
  ]);
}

type Spec = { readonly ttlSecondsAfterFinished?: number } | undefined;

function withoutTtl(spec: unknown): unknown {
  const { ttlSecondsAfterFinished: _, ...rest } = (spec ?? {}) as NonNullable<Spec>;
  return rest;
}

const ttlOf = (spec: unknown): number | undefined => (spec as Spec)?.ttlSecondsAfterFinished;
