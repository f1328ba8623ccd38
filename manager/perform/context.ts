import type { KubeClient } from "../../kube/index.ts";
import type { ResourceFacts } from "../../lifecycle/view.ts";
import type { Caches } from "../caches.ts";
import type { Log } from "../log.ts";
import type { Memories } from "../memory.ts";
import type { Clock } from "../ports.ts";
import type { Reading } from "../view/reader.ts";

export interface PerformDeps {
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly memories: Memories;
  readonly clock: Clock;
  readonly log: Log;
  readonly coordinationNamespace: string;
}

/** What a move is performed with: the world, and the view the move was decided from. */
export interface Performing extends PerformDeps {
  readonly reading: Reading;
  readonly resource: ResourceFacts;
  /** The resource's key; what its pass brings into the caches is told under it. */
  readonly key: string;
}

/**
 * What performing a move came to. `done`: the effect is stored. `again`: nothing was done, or nobody can say; the next
 * decision begins with an uncached read of the resource. A failure that did nothing and may pass by itself is thrown (KubeError).
 */
export type Performed = "done" | "again";

/** Field manager of our writes, as `kubectl get --show-managed-fields` names it. */
export const FIELD_MANAGER = "ptah-operator";
