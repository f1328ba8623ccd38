import { annotation, label, RECORDED_GATE } from "../../crds/names.ts";
import type { PtahSchema } from "../../crds/ptahschema.ts";
import type { Custom, Job } from "../../kube/index.ts";
import { podDifference } from "../../workload/compare.ts";
import type { Pod, PodTemplate } from "../../workload/kubernetes.ts";
import type { WebhookConfig } from "../config.ts";
import type { Reads } from "../reads.ts";
import { ALLOWED, deny, firstOf, type ReviewedObject, type ReviewRequest, type Verdict } from "../review.ts";
import { dispatchedProblem, owningSchema } from "./claim.ts";
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
  const { job, schema } = await jobAndSchema(reads, request.namespace, owner.name, metadata.labels?.[label.schema]);
  const wrong = firstOf([
    () => (job?.metadata.uid === owner.uid ? undefined : "the Job that owns this Pod does not exist"),
    () => (schema === undefined ? "this Job's name is reserved for operations and no PtahSchema owns it" : undefined),
    () =>
      job === undefined || schema === undefined
        ? undefined
        : dispatchedProblem(schema, job, schema.status?.activeOperation?.jobUID, config.stateVersion),
    () => (job === undefined || schema === undefined ? undefined : templateProblem(request, job, schema)),
  ]);
  return wrong === undefined ? ALLOWED : deny(wrong);
}

/** Job and schema at once: the label says which schema, the Job's owner proves it. */
async function jobAndSchema(
  reads: Reads,
  namespace: string,
  jobName: string,
  schemaName: string | undefined,
): Promise<{ readonly job?: Job; readonly schema?: Custom<PtahSchema> }> {
  const [job, named] = await Promise.all([
    reads.job(namespace, jobName),
    schemaName === undefined ? undefined : reads.schema(namespace, schemaName),
  ]);
  const owner = owningSchema(job?.metadata.ownerReferences);
  return { job, schema: owner !== undefined && named?.metadata.uid === owner.uid ? named : undefined };
}

function templateProblem({ object }: ReviewRequest, job: Job, schema: Custom<PtahSchema>): string | undefined {
  const snapshot = schema.status?.activeOperation?.admissionSnapshot;
  if (snapshot === undefined) return "the schema's active operation holds no admission snapshot";
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
  "batch.kubernetes.io/controller-uid",
  "batch.kubernetes.io/job-name",
  "controller-uid",
  "job-name",
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
  const name = object.metadata.labels?.[label.schema];
  const schema = name === undefined ? undefined : await reads.schema(namespace, name);
  const claim = schema?.status?.activeOperation;
  const job = object.metadata.ownerReferences?.find((owner) => owner.controller === true);
  if (claim?.type !== "Apply" || job === undefined || claim.jobName !== job.name || claim.jobUID !== job.uid) {
    return "no Apply of this schema is dispatched with this Pod's Job";
  }
  // Only the first Pod ever seen may start: a second one is evidence, not a second chance.
  if (claim.pods?.[0] === undefined || claim.pods[0].uid !== object.metadata.uid) {
    return "this Pod is not the one the schema's active operation recorded first; only that one may start";
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
