import { compareBytewise } from "../../crds/canonical.ts";
import { contentDigest, type SourceFile, sourceManifest } from "../../crds/fingerprints.ts";
import { label, MANAGED_BY, snapshotName } from "../../crds/names.ts";
import type { ConfigMap } from "../../kube/index.ts";
import type { ResourceFacts, SnapshotFacts } from "../../lifecycle/view.ts";
import { familyOf } from "../families.ts";
import { controllerOf, instantMs } from "./objects.ts";

const MANIFEST_KEY = "manifest";

/** Key of the n-th file of a snapshot, in manifest order. */
const fileKey = (index: number): string => `f${String(index).padStart(3, "0")}`;

/** What a snapshot ConfigMap is, judged from its bytes alone. */
export function snapshotFacts(object: ConfigMap, resourceUID: string): SnapshotFacts {
  const manifest = object.data?.[MANIFEST_KEY] ?? "";
  const digest = contentDigest(manifest);
  return {
    name: object.metadata.name,
    uid: object.metadata.uid,
    resourceVersion: object.metadata.resourceVersion,
    contentDigest: digest,
    createdAtMs: instantMs(object.metadata.creationTimestamp),
    deleting: object.metadata.deletionTimestamp !== undefined,
    intact:
      object.immutable === true &&
      controllerOf(object.metadata) === resourceUID &&
      object.metadata.name === snapshotName(resourceUID, digest) &&
      holdsItsFiles(object, manifest),
  };
}

/** The files give exactly the manifest, and there is nothing beside them. */
function holdsItsFiles(object: ConfigMap, manifest: string): boolean {
  const lines = manifest.split("\n");
  if (lines.pop() !== "" || lines.length === 0) return false;
  const files: SourceFile[] = [];
  for (const [index, line] of lines.entries()) {
    const data = object.binaryData?.[fileKey(index)];
    const path = /^(\S+) \d+ [0-9a-f]{64}$/.exec(line)?.[1];
    if (data === undefined || path === undefined) return false;
    files.push({ path, bytes: Buffer.from(data, "base64") });
  }
  return (
    sourceManifest(files) === manifest &&
    Object.keys(object.binaryData ?? {}).length === lines.length &&
    Object.keys(object.data ?? {}).length === 1
  );
}

/** The immutable ConfigMap that holds the files of a source, named by what it holds and owned by the resource. */
export function snapshotObject(resource: ResourceFacts, files: readonly SourceFile[]): object {
  const manifest = sourceManifest(files);
  const sorted = [...files].sort((a, b) => compareBytewise(a.path, b.path));
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: snapshotName(resource.uid, contentDigest(manifest)),
      namespace: resource.namespace,
      labels: {
        [label.managedBy]: MANAGED_BY,
        [familyOf(resource).label]: resource.name,
        [label.sourceSnapshot]: "true",
      },
      ownerReferences: [ownedBy(resource)],
    },
    immutable: true,
    data: { [MANIFEST_KEY]: manifest },
    binaryData: Object.fromEntries(
      sorted.map((file, index) => [fileKey(index), Buffer.from(file.bytes).toString("base64")]),
    ),
  };
}

/** The owner reference of what belongs to a resource (or a plan) and goes with it. */
export function ownedBy(owner: {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}): object {
  const { apiVersion, kind, name, uid } = owner;
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}
