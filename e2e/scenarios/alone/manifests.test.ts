import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments, stringify } from "yaml";
import { type KubectlTarget, kubectl } from "../../cluster/kubectl.ts";
import { openCluster } from "../../cluster/open.ts";
import { createProgress } from "../../cluster/progress.ts";

/** What kubectl renders of the manifests; UPDATE_GOLDEN=1 rewrites the golden files. */

const MANIFESTS = join(import.meta.dir, "../../../manifests");
const START_MS = 60_000;

let target: KubectlTarget;

beforeAll(async () => {
  const cluster = await openCluster({ progress: createProgress(), apiOnly: true });
  await cluster.up({ apiOnly: true });
  target = { kubectl: cluster.kubectl, kubeconfig: cluster.kubeconfig };
}, START_MS);

type Manifest = { kind: string; metadata: { name: string; namespace?: string } };

async function rendered(directory: string): Promise<{ text: string; objects: Manifest[] }> {
  const text = await kubectl(target, ["kustomize", join(MANIFESTS, directory)]);
  return { text, objects: parseAllDocuments(text).map((document) => document.toJS() as Manifest) };
}

describe.each([
  ["base", "base.yaml"],
  ["overlays/other-namespace", "other-namespace.yaml"],
])("%s", (directory, golden) => {
  test("renders to its golden file", async () => {
    const { objects } = await rendered(directory);
    const own = objects.filter((manifest) => manifest.kind !== "CustomResourceDefinition");
    const text = own.map((manifest) => stringify(manifest, { lineWidth: 0 })).join("---\n");
    const file = join(MANIFESTS, "golden", golden);
    if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(file, text);
    expect(text).toBe(readFileSync(file, "utf8"));
  });

  test("is taken by an API server, object by object", async () => {
    const { text } = await rendered(directory);
    const known = parseAllDocuments(text)
      .map((document) => document.toJS() as Manifest)
      .filter((manifest) => manifest.metadata.namespace === undefined);
    const items = JSON.stringify({ apiVersion: "v1", kind: "List", items: known });
    await kubectl(target, ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-"], {
      input: items,
    });
  });
});

test("another namespace leaves no mention of the first", async () => {
  const [base, other] = [await rendered("base"), await rendered("overlays/other-namespace")];
  expect(other.text).not.toContain("ptah-system");
  expect(other.text).toBe(base.text.replaceAll("ptah-system", "database-operations"));
});

test.each([
  ["examples/first-schema", "PtahSchema"],
  ["examples/first-migration", "PtahMigration"],
])("%s is one the API takes", async (example, kind) => {
  const { objects } = await rendered(example);
  expect(objects.map((manifest) => manifest.kind).sort()).toEqual(["ConfigMap", kind]);
  await kubectl(target, ["apply", "-f", join(MANIFESTS, "../crds/yaml")]);
  await kubectl(target, [
    "wait",
    "--for=condition=Established",
    "--timeout=20s",
    "-f",
    join(MANIFESTS, "../crds/yaml"),
  ]);
  await kubectl(target, ["apply", "--dry-run=server", "-n", "default", "-k", join(MANIFESTS, example)]);
});
