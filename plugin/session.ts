/** One invocation: the cluster as the user's own credentials see it, and the flags every command shares. */
import { bareCommandFor } from "../crds/commands.ts";
import { parseDurationMs } from "../crds/duration.ts";
import { connect, isKubeError, type KubeClient, kinds, orAbsent } from "../kube/index.ts";
import { failed, nothingStored, usage } from "./failure.ts";
import { FAMILIES, type Family, type Resource, type Target } from "./families.ts";
import type { Io } from "./io.ts";
import { limits } from "./limits.ts";
import { isNamespace, NAMESPACE_RULE } from "./names.ts";
import { type Colors, colorsOf } from "./text.ts";
import { pluginVersion } from "./version.ts";

export interface SharedFlags {
  readonly namespace?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  /** Whom to act as, where the API server lets the user. */
  readonly as?: string;
  readonly asGroup?: string;
  /** Bounds one call to the API server, as a Go duration. */
  readonly timeout?: string;
}

export interface Session {
  readonly io: Io;
  readonly client: KubeClient;
  readonly namespace: string;
  readonly requestMs: number;
  readonly colors: Colors;
}

/** A positive duration given as a flag. @throws Failure (usage) */
export function durationFlag(flag: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const ms = parseDurationMs(text);
  if (ms === undefined || ms <= 0) throw usage(`${flag} needs a duration such as 30s or 5m`);
  if (ms > limits.flagMsMax) throw usage(`${flag} must not be longer than ${limits.flagMsMax / 3_600_000}h`);
  return ms;
}

/** Connects as kubectl would. @throws Failure, KubeError */
export async function openSession(io: Io, flags: SharedFlags): Promise<Session> {
  if (flags.namespace !== undefined && !isNamespace(flags.namespace)) throw usage(`--namespace: ${NAMESPACE_RULE}`);
  const operators = io.env["PTAH_OPERATOR_NAMESPACE"] || undefined;
  if (operators !== undefined && !isNamespace(operators)) throw usage(`PTAH_OPERATOR_NAMESPACE: ${NAMESPACE_RULE}`);
  const requestMs = durationFlag("--timeout", flags.timeout, limits.requestMs);
  const { client, connection } = await connect(flags, io.env, `kubectl-ptah/${pluginVersion()}`);
  const namespace = flags.namespace ?? connection.namespace;
  if (!isNamespace(namespace)) throw failed(`the namespace of the kubeconfig's context: ${NAMESPACE_RULE}`);
  return { io, client, namespace, requestMs, colors: colorsOf(io) };
}

/** Reads a resource, uncached. @throws Failure (nothing stored) when there is none */
export async function readResource<T extends Resource>(session: Session, { family, name }: Target<T>): Promise<T> {
  const at = { namespace: session.namespace, name };
  const found = await orAbsent(session.client.get(family.typed, at, { timeoutMs: session.requestMs }));
  if (found === undefined) throw nothingStored(await noSuch(session, family, name));
  return found;
}

/** Says that there is no such resource, and where the name stands of another kind. */
async function noSuch(session: Session, family: Family, name: string): Promise<string> {
  const at = { namespace: session.namespace, name };
  const options = { timeoutMs: session.requestMs };
  for (const other of FAMILIES) {
    if (other.kind === family.kind) continue;
    // A hint only: whatever keeps it from being read, the name is not there as it was asked for.
    const found = await session.client.get(other.raw, at, options).catch(() => undefined);
    if (found !== undefined) {
      return `there is no ${family.kind} ${name} in namespace ${session.namespace}, but a ${other.kind}: ${bareCommandFor(other.words[0], found.metadata)}`;
    }
  }
  return noneHere(session, `${family.kind} ${name}`);
}

/** Says that the namespace holds no such thing, or that there is no such namespace, where the user may know that. */
export async function noneHere({ client, namespace, requestMs }: Session, what: string): Promise<string> {
  const missing = await client.get(kinds.Namespace, { name: namespace }, { timeoutMs: requestMs }).then(
    () => false,
    (error: unknown) => isKubeError(error, "NotFound"),
  );
  return missing
    ? `there is no ${what}: namespace ${namespace} does not exist`
    : `there is no ${what} in namespace ${namespace}`;
}
