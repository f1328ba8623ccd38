import { type StoredObject, storedContractVersions } from "../../crds/contract.ts";

/**
 * Whether an object, or the mirror it carries, was written under a newer contract than this build knows; such a state is
 * refused, never interpreted (lifecycle, rule 1).
 * @returns a sentence, or undefined
 */
export function writtenByNewer(object: StoredObject | undefined, known: number): string | undefined {
  const found = object === undefined ? 0 : Math.max(...storedContractVersions(object));
  if (found <= known) return undefined;
  return `this object was written under contract version ${found}, and this operator knows ${known}; upgrade the operator`;
}
