import { annotation } from "../../crds/names.ts";
import type { WebhookConfig } from "../config.ts";
import type { PatchOperation, ReviewRequest, Verdict } from "../review.ts";
import { ALLOWED } from "../review.ts";
import type { Family } from "./family.ts";
import { identityOf } from "./identity.ts";
import { annotationPatch, writerAnnotations } from "./spec-writer.ts";

/**
 * What admission adds to a resource of either family: our finalizer where it carries the mirror of an unsettled Apply (a restore without
 * it could be deleted before anybody looked), who asked to settle an Apply, and who last wrote the spec where approvers
 * must be distinct.
 */
export function stampSubject(request: ReviewRequest, config: WebhookConfig, family: Family): Verdict {
  const { metadata } = request.object;
  const wanted = new Map<string, string | undefined>([
    ...settledBy(request),
    ...(config.requireDistinctApprover ? writerAnnotations(request) : []),
  ]);
  const patch = [...finalizerPatch(request, family), ...annotationPatch(metadata.annotations, wanted)];
  return patch.length === 0 ? ALLOWED : { allowed: true, patch };
}

/** While an object is being deleted the API server refuses new finalizers. */
function finalizerPatch({ object: { metadata } }: ReviewRequest, { finalizer }: Family): PatchOperation[] {
  const carries = metadata.annotations?.[annotation.unsettledApply] !== undefined;
  if (!carries || metadata.deletionTimestamp !== undefined || metadata.finalizers?.includes(finalizer)) return [];
  return metadata.finalizers === undefined
    ? [{ op: "add", path: "/metadata/finalizers", value: [finalizer] }]
    : [{ op: "add", path: "/metadata/finalizers/-", value: finalizer }];
}

/** The requester, where the word was set or changed; the stored name where it was not; nobody where there is no word. */
function settledBy({ object, oldObject, user }: ReviewRequest): [string, string | undefined][] {
  const word = object.metadata.annotations?.[annotation.settledApply];
  const before = oldObject?.metadata.annotations;
  if (word === undefined) return [[annotation.settledApplyBy, undefined]];
  const said = word !== before?.[annotation.settledApply];
  return [[annotation.settledApplyBy, said ? JSON.stringify(identityOf(user)) : before?.[annotation.settledApplyBy]]];
}
