import { sha256Digest } from "../../crds/canonical.ts";
import { annotation, COORDINATION_TARGET, label, MANAGED_BY } from "../../crds/names.ts";
import type { Lease, ObjectMeta } from "../../kube/index.ts";
import type { LeaseContent } from "../../lifecycle/move.ts";
import type {
  AcknowledgmentFacts,
  ApprovalFacts,
  ChunkFacts,
  LeaseFacts,
  LeaseOwner,
  OwnedPlanFacts,
  PlanObjectFacts,
  ResourceFacts,
} from "../../lifecycle/view.ts";
import type {
  AcknowledgmentObject,
  ApprovalObject,
  ChunkObject,
  Family,
  PlanObject,
  ResourceObject,
} from "../families.ts";
import { marksOf } from "./marks.ts";

/** The one controller owner's UID; empty where there is none or several. */
export function controllerOf(metadata: ObjectMeta): string {
  const owners = (metadata.ownerReferences ?? []).filter((owner) => owner.controller === true);
  return owners.length === 1 ? (owners[0]?.uid ?? "") : "";
}

/** Milliseconds since the epoch; 0 for what is no instant. */
export function instantMs(text: string | null | undefined): number {
  const ms = Date.parse(text ?? "");
  return Number.isFinite(ms) ? ms : 0;
}

export function resourceFacts(family: Family, object: ResourceObject, stateVersion: number): ResourceFacts {
  const { metadata } = object;
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    ...identityOf(metadata),
    namespace: metadata.namespace ?? "",
    finalizer: (metadata.finalizers ?? []).includes(family.lifecycle.finalizer),
    marks: marksOf(metadata.annotations, stateVersion),
    spec: object.spec,
    status: object.status ?? {},
  };
}

export function ownedPlanFacts(plan: PlanObject): OwnedPlanFacts {
  const { metadata, spec } = plan;
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    serial: spec.serial,
    fingerprint: spec.fingerprint,
    contentDigest: spec.contentDigest,
    executionBindingID: spec.executionBindingID,
    controllerStateVersion: spec.controllerStateVersion,
    deleting: metadata.deletionTimestamp !== undefined,
  };
}

export function planObjectFacts(plan: PlanObject, resourceUID: string): PlanObjectFacts {
  const { metadata } = plan;
  return {
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    deleting: metadata.deletionTimestamp !== undefined,
    ownedByUs: controllerOf(metadata) === resourceUID,
    spec: plan.spec,
    ready: (plan.status?.conditions ?? []).some((c) => c.type === "Ready" && c.status === "True"),
    createdAt: metadata.creationTimestamp ?? "",
  };
}

export function chunkFacts(chunk: ChunkObject, index: number): ChunkFacts {
  const bytes = Buffer.from(chunk.spec.data, "base64");
  return {
    index,
    name: chunk.metadata.name,
    uid: chunk.metadata.uid,
    digest: sha256Digest(bytes),
    sizeBytes: bytes.byteLength,
    ownerUID: controllerOf(chunk.metadata),
    deleting: chunk.metadata.deletionTimestamp !== undefined,
  };
}

/** What every object that people write is told apart by. */
const identityOf = (metadata: ObjectMeta) => ({
  name: metadata.name,
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
  generation: metadata.generation ?? 0,
  deleting: metadata.deletionTimestamp !== undefined,
});

/** Admission wrote who spoke, when, and in which request; without all of it a word counts for nothing. */
const stampedBy = (by: { readonly username: string }, at: string, mutationRequestUID: string): boolean =>
  by.username !== "" && instantMs(at) > 0 && mutationRequestUID !== "";

export function approvalFacts({ metadata, spec, about, status }: ApprovalObject): ApprovalFacts {
  return {
    ...identityOf(metadata),
    resourceName: about.name,
    resourceUID: about.uid,
    planName: spec.planRef.name,
    planUID: spec.planRef.uid,
    planFingerprint: spec.planFingerprint,
    approver: spec.approver,
    approvedAt: spec.approvedAt,
    stamped: stampedBy(spec.approver, spec.approvedAt, spec.mutationRequestUID),
    status: status ?? {},
  };
}

export function acknowledgmentFacts({ metadata, spec, about, status }: AcknowledgmentObject): AcknowledgmentFacts {
  return {
    ...identityOf(metadata),
    resourceName: about.name,
    resourceUID: about.uid,
    operationID: spec.operationID,
    by: spec.acknowledgedBy,
    acknowledgedAt: spec.acknowledgedAt,
    stamped: stampedBy(spec.acknowledgedBy, spec.acknowledgedAt, spec.mutationRequestUID),
    status: status ?? {},
  };
}

export function leaseFacts(digest: string, lease: Lease | undefined): LeaseFacts {
  if (lease === undefined) return { digest, lease: null };
  const owner = leaseOwner(lease.metadata.annotations ?? {});
  return {
    digest,
    lease: {
      uid: lease.metadata.uid,
      resourceVersion: lease.metadata.resourceVersion,
      holder: lease.spec?.holderIdentity ?? "",
      epoch: lease.metadata.annotations?.[annotation.leaseEpoch] ?? "",
      durationSeconds: lease.spec?.leaseDurationSeconds ?? 0,
      acquiredAtMs: instantMs(lease.spec?.acquireTime),
      renewedAtMs: instantMs(lease.spec?.renewTime),
      transitions: lease.spec?.leaseTransitions ?? 0,
      ...(owner === undefined ? {} : { owner }),
    },
  };
}

function leaseOwner(annotations: Readonly<Record<string, string>>): LeaseOwner | undefined {
  const kind = annotations[annotation.leaseHolderKind];
  const uid = annotations[annotation.leaseHolderUid];
  if (kind === undefined || uid === undefined || kind === "") return undefined;
  const executionNotAfter = annotations[annotation.leaseHolderExecutionNotAfter];
  return {
    kind,
    namespace: annotations[annotation.leaseHolderNamespace] ?? "",
    name: annotations[annotation.leaseHolderName] ?? "",
    uid,
    jobName: annotations[annotation.leaseHolderJob] ?? "",
    ...(executionNotAfter === undefined || executionNotAfter === "" ? {} : { executionNotAfter }),
  };
}

/** A Lease's MicroTime. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}

/** Lease times have microseconds, the clock milliseconds: what is written is read back as the same number. */
export function leaseObject(
  name: string,
  namespace: string,
  content: LeaseContent,
  over: { readonly uid: string; readonly resourceVersion: string } | undefined,
): object {
  const { owner } = content;
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: {
      name,
      namespace,
      ...over,
      labels: { [label.managedBy]: MANAGED_BY, [label.coordination]: COORDINATION_TARGET },
      annotations: {
        [annotation.leaseEpoch]: content.epoch,
        ...(owner === undefined
          ? {}
          : {
              [annotation.leaseHolderKind]: owner.kind,
              [annotation.leaseHolderNamespace]: owner.namespace,
              [annotation.leaseHolderName]: owner.name,
              [annotation.leaseHolderUid]: owner.uid,
              [annotation.leaseHolderJob]: owner.jobName,
              ...(owner.executionNotAfter === undefined
                ? {}
                : { [annotation.leaseHolderExecutionNotAfter]: owner.executionNotAfter }),
            }),
      },
    },
    spec: {
      // The API server refuses an empty holder; a released Lease has none.
      ...(content.holder === "" ? {} : { holderIdentity: content.holder }),
      leaseDurationSeconds: content.durationSeconds,
      acquireTime: microTime(content.acquiredAtMs),
      renewTime: microTime(content.renewedAtMs),
      leaseTransitions: content.transitions,
    },
  };
}
