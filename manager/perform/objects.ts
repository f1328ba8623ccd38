import { sha256Digest } from "../../crds/canonical.ts";
import { API_VERSION } from "../../crds/common.ts";
import { label, leaseName, MANAGED_BY, RECORDED_GATE } from "../../crds/names.ts";
import { type At, isKubeError, type Kind, kinds, type RawCustom } from "../../kube/index.ts";
import type {
  ConsumeApproval,
  CreateChunk,
  CreatePlan,
  CreateProjection,
  CreateSnapshot,
  DeleteObject,
  MarkAcknowledgment,
  MarkApproval,
  MarkPlanReady,
  OpenGate,
  ScheduleTtl,
  WriteLease,
} from "../../lifecycle/move.ts";
import { type ChunkObject, familyOf, type Reads } from "../families.ts";
import { leaseObject } from "../view/objects.ts";
import { ownedBy, snapshotObject } from "../view/snapshot.ts";
import { FIELD_MANAGER, type Performed, type Performing } from "./context.ts";
import { conditionally, createdOnce } from "./outcome.ts";

const options = { fieldManager: FIELD_MANAGER } as const;

/** Creates or replaces the realm's Lease: acquire, renew and release are this one effect. */
export async function performWriteLease(p: Performing, move: WriteLease): Promise<Performed> {
  const namespace = p.coordinationNamespace;
  const name = leaseName(move.digest);
  const body = leaseObject(name, namespace, move.content, move.over);
  const { over } = move;
  if (over === undefined) return createdOnce(p, () => p.client.create(kinds.Lease, namespace, body, options));
  return conditionally(p, () => p.client.replace(kinds.Lease, { namespace, name }, body, options));
}

/** Creates the snapshot from exactly the ConfigMap version the decision saw; its files came with the look at the source. */
export async function performCreateSnapshot(p: Performing, move: CreateSnapshot): Promise<Performed> {
  const source = p.reading.view.source;
  const same =
    source?.how === "fresh" &&
    source.value.state === "resolved" &&
    source.value.contentDigest === move.contentDigest &&
    source.value.identity === move.source.identity &&
    source.value.resourceVersion === move.source.resourceVersion;
  if (!same || p.reading.files === undefined) return "again";
  const body = snapshotObject(p.resource, p.reading.files);
  return createdOnce(p, async () => {
    const stored = await p.client.create(kinds.ConfigMap, p.resource.namespace, body, options);
    p.caches.configMaps.learn(stored, p.key);
  });
}

const planKindOf = (p: Performing): Kind<RawCustom> => familyOf(p.resource).plan.raw;
const belongsTo = (p: Performing) => ({ [label.managedBy]: MANAGED_BY, [familyOf(p.resource).label]: p.resource.name });

function chunkKindOf(p: Performing): Reads<ChunkObject> {
  const { chunk, lifecycle } = familyOf(p.resource);
  if (chunk === undefined) throw new Error(`plans of ${lifecycle.kind} have no chunks`);
  return chunk;
}

const planOwner = (p: Performing, move: { readonly planName: string; readonly planUID: string }): object =>
  ownedBy({ apiVersion: API_VERSION, kind: planKindOf(p).kind, name: move.planName, uid: move.planUID });

export function performCreatePlan(p: Performing, move: CreatePlan): Promise<Performed> {
  const { namespace } = p.resource;
  const planKind = planKindOf(p);
  const body = {
    apiVersion: API_VERSION,
    kind: planKind.kind,
    metadata: {
      name: move.name,
      namespace,
      labels: belongsTo(p),
      ownerReferences: [ownedBy(p.resource)],
    },
    spec: move.spec,
  };
  return createdOnce(p, async () => {
    const stored = await p.client.create(planKind, namespace, body, options);
    p.caches.of(p.resource).plans.learn(stored, p.key);
  });
}

export function performCreateChunk(p: Performing, move: CreateChunk): Promise<Performed> {
  const { namespace } = p.resource;
  const kind = chunkKindOf(p).raw;
  const body = {
    apiVersion: API_VERSION,
    kind: kind.kind,
    metadata: {
      name: move.name,
      namespace,
      labels: { ...belongsTo(p), [label.plan]: move.planName },
      ownerReferences: [planOwner(p, move)],
    },
    spec: { data: Buffer.from(move.bytes).toString("base64") },
  };
  return createdOnce(p, () => p.client.create(kind, namespace, body, options));
}

/** Ready is True once the object and every chunk of it were read back; the chunks' UIDs stand beside it. */
export function performMarkPlanReady(p: Performing, move: MarkPlanReady): Promise<Performed> {
  const { namespace } = p.resource;
  const at = { namespace, name: move.name };
  const planKind = planKindOf(p);
  const whole = move.chunks.length === 0;
  return conditionally(p, async () => {
    const now = new Date(p.clock.wallMs()).toISOString().replace(/\.\d{3}Z$/, "Z");
    const body = statusBody(planKind, at, move, {
      observedGeneration: 1,
      ...(whole ? {} : { publishedChunks: move.chunks }),
      conditions: [
        {
          type: "Ready",
          status: "True",
          reason: "Published",
          message: whole ? "The plan was read back." : "Every chunk of the plan was read back.",
          lastTransitionTime: now,
          observedGeneration: 1,
        },
      ],
    });
    const stored = await p.client.replace(planKind, at, body, { ...options, subresource: "status" });
    p.caches.of(p.resource).plans.learn(stored, p.key);
  });
}

