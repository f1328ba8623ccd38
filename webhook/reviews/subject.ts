import { annotation } from "../../crds/names.ts";
import { MIRROR_MAX_BYTES } from "../../crds/status/mirror.ts";
import type { WebhookConfig } from "../config.ts";
import { ALLOWED, deny, firstOf, type ReviewedObject, type ReviewRequest, type Verdict } from "../review.ts";
import { writtenByNewer } from "./contract.ts";
import type { Family } from "./family.ts";
import { same } from "./same.ts";

/** Judges a write of a resource's metadata and spec, of either family; its status is guarded by a policy of its own. */
export function reviewSubject(request: ReviewRequest, config: WebhookConfig, family: Family): Verdict {
  if (request.user.username === config.manager) return ALLOWED;
  const wrong = firstOf([
    () => writtenByNewer(request.oldObject, config.stateVersion),
    () => mirrorProblem(request, family),
    () => finalizerProblem(request, family),
    () => settledProblem(request, family),
    () => alwaysProblem(request, config),
    () => declaredProblem(request, family),
  ]);
  return wrong === undefined ? ALLOWED : deny(wrong);
}

const annotationOf = (object: ReviewedObject | undefined, key: string): string | undefined =>
  object?.metadata.annotations?.[key];

/** On an existing object the mirror is the operator's; one that arrives with a create is a restore and stays. */
function mirrorProblem({ object, oldObject }: ReviewRequest, family: Family): string | undefined {
  const mirror = annotationOf(object, annotation.unsettledApply);
  if (oldObject === undefined) {
    if (mirror === undefined || Buffer.byteLength(mirror) <= MIRROR_MAX_BYTES) return undefined;
    return `annotation ${annotation.unsettledApply} is larger than ${MIRROR_MAX_BYTES} bytes and cannot be one the operator wrote`;
  }
  if (mirror === annotationOf(oldObject, annotation.unsettledApply)) return undefined;
  return (
    `annotation ${annotation.unsettledApply} is changed by the operator alone; leave it as it is ` +
    `(to end an unsettled Apply, use ${family.wayOut(object)})`
  );
}

/** Without our finalizer a deletion would lose what is owed. */
function finalizerProblem({ object, oldObject }: ReviewRequest, family: Family): string | undefined {
  const { finalizer } = family;
  const had = oldObject?.metadata.finalizers?.includes(finalizer) === true;
  if (!had || object.metadata.finalizers?.includes(finalizer)) return undefined;
  const status = statusOf(oldObject, family);
  const owes = status.claim !== undefined || status.record !== undefined;
  if (!owes && annotationOf(oldObject, annotation.unsettledApply) === undefined) return undefined;
  return `finalizer ${finalizer} stays while an operation is under way or an Apply is not settled; see ${family.wayOut(object)}`;
}

/** The word that settles an Apply must name the one that is not settled. */
function settledProblem({ object, oldObject }: ReviewRequest, family: Family): string | undefined {
  const word = annotationOf(object, annotation.settledApply);
  if (word === undefined || word === annotationOf(oldObject, annotation.settledApply)) return undefined;
  if (family.settlesOnlyDeleting && object.metadata.deletionTimestamp === undefined) {
    return `${annotation.settledApply} counts only while a ${family.noun} is being deleted; leave it out and use ${family.wayOut(object)}`;
  }
  const standing = [statusOf(oldObject, family).record, mirrorOperation(object)].filter((id) => id !== undefined);
  if (standing.includes(word)) return undefined;
  if (standing.length === 0) return `no Apply of this ${family.noun} is unsettled, so there is nothing to settle`;
  return `${annotation.settledApply} names another Apply than the unsettled one; its operation id is in status.${family.recordField}`;
}

/** `apply: Always` is a standing approval, so entering it is reserved; keeping and leaving it is not. */
function alwaysProblem({ object, oldObject, user }: ReviewRequest, config: WebhookConfig): string | undefined {
  if (applyOf(object) !== "Always" || applyOf(oldObject) === "Always") return undefined;
  if (user.groups.some((group) => config.alwaysGroups.includes(group))) return undefined;
  return "spec.policy.apply: Always may only be set by groups that the operator's administrator lists; use OnApproval, or ask one of them";
}

/** Only a spec that is new or changed is judged: an object stored under older rules stays usable. */
function declaredProblem({ object, oldObject }: ReviewRequest, family: Family): string | undefined {
  if (oldObject !== undefined && same(object["spec"], oldObject["spec"])) return undefined;
  return family.declaredProblem(object);
}

function applyOf(object: ReviewedObject | undefined): unknown {
  const spec = object?.["spec"] as { readonly policy?: { readonly apply?: unknown } } | undefined;
  return spec?.policy?.apply;
}

type RawStatus =
  | ({ readonly activeOperation?: { readonly id?: string } } & {
      readonly [record in Family["recordField"]]?: { readonly operationID?: string };
    })
  | undefined;

function statusOf(
  object: ReviewedObject | undefined,
  { recordField }: Family,
): { readonly claim?: string; readonly record?: string } {
  const status = object?.["status"] as RawStatus;
  return { claim: status?.activeOperation?.id, record: status?.[recordField]?.operationID };
}

function mirrorOperation(object: ReviewedObject): string | undefined {
  try {
    const mirror = JSON.parse(annotationOf(object, annotation.unsettledApply) ?? "null") as {
      operationID?: unknown;
    } | null;
    return typeof mirror?.operationID === "string" ? mirror.operationID : undefined;
  } catch {
    return undefined;
  }
}
