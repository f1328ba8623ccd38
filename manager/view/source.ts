import { sha256Digest } from "../../crds/canonical.ts";
import type { ConfigMapKeySelector } from "../../crds/common.ts";
import { contentDigest, type SourceFile, sourceManifest } from "../../crds/fingerprints.ts";
import { declaredSource, type SourceSpec } from "../../crds/source.ts";
import { selectFiles } from "../../crds/sourcefiles.ts";
import { type KubeClient, kinds, orAbsent } from "../../kube/index.ts";
import type { SourceFacts } from "../../lifecycle/view.ts";
import { limits } from "../limits.ts";
import { judgeConfigMap, parseSourcePolicy, type SourcePolicy } from "./source-policy.ts";

/** The files of a source beside what the decision sees of it; needed only by who creates the snapshot. */
export interface SourceReading {
  readonly facts: SourceFacts;
  readonly files: readonly SourceFile[];
}

/** A source as a spec declares it, and the field that does, for messages. */
export interface Declared {
  readonly source: SourceSpec;
  readonly field: string;
}

type RefusedReason = Extract<SourceFacts, { state: "refused" }>["reason"];

function refused(reason: RefusedReason, sentence: string): SourceReading {
  return { facts: { state: "refused", reason, sentence }, files: [] };
}

/** Reads the ConfigMap source of a spec uncached, with its source policy. Undefined for a source that is no ConfigMap. */
export async function readSource(
  client: KubeClient,
  namespace: string,
  declared: Declared,
): Promise<SourceReading | undefined> {
  const { field } = declared;
  const source = declaredSource(declared.source);
  if (source?.kind !== "ConfigMap") return undefined;
  const { name } = source.configMap;
  const object = await orAbsent(client.get(kinds.ConfigMap, { namespace, name }));
  if (object === undefined) {
    return refused(
      "SourceNotFound",
      `ConfigMap "${name}" does not exist in this namespace. Create it, or name another in ${field}.configMap.`,
    );
  }
  const files = selectFiles(object, source.configMap);
  if (typeof files === "string") return refused("SourceRefused", files);
  const sizeBytes = files.reduce((sum, file) => sum + file.bytes.byteLength, 0);
  const policy = await readPolicy(client, namespace, source.sourcePolicyFrom, field);
  if (policy !== undefined && "facts" in policy) return policy;
  const refusal = policy === undefined ? undefined : judgeConfigMap(policy.policy, name, sizeBytes);
  if (refusal !== undefined) return refused("SourcePolicyRefused", refusal);
  return {
    files,
    facts: {
      state: "resolved",
      kind: "ConfigMap",
      requestedReference: `ConfigMap/${name}`,
      identity: object.metadata.uid,
      resourceVersion: object.metadata.resourceVersion,
      contentDigest: contentDigest(sourceManifest(files)),
      fileCount: files.length,
      sizeBytes,
      ...(policy === undefined ? {} : { policyUID: policy.uid, policyDigest: policy.digest }),
    },
  };
}

interface ReadPolicy {
  readonly uid: string;
  readonly digest: string;
  readonly policy: SourcePolicy;
}

async function readPolicy(
  client: KubeClient,
  namespace: string,
  from: ConfigMapKeySelector | undefined,
  field: string,
): Promise<ReadPolicy | SourceReading | undefined> {
  if (from === undefined) return undefined;
  const object = await orAbsent(client.get(kinds.ConfigMap, { namespace, name: from.name }));
  const where = `ConfigMap "${from.name}", key "${from.key}"`;
  const text = object?.data?.[from.key];
  if (object === undefined || text === undefined) {
    return refused(
      "SourcePolicyNotFound",
      `The source policy (${where}) does not exist. Create it, or change ${field}.sourcePolicyFrom.`,
    );
  }
  if (object.immutable !== true) {
    return refused(
      "SourcePolicyRefused",
      `The source policy (${where}) is not immutable. Set immutable: true on that ConfigMap.`,
    );
  }
  if (Buffer.byteLength(text) > limits.policyBytesMax) {
    return refused(
      "SourcePolicyRefused",
      `The source policy (${where}) has more than ${limits.policyBytesMax} bytes. Shorten it.`,
    );
  }
  const parsed = await parseSourcePolicy(text);
  if (parsed.policy === undefined) {
    return refused(
      "SourcePolicyRefused",
      `The source policy (${where}) is not valid: ${parsed.problem}. Correct it under a new name.`,
    );
  }
  return { uid: object.metadata.uid, digest: sha256Digest(text), policy: parsed.policy };
}
