/** Whether a schema's status is about the files that its ConfigMap holds now: an edit of a ConfigMap moves no generation. */
import { contentDigest, sourceManifest } from "../crds/fingerprints.ts";
import type { PtahSchema } from "../crds/ptahschema.ts";
import { declaredSource } from "../crds/source.ts";
import { selectFiles } from "../crds/sourcefiles.ts";
import { type Custom, isKubeError, kinds } from "../kube/index.ts";
import type { Session } from "./session.ts";

/**
 * @returns false where the ConfigMap holds other files than the operator has resolved; true where that cannot be told (no such
 * right, no such object, another kind of source), because the operator itself then says what is wrong
 */
export async function isResolved(session: Session, schema: Custom<PtahSchema>): Promise<boolean> {
  const source = declaredSource(schema.spec.desired);
  const resolved = schema.status?.source;
  if (source?.kind !== "ConfigMap" || resolved === undefined) return true;
  const at = { namespace: session.namespace, name: source.configMap.name };
  try {
    const object = await session.client.get(kinds.ConfigMap, at, { timeoutMs: session.requestMs });
    const files = selectFiles(object, source.configMap);
    return typeof files === "string" || contentDigest(sourceManifest(files)) === resolved.contentDigest;
  } catch (error) {
    if (isKubeError(error, "Forbidden", "NotFound")) return true;
    throw error;
  }
}
