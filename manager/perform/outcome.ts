import { isKubeError } from "../../kube/index.ts";
import type { Performed } from "./context.ts";

/**
 * Judges a write under a precondition. A conflict, or an object that is no more, means that nothing happened; an answer that
 * may hide a commit is read back. Anything else is thrown: it did nothing, and the pass is tried again later.
 */
export async function conditionally(write: () => Promise<unknown>): Promise<Performed> {
  try {
    await write();
    return "done";
  } catch (error) {
    if (isKubeError(error, "Conflict", "NotFound") || (isKubeError(error) && error.committed === "maybe"))
      return "again";
    throw error;
  }
}

/** Judges a create-only write: an object that is there already is as good as created; the next decision reads it. */
export async function createdOnce(create: () => Promise<unknown>): Promise<Performed> {
  try {
    await create();
    return "done";
  } catch (error) {
    if (isKubeError(error, "AlreadyExists") || (isKubeError(error) && error.committed === "maybe")) return "again";
    throw error;
  }
}
