/** Front door of the Kubernetes client: connect, read, write, watch. */
import { KubeClient } from "./client.ts";
import { type Connection, type ConnectionFlags, connectionFrom } from "./config.ts";
import { bunFetch } from "./fetch.bun.ts";
import { realPorts } from "./ports.ts";
import { type Ports, transportTo } from "./transport.ts";

export {
  type DeleteOptions,
  KubeClient,
  type List,
  type ListOptions,
  type LogOptions,
  type MetadataOnly,
  metadataOf,
  type Patch,
  type Selection,
  type WriteOptions,
} from "./client.ts";
export { type Connection, type ConnectionFlags, connectionFrom, inCluster } from "./config.ts";
export { type Custom, type CustomKindAccess, custom, type RawCustom } from "./custom.ts";
export { type Committed, isKubeError, KubeError, type KubeErrorCode, orAbsent } from "./errors.ts";
export { type At, apiVersionOf, type Kind, kindOf, kinds, pathOf } from "./kinds.ts";
export type * from "./objects.ts";
export { StoredShape } from "./objects.ts";
export { realPorts } from "./ports.ts";
export { type Change, keyOf, Store, type StoreOptions } from "./store.ts";
export { type Ports, transportTo } from "./transport.ts";
export { Backoff, type Follower, follow, type WatchEvent, watchOnce } from "./watch.ts";

export interface Connected {
  readonly client: KubeClient;
  readonly connection: Connection;
}

/**
 * A client for the cluster that the flags, KUBECONFIG, ~/.kube/config or the Pod name, in kubectl's order.
 * Errors: KubeError `Configuration` with a sentence for the person who started the program.
 */
export async function connect(
  flags: ConnectionFlags,
  env: Readonly<Record<string, string | undefined>>,
  userAgent: string,
  ports: Ports = realPorts(),
): Promise<Connected> {
  const connection = await connectionFrom(flags, env);
  return { connection, client: new KubeClient(transportTo(connection, bunFetch, userAgent, ports)) };
}
