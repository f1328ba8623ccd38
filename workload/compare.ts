import { canonicalJson, type Json } from "../crds/canonical.ts";
import { annotation, RECORDED_GATE } from "../crds/names.ts";
import type { AdmissionSnapshot } from "../crds/status/binding.ts";
import { admittedSpec } from "./admitted-pod.ts";
import { firstDifference, plain } from "./difference.ts";
import { JOB_CONTROLLER_LABELS, templateDigest } from "./digest.ts";
import type { Container, Job, Pod, PodSpec, PodTemplate } from "./kubernetes.ts";
import { canonicalResources } from "./resources.ts";

/** What the claim stored of its Job before it was created; never a Job rebuilt from today's spec or binary. */
export interface JobExpectation {
  readonly namespace: string;
  readonly name: string;
  readonly owner: { readonly kind: string; readonly name: string; readonly uid: string };
  readonly operationID: string;
  /** Epoch of the execution binding. */
  readonly epoch: string;
  readonly templateDigest: string;
  /** Once the Job was confirmed. */
  readonly uid?: string;
}

/** Why a Job read back is not the one the claim dispatched (a sentence), or undefined. */
export function jobDifference(job: Job, expected: JobExpectation): string | undefined {
  const { metadata } = job;
  const owners = metadata.ownerReferences ?? [];
  const owner = owners[0];
  const annotations = metadata.annotations ?? {};
  if (metadata.namespace !== expected.namespace || metadata.name !== expected.name) return "it has another name";
  if (expected.uid !== undefined && metadata.uid !== expected.uid) return "it is another object under the same name";
  if (owners.length !== 1 || owner === undefined || owner.controller !== true)
    return "it does not have exactly one owner";
  if (owner.kind !== expected.owner.kind || owner.name !== expected.owner.name || owner.uid !== expected.owner.uid) {
    return "it belongs to another resource";
  }
  if (annotations[annotation.operationId] !== expected.operationID) return "it carries another operation id";
  if (annotations[annotation.executionBindingId] !== expected.epoch) return "it carries another execution binding";
  if (!isOneShot(job)) return "it is not a Job that runs once";
  if (templateDigest(job.spec.template) !== expected.templateDigest) return "its Pod template is another";
  return undefined;
}

/** One Pod, once, and no second try: the only shape in which an outcome can be accounted for. */
export function isOneShot(job: Job): boolean {
  const { spec } = job;
  return (
    spec.parallelism === 1 &&
    spec.completions === 1 &&
    spec.backoffLimit === 0 &&
    (spec.completionMode ?? "NonIndexed") === "NonIndexed" &&
    spec.suspend !== true &&
    spec.manualSelector !== true &&
    spec.podReplacementPolicy === "Failed"
  );
}

export interface PodExpectation {
  /** Template of the Job that was compared with its claim. */
  readonly template: PodTemplate;
  readonly job: { readonly name: string; readonly uid: string };
  readonly snapshot: AdmissionSnapshot;
  /** `Create`: the Pod as it is being admitted. `Later`: a stored Pod, to which others may have added metadata. */
  readonly moment: "Create" | "Later";
}

const LIMIT_RANGER_NOTE = "kubernetes.io/limit-ranger";
const TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking";

/**
 * Why a Pod is not its Job's template within the admission snapshot (a sentence naming the place, never a value), or
 * undefined. Of a stored Pod the removal of our scheduling gate is ignored, adding one is not; a Pod born without it could
 * start before anybody recorded it.
 */
export function podDifference(pod: Pod, expected: PodExpectation): string | undefined {
  return (
    ownerDifference(pod, expected) ??
    nameDifference(pod, expected) ??
    metadataDifference(pod, expected) ??
    specDifference(pod.spec, expected)
  );
}

function ownerDifference(pod: Pod, { job }: PodExpectation): string | undefined {
  const owners = pod.metadata.ownerReferences ?? [];
  const owner = owners[0];
  const right =
    owners.length === 1 &&
    owner?.apiVersion === "batch/v1" &&
    owner.kind === "Job" &&
    owner.name === job.name &&
    owner.uid === job.uid &&
    owner.controller === true;
  return right ? undefined : "the Pod does not have exactly its Job as owner";
}

function nameDifference(pod: Pod, { job, moment }: PodExpectation): string | undefined {
  const { name = "", generateName } = pod.metadata;
  if (generateName !== `${job.name}-`) return "the Pod's generateName is not its Job's";
  if (name === "" && moment === "Create") return undefined;
  const prefix = generateName.slice(0, 58);
  const right = name.startsWith(prefix) && /^[a-z0-9]{5}$/.test(name.slice(prefix.length));
  return right ? undefined : "the Pod's name was not generated from its Job's";
}

