import type { Progress } from "../e2e/cluster/progress.ts";
import type { Lab } from "../e2e/lab/lab.ts";
import type { KubeClient } from "../kube/index.ts";
import type { Figure } from "./figure.ts";

/** What a figure may stand on; what it asks for is made once and shared. */
export interface Bench {
  readonly progress: Progress;
  /** The built executable, as it is shipped. */
  readonly ptah: string;
  /** The whole cluster with the operator installed. */
  lab(): Promise<{ readonly lab: Lab; readonly client: KubeClient }>;
}

/** A file of this room measures one figure, or those that one set-up gives. */
export type Measure = (bench: Bench) => Promise<readonly Figure[]>;
