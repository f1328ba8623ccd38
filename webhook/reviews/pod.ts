import { annotation, label, RECORDED_GATE } from "../../crds/names.ts";
import type { Job } from "../../kube/index.ts";
import { podDifference } from "../../workload/compare.ts";
import { JOB_CONTROLLER_LABELS } from "../../workload/digest.ts";
import type { Pod, PodTemplate } from "../../workload/kubernetes.ts";
import type { WebhookConfig } from "../config.ts";
import type { Reads } from "../reads.ts";
import { ALLOWED, deny, firstOf, type ReviewedObject, type ReviewRequest, type Verdict } from "../review.ts";
import { dispatchedProblem, owningSubject } from "./claim.ts";
import { FAMILIES, type Family, type Subject } from "./family.ts";
import { same, sameOrEmpty } from "./same.ts";

/**
 * Fences an operation's Pod: it is its Job's template within the admission snapshot that the claim stored, made by the Job
 * controller while the claim names that Job, and nothing of it changes but the gate (lifecycle: one Pod per Apply).
 */
export async function reviewPod(
  request: ReviewRequest,
  reads: Reads,
  config: WebhookConfig,
  now: Date,
): Promise<Verdict> {
  if (request.subresource !== "") {
    return deny(
      `${request.resource}/${request.subresource} of an operation's Pod cannot be changed: it holds a database's credentials`,
    );
  }
  return request.operation === "UPDATE"
    ? reviewUpdate(request, reads, config, now)
    : reviewCreate(request, reads, config);
}

async function reviewCreate(request: ReviewRequest, reads: Reads, config: WebhookConfig): Promise<Verdict> {
  const { metadata } = request.object;
  if (!config.jobControllers.includes(request.user.username)) {
    return deny("Pods of an operation are created by the Job controller alone; use other labels and another owner");
  }
  const owner = metadata.ownerReferences?.find((reference) => reference.controller === true);
  if (owner?.kind !== "Job") return deny("a Pod with the operator's labels is owned by its operation's Job");
  const named = namedBy(metadata.labels);
  const [job, subject] = await Promise.all([
    reads.job(request.namespace, owner.name),
    named?.family.read(reads, request.namespace, named.name),
  ]);
  if (job?.metadata.uid !== owner.uid) return deny("the Job that owns this Pod does not exist");
  const of = owningSubject(job.metadata.ownerReferences);
  if (named === undefined || subject === undefined || of?.uid !== subject.metadata.uid || of.family !== named.family) {
    return deny("this Job's name is reserved for operations and no resource of the operator owns it");
  }
  const { family } = named;
  const uid = subject.status?.activeOperation?.jobUID;
  const wrong =
    dispatchedProblem(family, subject, job, uid, config.stateVersion) ?? templateProblem(request, job, family, subject);
  return wrong === undefined ? ALLOWED : deny(wrong);
}

/** The resource that a Pod's labels name. It is read beside the Job, whose owner then proves it. */
function namedBy(labels: Map): { readonly family: Family; readonly name: string } | undefined {
  for (const family of FAMILIES) {
    const name = labels?.[family.label];
    if (name !== undefined) return { family, name };
  }
  return undefined;
}

function templateProblem({ object }: ReviewRequest, job: Job, { noun }: Family, subject: Subject): string | undefined {
  const snapshot = subject.status?.activeOperation?.admissionSnapshot;
  if (snapshot === undefined) return `the ${noun}'s active operation holds no admission snapshot`;
  const template = job.spec.template as PodTemplate;
  if (template.metadata?.annotations?.[annotation.admissionSnapshotDigest] !== snapshot.digest) {
    return "this Job was built under another admission snapshot than its claim holds";
  }
  return podDifference(object as unknown as Pod, {
    template,
    job: { name: job.metadata.name, uid: job.metadata.uid },
    snapshot,
    moment: "Create",
  });
}

async function reviewUpdate(request: ReviewRequest, reads: Reads, config: WebhookConfig, now: Date): Promise<Verdict> {
  const before = request.oldObject;
  if (before === undefined) return deny("an update without the stored object cannot be judged", 400);
  const wrong = firstOf([() => metadataProblem(request, before, config), () => specProblem(request, before)]);
  if (wrong !== undefined) return deny(wrong);
  if (sameOrEmpty(gatesOf(request.object), gatesOf(before))) return ALLOWED;
  if (request.user.username !== config.manager)
    return deny("the scheduling gate of an operation's Pod is removed by the operator alone");
  const gate = await gateProblem(request, before, reads, now);
  return gate === undefined ? ALLOWED : deny(gate);
}

