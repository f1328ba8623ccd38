/** Whether a status is about the files that its ConfigMap holds now: an edit of a ConfigMap moves no generation. */
import { contentDigest, sourceManifest } from "../crds/fingerprints.ts";
import { selectFiles } from "../crds/sourcefiles.ts";
import { isKubeError, kinds } from "../kube/index.ts";
import type { SourceView } from "./families.ts";
import type { Session } from "./session.ts";

/**
 * @returns false where the ConfigMap holds other files than the operator has resolved; true where that cannot be told (no such
 * right, no such object, another kind of source), because the operator itself then says what is wrong
 */
export async function isResolved(session: Session, source: SourceView): Promise<boolean> {
  const { declared, contentDigest: resolved } = source;
  if (declared?.kind !== "ConfigMap" || resolved === undefined) return true;
  const at = { namespace: session.namespace, name: declared.configMap.name };
  try {
    const object = await session.client.get(kinds.ConfigMap, at, { timeoutMs: session.requestMs });
    const files = selectFiles(object, declared.configMap);
    return typeof files === "string" || contentDigest(sourceManifest(files)) === resolved;
  } catch (error) {
    if (isKubeError(error, "Forbidden", "NotFound")) return true;
    throw error;
  }
}
