import { CONTROLLER_STATE_VERSION } from "../lifecycle/limits.ts";

/** What an operator administrator configures; the same for every replica. */
export interface WebhookConfig {
  /** User name of the manager's ServiceAccount. */
  readonly manager: string;
  /** User names the Job controller may act under. */
  readonly jobControllers: readonly string[];
  /** User names the garbage collector may act under. */
  readonly garbageCollectors: readonly string[];
  /** Groups whose members may enter `apply: Always`. */
  readonly alwaysGroups: readonly string[];
  /** Whether who last wrote the spec may not approve its plans. */
  readonly requireDistinctApprover: boolean;
  /** Version of the stored-state contract this build reads. */
  readonly stateVersion: number;
}

export const DEFAULTS = {
  jobControllers: ["system:serviceaccount:kube-system:job-controller", "system:kube-controller-manager"],
  garbageCollectors: [
    "system:serviceaccount:kube-system:generic-garbage-collector",
    "system:serviceaccount:kube-system:namespace-controller",
    "system:kube-controller-manager",
  ],
  alwaysGroups: ["system:masters"],
  stateVersion: CONTROLLER_STATE_VERSION,
} as const;
