/** What the caches keep of each object, as decisions need it: no plan bytes, no file of a source, no template, no Secret. */
import { engineSupported } from "../crds/engine.ts";
import { coordinationDigest } from "../crds/fingerprints.ts";
import { label } from "../crds/names.ts";
import { declaredSource } from "../crds/source.ts";
import { type ConfigMap, type Job, keyOf, type MetadataOnly, type Pod, type RawCustom } from "../kube/index.ts";
import type {
  AcknowledgmentFacts,
  ApprovalFacts,
  ClaimantFacts,
  JobFacts,
  OwnedPlanFacts,
  PodFacts,
  ResourceFacts,
} from "../lifecycle/view.ts";
import { newerStateVersions } from "./contract.ts";
import { FAMILIES, type Family, familyOf, type PlanObject, resourceKey } from "./families.ts";
import { controllerOf, instantMs, ownedPlanFacts, resourceFacts } from "./view/objects.ts";
import { jobFacts, podFacts } from "./view/workloads.ts";

/** A resource as a cache holds it. One this version cannot read is kept as such, so that it is counted and never acted on. */
export type ResourceEntry = {
  readonly key: string;
  readonly uid: string;
  readonly newerVersions: readonly number[];
} & (
  | {
      readonly state: "read";
      readonly facts: ResourceFacts;
      readonly finalizers: readonly string[];
      /** Undefined where the engine is unknown or no realm is named. */
      readonly coordinationDigest: string | undefined;
      /** Keys of the ConfigMaps that its source names. */
      readonly configMaps: readonly string[];
    }
  | { readonly state: "unreadable"; readonly message: string }
);

export interface PlanEntry {
  readonly namespace: string;
  readonly ownerUID: string;
  readonly sizeBytes: number;
  readonly facts: OwnedPlanFacts;
  readonly newerVersions: readonly number[];
}

/** A person's word about a resource: an approval, or an acknowledgment. */
export interface WordEntry<F extends ApprovalFacts | AcknowledgmentFacts> {
  readonly namespace: string;
  readonly facts: F;
}

export interface ConfigMapEntry {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** UID of the resource whose snapshot it is; empty for any other ConfigMap. */
  readonly snapshotOf: string;
  readonly createdAtMs: number;
  readonly deleting: boolean;
}

/** A Job or a Pod of an operation: what decisions see of it, and whom it belongs to. Templates and specs are not kept. */
export interface JobEntry {
  readonly namespace: string;
  readonly ownerUID: string;
  readonly facts: JobFacts;
}

export interface PodEntry {
  readonly namespace: string;
  /** Key of the resource that its labels name; empty where they name none. */
  readonly resourceKey: string;
  /** Names of the Jobs that own it. */
  readonly jobNames: readonly string[];
  /** Never `accepted`: that is judged on a Pod that was read for the purpose. */
  readonly facts: PodFacts;
}

export function resourceEntry(family: Family, object: RawCustom, stateVersion: number): ResourceEntry {
  const base = {
    key: resourceKey(family.lifecycle.kind, object.metadata),
    uid: object.metadata.uid,
    newerVersions: newerStateVersions(object),
  };
  const parsed = family.resource.read(object);
  if (!parsed.ok) return { ...base, state: "unreadable", message: parsed.message };
  const facts = resourceFacts(family, parsed.value, stateVersion);
  const source = declaredSource(family.lifecycle.declared(facts.spec).source);
  const named = source?.kind === "ConfigMap" ? [source.configMap.name, source.sourcePolicyFrom?.name] : [];
  return {
    ...base,
    state: "read",
    facts,
    finalizers: object.metadata.finalizers ?? [],
    coordinationDigest: coordinationDigest(facts.namespace, facts.spec.target),
    configMaps: named.flatMap((name) => (name === undefined ? [] : [keyOf({ namespace: facts.namespace, name })])),
  };
}

/** A resource as a claimant of its realm. */
export function claimantFacts(facts: ResourceFacts): ClaimantFacts {
  const { name: family, lifecycle } = familyOf(facts);
  return {
    family,
    namespace: facts.namespace,
    name: facts.name,
    uid: facts.uid,
    sharedRealm: facts.spec.target.sharedRealm === true,
    suspended: facts.spec.suspend,
    deleting: facts.deleting,
    engineSupported: engineSupported(facts.spec.target.engine, family),
    owes: facts.status.activeOperation !== undefined || lifecycle.record(facts.status) !== undefined,
  };
}

export function realmOf(entry: ResourceEntry | undefined): string {
  return (entry?.state === "read" ? entry.coordinationDigest : undefined) ?? "";
}

/** Whether others of the realm have to look at it again; a Lease is free when it is no longer owed back, and not when its run has ended. */
export function claimChanged(before: ResourceEntry | undefined, after: ResourceEntry | undefined): boolean {
  const said = (entry: ResourceEntry | undefined): string =>
    entry?.state === "read"
      ? JSON.stringify([realmOf(entry), claimantFacts(entry.facts), entry.facts.status.pendingLockRelease?.leaseEpoch])
      : "";
  return said(before) !== said(after);
}

export function planEntry(family: Family, plan: PlanObject, newerVersions: readonly number[]): PlanEntry {
  return {
    namespace: plan.metadata.namespace ?? "",
    ownerUID: controllerOf(plan.metadata),
    sizeBytes: family.lifecycle.chunksOf(plan.spec).reduce((sum, chunk) => sum + chunk.size, 0),
    facts: ownedPlanFacts(plan),
    newerVersions,
  };
}

export function jobEntry(job: Job): JobEntry {
  return { namespace: job.metadata.namespace ?? "", ownerUID: controllerOf(job.metadata), facts: jobFacts(job) };
}

export function podEntry(pod: Pod): PodEntry {
  const { labels = {}, namespace = "" } = pod.metadata;
  const owners = (pod.metadata.ownerReferences ?? []).filter((owner) => owner.kind === "Job");
  const family = FAMILIES.find((one) => labels[one.label] !== undefined);
  return {
    namespace,
    resourceKey:
      family === undefined ? "" : resourceKey(family.lifecycle.kind, { namespace, name: labels[family.label] ?? "" }),
    jobNames: owners.map((owner) => owner.name),
    facts: podFacts(pod, undefined, undefined),
  };
}

export function configMapEntry(object: MetadataOnly | ConfigMap): ConfigMapEntry {
  const { metadata } = object;
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    snapshotOf: metadata.labels?.[label.sourceSnapshot] === undefined ? "" : controllerOf(metadata),
    createdAtMs: instantMs(metadata.creationTimestamp),
    deleting: metadata.deletionTimestamp !== undefined,
  };
}