function metadataDifference(pod: Pod, { template, job, moment }: PodExpectation): string | undefined {
  const labels: Record<string, string> = { ...template.metadata?.labels };
  for (const key of JOB_CONTROLLER_LABELS) labels[key] = key.endsWith("job-name") ? job.name : job.uid;
  const annotations = { ...template.metadata?.annotations };
  const found = { ...pod.metadata.annotations };
  if (!(LIMIT_RANGER_NOTE in annotations)) delete found[LIMIT_RANGER_NOTE];
  const exact = moment === "Create";
  const wrongLabel = mapDifference(labels, pod.metadata.labels ?? {}, exact);
  if (wrongLabel !== undefined) return `the Pod's label ${wrongLabel} is not its template's`;
  const wrongAnnotation = mapDifference(annotations, found, exact);
  if (wrongAnnotation !== undefined) return `the Pod's annotation ${wrongAnnotation} is not its template's`;
  const finalizers = pod.metadata.finalizers ?? [];
  const tracked = finalizers.length === 1 && finalizers[0] === TRACKING_FINALIZER;
  if (!tracked && (exact || finalizers.length > 0)) return "the Pod has other finalizers than the Job controller's";
  return undefined;
}

function mapDifference(
  wanted: Readonly<Record<string, string>>,
  found: Readonly<Record<string, string>>,
  exact: boolean,
): string | undefined {
  const wrong = Object.keys(wanted).find((key) => found[key] !== wanted[key]);
  if (wrong !== undefined || !exact) return wrong;
  return Object.keys(found).find((key) => !(key in wanted));
}

function specDifference(spec: PodSpec, { template, snapshot, moment }: PodExpectation): string | undefined {
  const gates = spec.schedulingGates ?? [];
  const wantedGates = template.spec.schedulingGates ?? [];
  const gatesRight =
    gates.length === 0 && moment === "Later"
      ? wantedGates.every((gate) => gate.name === RECORDED_GATE)
      : canonicalJson(plain(gates as unknown as Json)) === canonicalJson(plain(wantedGates as unknown as Json));
  if (!gatesRight) return "the Pod differs from its template at spec.schedulingGates";
  const wanted = comparable(admittedSpec(template.spec, snapshot));
  const found = comparable(withTolerance(spec, template.spec, wanted));
  const at = firstDifference(wanted as unknown as Json, found as unknown as Json, "spec");
  return at === undefined ? undefined : `the Pod differs from its template at ${at}`;
}

/** A spec in comparable form: canonical quantities, tolerations as a set, no node, no gates, no legacy alias. */
function comparable(spec: PodSpec): PodSpec {
  const containers = (list: readonly Container[]): Container[] =>
    list.map((c) => ({ ...c, resources: canonicalResources(c.resources) }));
  const { nodeName: _node, schedulingGates: _gates, serviceAccount, ...rest } = spec;
  const value = {
    ...rest,
    // The legacy alias is written by some API servers only; where it is there it has to be the same account.
    serviceAccount: serviceAccount ?? spec.serviceAccountName,
    tolerations: [...(spec.tolerations ?? [])]
      .map((t) => plain(t as unknown as Json))
      .sort((a, b) => (canonicalJson(a) < canonicalJson(b) ? -1 : 1)),
    ...(spec.initContainers === undefined ? {} : { initContainers: containers(spec.initContainers) }),
    containers: containers(spec.containers),
  };
  return plain(value as unknown as Json) as unknown as PodSpec;
}

/** A request that equals the container's admitted limit is as good as the default request (reference). */
function withTolerance(found: PodSpec, template: PodSpec, wanted: PodSpec): PodSpec {
  const fix = (
    list: readonly Container[] | undefined,
    templates: readonly Container[] | undefined,
    wants: readonly Container[] | undefined,
  ): Container[] | undefined =>
    list?.map((container, index) => {
      const resources = canonicalResources(container.resources);
      const own = canonicalResources(templates?.[index]?.resources);
      const want = canonicalResources(wants?.[index]?.resources);
      const requests = { ...resources.requests };
      for (const [key, value] of Object.entries(requests)) {
        const unset = own.requests?.[key] === undefined && own.limits?.[key] === undefined;
        const wantedRequest = want.requests?.[key];
        if (unset && wantedRequest !== undefined && value === want.limits?.[key]) requests[key] = wantedRequest;
      }
      return { ...container, resources: { ...resources, ...(Object.keys(requests).length > 0 ? { requests } : {}) } };
    });
  return {
    ...found,
    ...(found.initContainers === undefined
      ? {}
      : { initContainers: fix(found.initContainers, template.initContainers, wanted.initContainers) }),
    containers: fix(found.containers, template.containers, wanted.containers) ?? [],
  };
}
