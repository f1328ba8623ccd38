import { isKubeError } from "../../kube/index.ts";
import { errorFields } from "../log.ts";
import type { Performed, Performing } from "./context.ts";

/**
 * Judges a write under a precondition. A conflict, or an object that is no more, means that nothing happened; an answer that
 * may hide a commit is read back. Anything else is thrown: it did nothing, and the pass is tried again later.
 */
export async function conditionally(p: Pick<Performing, "log">, write: () => Promise<unknown>): Promise<Performed> {
  try {
    await write();
    return "done";
  } catch (error) {
    if (!isKubeError(error, "Conflict", "NotFound") && !mayBeStored(error)) throw error;
    p.log.debug(errorFields(error), "a write met another state than the one it was decided from");
    return "again";
  }
}

/** Judges a create-only write: an object that is there already is as good as created; the next decision reads it. */
export async function createdOnce(p: Pick<Performing, "log">, create: () => Promise<unknown>): Promise<Performed> {
  try {
    await create();
    return "done";
  } catch (error) {
    if (!isKubeError(error, "AlreadyExists") && !mayBeStored(error)) throw error;
    p.log.debug(errorFields(error), "a create met an object that is there already, or may be");
    return "again";
  }
}

function mayBeStored(error: unknown): boolean {
  return isKubeError(error) && error.committed === "maybe";
}
