/** The next command of a reason, as it can be pasted. */
import { explainReason } from "../crds/reasons.ts";

/** @returns the sentence of the table of reasons with the resource's own name and namespace; undefined for another reason */
export function nextOf(reason: string, at: { readonly name: string; readonly namespace?: string }): string | undefined {
  const where = at.namespace === undefined ? at.name : `${at.name} -n ${at.namespace}`;
  return explainReason(reason).reason?.next.replaceAll("NAME", where);
}
