import { sha256Digest } from "../crds/canonical.ts";
import { contentDigest, type SourceFile, sourceManifest } from "../crds/fingerprints.ts";
import { declaredSource, type SourceSpec } from "../crds/source.ts";
import type { SourceBinding } from "../crds/status/binding.ts";
import type { ConfigMap } from "../kube/index.ts";
import { limits } from "./limits.ts";
import type { Reads } from "./reads.ts";

/**
 * Whether a plan's source is still what the resource declares, read now. Only ConfigMap sources can change without a new
 * reading; the others are bound by digest.
 * @returns what moved and what to do, or undefined
 */
export async function sourceMoved(
  reads: Reads,
  namespace: string,
  spec: SourceSpec,
  bound: SourceBinding,
): Promise<string | undefined> {
  const source = declaredSource(spec);
  if (source === undefined || source.kind !== bound.kind) {
    return "the schema now declares another kind of source than its plan was computed from; wait for the new plan";
  }
  if (source.kind !== "ConfigMap") return undefined;
  const { configMap, sourcePolicyFrom } = source;
  const [files, policy] = await Promise.all([
    reads.configMap(namespace, configMap.name),
    sourcePolicyFrom === undefined ? undefined : reads.configMap(namespace, sourcePolicyFrom.name),
  ]);
  if (files === undefined || files.metadata.uid !== bound.identity) {
    return `ConfigMap "${configMap.name}" is not the one the plan was computed from; wait for the new plan`;
  }
  if (digestOf(files, configMap) !== bound.contentDigest) {
    return `ConfigMap "${configMap.name}" holds other files than the plan was computed from; wait for the new plan`;
  }
  return policyMoved(sourcePolicyFrom?.key, policy, bound);
}

function policyMoved(key: string | undefined, policy: ConfigMap | undefined, bound: SourceBinding): string | undefined {
  const text = key === undefined ? undefined : policy?.data?.[key];
  const digest = text === undefined ? undefined : sha256Digest(text);
  const uid = key === undefined ? undefined : policy?.metadata.uid;
  if (uid === bound.policyUID && digest === bound.policyDigest) return undefined;
  return "the source policy is not the one the plan was computed under; wait for the new plan";
}

interface Selection {
  readonly keys?: readonly string[];
  readonly items?: readonly { readonly key: string; readonly path: string }[];
}

/** @returns the content digest of the selected files, or undefined where a selected key is missing */
function digestOf(object: ConfigMap, selection: Selection): string | undefined {
  const all = [...Object.keys(object.data ?? {}), ...Object.keys(object.binaryData ?? {})];
  const wanted = selection.items ?? (selection.keys ?? all).map((key) => ({ key, path: key }));
  if (wanted.length > limits.sourceFilesMax) return undefined;
  const files: SourceFile[] = [];
  for (const { key, path } of wanted) {
    const text = object.data?.[key];
    const binary = object.binaryData?.[key];
    if (text === undefined && binary === undefined) return undefined;
    files.push({ path, bytes: text === undefined ? Buffer.from(binary ?? "", "base64") : Buffer.from(text, "utf8") });
  }
  return contentDigest(sourceManifest(files));
}