/** One chunk's bytes as an immutable ConfigMap, so that a Pod without Kubernetes credentials can read them. */
export function performCreateProjection(p: Performing, move: CreateProjection): Promise<Performed> {
  const { namespace } = p.resource;
  return createdOnce(p, async () => {
    const chunk = await p.client.get(chunkKindOf(p).typed, { namespace, name: move.name });
    const bytes = Buffer.from(chunk.spec.data, "base64");
    if (sha256Digest(bytes) !== move.digest)
      throw new Error(`chunk ${move.name} does not hold the bytes its plan names`);
    const body = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name: move.name,
        namespace,
        labels: { ...belongsTo(p), [label.plan]: move.planName },
        ownerReferences: [planOwner(p, move)],
      },
      immutable: true,
      binaryData: { chunk: chunk.spec.data },
    };
    p.caches.configMaps.learn(await p.client.create(kinds.ConfigMap, namespace, body, options), p.key);
  });
}

/** Writes what an approval has become, or spends it: on the version that was read, so of two old views one wins. */
export function performApproval(p: Performing, move: MarkApproval | ConsumeApproval): Promise<Performed> {
  const at = { namespace: p.resource.namespace, name: move.name };
  const approvalKind = familyOf(p.resource).approval.raw;
  return conditionally(p, async () => {
    const body = statusBody(approvalKind, at, move, move.status);
    const stored = await p.client.replace(approvalKind, at, body, { ...options, subresource: "status" });
    p.caches.of(p.resource).approvals.learn(stored, p.key);
  });
}

/** Writes what an acknowledgment has become, on the version that was read. */
export function performAcknowledgment(p: Performing, move: MarkAcknowledgment): Promise<Performed> {
  const { acknowledgment, lifecycle } = familyOf(p.resource);
  if (acknowledgment === undefined) throw new Error(`nobody acknowledges a ${lifecycle.kind}`);
  const kind = acknowledgment.raw;
  const at = { namespace: p.resource.namespace, name: move.name };
  return conditionally(p, async () => {
    const body = statusBody(kind, at, move, move.status);
    const stored = await p.client.replace(kind, at, body, { ...options, subresource: "status" });
    p.caches.of(p.resource).acknowledgments?.learn(stored, p.key);
  });
}

/** Removes our gate from exactly this Pod, while there is still time; the time is looked at as late as possible. */
export async function performOpenGate(p: Performing, move: OpenGate): Promise<Performed> {
  if (p.clock.wallMs() >= move.notAfterMs) return "again";
  const patch = {
    type: "strategic",
    body: { spec: { schedulingGates: [{ $patch: "delete", name: RECORDED_GATE }] } },
    uid: move.podUID,
    resourceVersion: move.resourceVersion,
  } as const;
  return conditionally(p, async () => {
    const at = { namespace: p.resource.namespace, name: move.podName };
    p.caches.pods.learn(await p.client.patch(kinds.Pod, at, patch, options), p.key);
  });
}

/** Sets the TTL on exactly this Job. A Job that is gone needs none. */
export function performScheduleTtl(p: Performing, move: ScheduleTtl): Promise<Performed> {
  const at = { namespace: p.resource.namespace, name: move.jobName };
  const body = { spec: { ttlSecondsAfterFinished: move.ttlSeconds } };
  return conditionally(p, async () => {
    try {
      const stored = await p.client.patch(kinds.Job, at, { type: "merge", body, uid: move.jobUID }, options);
      p.caches.jobs.learn(stored, p.key);
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
      p.caches.jobs.forget(at, p.key);
    }
  });
}

/** Deletes a superseded plan or an unused snapshot, on the UID and version that were judged. */
export function performDelete(p: Performing, move: DeleteObject): Promise<Performed> {
  const at = { namespace: p.resource.namespace, name: move.name };
  const kind = move.kind === "deletePlan" ? planKindOf(p) : kinds.ConfigMap;
  return conditionally(p, async () => {
    await p.client.delete(kind, at, { uid: move.uid, resourceVersion: move.resourceVersion });
    if (move.kind === "deletePlan") p.caches.of(p.resource).plans.forget(at, p.key);
    else p.caches.configMaps.forget(at, p.key);
  });
}

interface On {
  readonly uid: string;
  readonly resourceVersion: string;
}

function statusBody(kind: Kind<RawCustom>, at: At, on: On, status: unknown): Partial<RawCustom> & object {
  return {
    apiVersion: API_VERSION,
    kind: kind.kind,
    metadata: { ...at, uid: on.uid, resourceVersion: on.resourceVersion },
    status,
  };
}
