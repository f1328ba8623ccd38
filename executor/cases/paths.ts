import { dirname, join } from "node:path";

/** The repository. */
export const ROOT = dirname(dirname(import.meta.dirname));
/** Where servers and what they begin on are kept. */
export const CACHE = join(ROOT, ".cache");
/** The executable that is built from this tree. */
export const BUILT = join(ROOT, "build", "ptah");