/** What tells whose Pod it is stays; others may add labels and annotations of their own. */
function metadataProblem(
  { object, user }: ReviewRequest,
  before: ReviewedObject,
  config: WebhookConfig,
): string | undefined {
  const collects = config.garbageCollectors.includes(user.username);
  const unowned = collects && (object.metadata.ownerReferences ?? []).length === 0;
  const lost =
    lostKey(before.metadata.labels, object.metadata.labels) ??
    lostKey(before.metadata.annotations, object.metadata.annotations);
  if (lost !== undefined) return `an operation's Pod keeps its label or annotation ${lost}`;
  if (gainedKey(before.metadata.labels, object.metadata.labels))
    return "the operator's labels are not put on another Pod";
  if (!unowned && !sameOrEmpty(object.metadata.ownerReferences, before.metadata.ownerReferences)) {
    return "an operation's Pod keeps its owner";
  }
  const tracked = "batch.kubernetes.io/job-tracking";
  const untracked = before.metadata.finalizers?.includes(tracked) && !object.metadata.finalizers?.includes(tracked);
  if (untracked && !collects && !config.jobControllers.includes(user.username)) {
    return `finalizer ${tracked} of an operation's Pod is removed by the Job controller alone`;
  }
  return undefined;
}

type Map = Readonly<Record<string, string>> | undefined;

/** Only what a Pod is recognised by: a key that was there and has another value now. */
function lostKey(before: Map, after: Map): string | undefined {
  return Object.keys(before ?? {}).find((key) => identifies(key) && before?.[key] !== after?.[key]);
}

function gainedKey(before: Map, after: Map): boolean {
  return Object.keys(after ?? {}).some((key) => identifies(key) && before?.[key] === undefined);
}

const IDENTIFYING: ReadonlySet<string> = new Set([
  ...Object.values(label),
  ...Object.values(annotation),
  ...JOB_CONTROLLER_LABELS,
]);
const identifies = (key: string): boolean => IDENTIFYING.has(key);

function specProblem({ object }: ReviewRequest, before: ReviewedObject): string | undefined {
  return same(withoutGates(object["spec"]), withoutGates(before["spec"]))
    ? undefined
    : "an operation's Pod cannot be changed";
}

async function gateProblem(
  { object, namespace }: ReviewRequest,
  before: ReviewedObject,
  reads: Reads,
  now: Date,
): Promise<string | undefined> {
  const kept = gatesOf(before).filter((gate) => gate.name !== RECORDED_GATE);
  if (!sameOrEmpty(gatesOf(object), kept)) return "only the operator's own scheduling gate is removed";
  const named = namedBy(object.metadata.labels);
  const subject = await named?.family.read(reads, namespace, named.name);
  const noun = named?.family.noun ?? "resource";
  const claim = subject?.status?.activeOperation;
  const job = object.metadata.ownerReferences?.find((owner) => owner.controller === true);
  if (claim?.type !== "Apply" || job === undefined || claim.jobName !== job.name || claim.jobUID !== job.uid) {
    return `no Apply of this ${noun} is dispatched with this Pod's Job`;
  }
  // Only the first Pod ever seen may start: a second one is evidence, not a second chance.
  if (claim.pods?.[0] === undefined || claim.pods[0].uid !== object.metadata.uid) {
    return `this Pod is not the one the ${noun}'s active operation recorded first; only that one may start`;
  }
  if (claim.dispatchNotAfter === undefined || Date.parse(claim.dispatchNotAfter) < now.getTime()) {
    return "the instant after which this Apply may not be started has passed";
  }
  return undefined;
}

type Gates = readonly { readonly name: string }[];
const gatesOf = (pod: ReviewedObject): Gates =>
  (pod["spec"] as { schedulingGates?: Gates } | undefined)?.schedulingGates ?? [];

function withoutGates(spec: unknown): unknown {
  const { schedulingGates: _, ...rest } = (spec ?? {}) as { schedulingGates?: Gates };
  return rest;
}
