import { sha256Digest } from "../crds/canonical.ts";
import { contentDigest, sourceManifest } from "../crds/fingerprints.ts";
import { declaredSource, type SourceSpec } from "../crds/source.ts";
import { selectFiles } from "../crds/sourcefiles.ts";
import type { SourceBinding } from "../crds/status/binding.ts";
import type { ConfigMap } from "../kube/index.ts";
import type { Reads } from "./reads.ts";

/**
 * Whether a plan's source is still what the resource declares, read now. Only ConfigMap sources can change without a new
 * reading; the others are bound by digest.
 * @param noun what a sentence calls the resource
 * @returns what moved and what to do, or undefined
 */
export async function sourceMoved(
  reads: Reads,
  namespace: string,
  noun: string,
  spec: SourceSpec,
  bound: SourceBinding,
): Promise<string | undefined> {
  const source = declaredSource(spec);
  if (source === undefined || source.kind !== bound.kind) {
    return `the ${noun} now declares another kind of source than its plan was computed from; wait for the new plan`;
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
  const selected = selectFiles(files, configMap);
  if (typeof selected === "string" || contentDigest(sourceManifest(selected)) !== bound.contentDigest) {
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
