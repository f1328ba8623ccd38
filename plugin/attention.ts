/** Whether anybody looks at a resource: a manager that does not run says nothing, so its silence has to be told. */
import { annotation } from "../crds/names.ts";
import { isKubeError, kinds, type Lease } from "../kube/index.ts";
import type { Resource } from "./families.ts";
import { limits } from "./limits.ts";
import type { Session } from "./session.ts";
import { span } from "./text.ts";

/** The manager's Deployment and its leader Lease have one name; its namespace unless PTAH_OPERATOR_NAMESPACE names another. */
const MANAGER = "ptah-operator-manager";
const NAMESPACE = "ptah-system";

/** Reasons under which a requested read waits for somebody first. */
const NOT_ANSWERED = new Set(["UnsupportedEngine", "RealmConflict", "RealmNotAuthorized", "TargetIdentityChanged"]);

/** Whether a request for a read waits until somebody acts. */
export function holdsRequest(resource: Resource): boolean {
  const ready = resource.status?.conditions?.find((condition) => condition.type === "Ready");
  return resource.status?.phase === "Suspended" || NOT_ANSWERED.has(ready?.reason ?? "");
}

/** Something a running manager would have seen to, and since when (milliseconds of the epoch) it waits. */
export interface Unseen {
  readonly what: string;
  readonly sinceMs: number;
}

/**
 * What of a resource no manager has looked at yet; undefined where nothing is due.
 * @param everywhere the reader looks at several namespaces, so that a name alone says too little
 */
export function unseenOf(resource: Resource, nowMs: number, everywhere = false): Unseen | undefined {
  const { metadata, status } = resource;
  const name = everywhere ? `${metadata.namespace ?? ""}/${metadata.name}` : metadata.name;
  if (status?.observedGeneration !== metadata.generation) {
    return {
      what: `generation ${metadata.generation ?? 1} of ${name}`,
      sinceMs: changedMs(resource) ?? nowMs,
    };
  }
  if (status?.activeOperation !== undefined || status?.cycle?.next !== undefined || holdsRequest(resource))
    return undefined;
  const requested = metadata.annotations?.[annotation.readRequestedAt];
  const requestedMs = Date.parse(requested ?? "");
  if (!Number.isNaN(requestedMs) && requested !== status?.lastReadRequest) {
    return { what: `the read that was asked for of ${name}`, sinceMs: requestedMs };
  }
  const dueMs = Date.parse(status?.nextReconciliationTime ?? "");
  return dueMs < nowMs ? { what: `${name}, whose read is overdue,`, sinceMs: dueMs } : undefined;
}

/** When somebody last changed anything but the status, by the API server's clock. */
function changedMs(resource: Resource): number | undefined {
  const { managedFields, creationTimestamp } = resource.metadata as {
    readonly managedFields?: unknown;
    readonly creationTimestamp?: string | undefined;
  };
  const entries = Array.isArray(managedFields) ? managedFields : [];
  const times = [creationTimestamp, ...entries.map(timeOfEntry)].map((text) => Date.parse(text ?? ""));
  const known = times.filter((ms) => !Number.isNaN(ms));
  return known.length === 0 ? undefined : Math.max(...known);
}

function timeOfEntry(entry: unknown): string | undefined {
  const { time, subresource } = (entry ?? {}) as { readonly time?: unknown; readonly subresource?: unknown };
  return typeof time === "string" && subresource !== "status" ? time : undefined;
}

/**
 * A sentence about what waits for longer than a running manager takes, with what the leader's Lease says where the user may read
 * it; undefined where nothing waits that long.
 */
export async function nobodyLooks(session: Session, unseen: Unseen | undefined): Promise<string | undefined> {
  if (unseen === undefined) return undefined;
  const waitedMs = session.io.nowMs() - unseen.sinceMs;
  if (waitedMs < limits.unseenMs) return undefined;
  return `no manager has looked at ${unseen.what} for ${span(waitedMs)}: ${await leaderSays(session)}`;
}

async function leaderSays(session: Session): Promise<string> {
  const namespace = session.io.env["PTAH_OPERATOR_NAMESPACE"] || NAMESPACE;
  const look = `kubectl get pods -n ${namespace}`;
  try {
    const at = { namespace, name: MANAGER };
    const lease = await session.client.get(kinds.Lease, at, { timeoutMs: session.requestMs });
    const silentMs = session.io.nowMs() - Date.parse(lease.spec?.renewTime ?? "");
    if (holds(lease) && silentMs < limits.leaderSilentMs) {
      return `one runs and renews its Lease; its log says why: kubectl logs -n ${namespace} deploy/${MANAGER}.`;
    }
    const last = Number.isNaN(silentMs) ? "never renewed" : `last renewed ${span(silentMs)} ago`;
    return `none seems to run (its Lease ${namespace}/${MANAGER} was ${last}), and nothing happens until one does. Look at ${look}.`;
  } catch (error) {
    if (isKubeError(error, "NotFound")) {
      return `none seems to run (there is no Lease ${namespace}/${MANAGER}; where the operator is installed elsewhere, set PTAH_OPERATOR_NAMESPACE). Look at ${look}.`;
    }
    return `nothing happens until one does. Ask whoever runs the operator whether its Pods run: ${look}.`;
  }
}

const holds = (lease: Lease): boolean => (lease.spec?.holderIdentity ?? "") !== "";
