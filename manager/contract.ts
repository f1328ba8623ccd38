import { storedContractVersions } from "../crds/contract.ts";
import type { RawCustom } from "../kube/index.ts";
import { CONTROLLER_STATE_VERSION } from "../lifecycle/limits.ts";

/**
 * The version of the stored-state contract that this manager writes and reads. A state written under a newer one is refused,
 * never interpreted (lifecycle, rule 1).
 */
export const STATE_VERSION = CONTROLLER_STATE_VERSION;

/** The newer state versions an object says it was written under. */
export function newerStateVersions(object: RawCustom): readonly number[] {
  return storedContractVersions(object).filter((stored) => stored > STATE_VERSION);
}
