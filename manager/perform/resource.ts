import { apiVersionOf, isKubeError, kinds, type RawCustom } from "../../kube/index.ts";
import type { Status } from "../../lifecycle/families/types.ts";
import type { ClaimMove, Dispatch, PatchMetadata, PatchStatus } from "../../lifecycle/move.ts";
import type { CreateFailed } from "../../lifecycle/view.ts";
import { buildJob } from "../../workload/job.ts";
import { familyOf } from "../families.ts";
import { FIELD_MANAGER, type Performed, type Performing } from "./context.ts";
import { conditionally } from "./outcome.ts";

interface On {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** Replaces the status on exactly this version of this resource, and keeps what was stored. */
async function putStatus(p: Performing, on: On, status: Status): Promise<RawCustom> {
  const { namespace, name } = p.resource;
  const kind = familyOf(p.resource).resource.raw;
  const body = {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { namespace, name, uid: on.uid, resourceVersion: on.resourceVersion },
    status,
  };
  const stored = await p.client.replace(kind, { namespace, name }, body, {
    subresource: "status",
    fieldManager: FIELD_MANAGER,
  });
  p.caches.of(p.resource).resources.learn(stored, p.key);
  return stored;
}

/** Changes our finalizer and annotations on exactly this version, and keeps what was stored. */
async function patchMetadata(
  p: Performing,
  on: On,
  change: Pick<PatchMetadata, "finalizer" | "annotations">,
): Promise<RawCustom> {
  const { namespace, name } = p.resource;
  const { lifecycle, resource } = familyOf(p.resource);
  const { resources } = p.caches.of(p.resource);
  const others = p.reading.finalizers.filter((finalizer) => finalizer !== lifecycle.finalizer);
  const metadata = {
    ...(change.finalizer === undefined
      ? {}
      : { finalizers: change.finalizer === "add" ? [...others, lifecycle.finalizer] : others }),
    ...(change.annotations === undefined ? {} : { annotations: change.annotations }),
  };
  const patch = { type: "merge", body: { metadata }, uid: on.uid, resourceVersion: on.resourceVersion } as const;
  const stored = await p.client.patch(resource.raw, { namespace, name }, patch, { fieldManager: FIELD_MANAGER });
  // Removing the last finalizer of a deleted resource ends it: what is answered is then the last that was stored.
  if (stored.metadata.deletionTimestamp !== undefined && (stored.metadata.finalizers ?? []).length === 0) {
    resources.forget({ namespace, name }, p.key);
  } else {
    resources.learn(stored, p.key);
  }
  return stored;
}

export function performPatchStatus(p: Performing, move: PatchStatus): Promise<Performed> {
  return conditionally(p, () => putStatus(p, move, move.status));
}

export function performPatchMetadata(p: Performing, move: PatchMetadata): Promise<Performed> {
  return conditionally(p, () => patchMetadata(p, move, move));
}

/** Finalizer, then claim on the version that patch returned; a stop between leaves a bare finalizer. */
export function performClaim(p: Performing, move: ClaimMove): Promise<Performed> {
  return conditionally(p, async () => {
    if (!move.finalizer) return putStatus(p, move, move.status);
    const { metadata } = await patchMetadata(p, move, { finalizer: "add" });
    return putStatus(p, { uid: move.uid, resourceVersion: metadata.resourceVersion }, move.status);
  });
}

/**
 * `dispatchStarted`, then the one create. The create is sent only after the API server said that the status is stored, on a
 * connection of its own and never twice; any answer but success is remembered, and the next decision judges it.
 */
export async function performDispatch(p: Performing, move: Dispatch): Promise<Performed> {
  const marked = await conditionally(p, () => putStatus(p, move, move.status));
  if (marked === "again") return marked;
  const { namespace } = p.resource;
  try {
    const job = await p.client.create(kinds.Job, namespace, buildJob(move.job), {
      fieldManager: FIELD_MANAGER,
      ownConnection: true,
    });
    p.caches.jobs.learn(job, p.key);
  } catch (error) {
    const failed = createFailed(move.job.jobName, error);
    p.memories.createFailed(p.resource.uid, failed);
    const { code } = failed;
    p.log.warn({ resource: p.key, job: move.job.jobName, code }, "the create of a Job was not answered with success");
  }
  return "done";
}

const SENTENCE_MAX = 400;

/**
 * What is kept of a create that was not answered with success. A Job holds neither SQL nor a secret, so what the API server
 * says of it may be shown; what could deceive a terminal may not.
 */
function createFailed(jobName: string, error: unknown): CreateFailed {
  if (!isKubeError(error)) return { jobName, code: "Unknown" };
  const line = error.message.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  const sentence = [...line]
    .slice(0, SENTENCE_MAX)
    .join("")
    .replace(/[.\s]+$/, "");
  return { jobName, code: error.code, ...(sentence === "" ? {} : { sentence }) };
}
