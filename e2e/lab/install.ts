import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { repositoryRoot } from "../cluster/paths.ts";
import { waitFor } from "../cluster/wait.ts";
import { LAB_LIMITS, type Lab } from "./lab.ts";

export const OPERATOR_NAMESPACE = "ptah-system";
const DEPLOYMENTS = ["ptah-operator-manager", "ptah-operator-webhook", "ptah-operator-certs"];

/**
 * Installs the manifests as people do: their example of an overlay says which images to run, here this cluster's.
 * Returns when every Deployment is available and admission answers.
 */
export async function installOperator(lab: Lab): Promise<void> {
  const directory = `${repositoryRoot}/build/install`;
  mkdirSync(directory, { recursive: true });
  writeFileSync(`${directory}/kustomization.yaml`, overlay(lab.images));
  const rendered = await lab.must(["kustomize", directory]);
  await lab.must(["apply", "--server-side", "--force-conflicts", "-f", "-"], {
    input: rendered,
    timeoutMs: LAB_LIMITS.rolloutMs,
  });
  for (const name of DEPLOYMENTS) {
    await lab.must(["rollout", "status", `deployment/${name}`, "-n", OPERATOR_NAMESPACE, "--timeout=120s"], {
      timeoutMs: LAB_LIMITS.rolloutMs + 10_000,
    });
  }
  await waitForAdmission(lab);
}

/** A dry-run create of an approval that names nothing is refused by our webhook once it is reachable and trusted. */
async function waitForAdmission(lab: Lab): Promise<void> {
  const probe = {
    apiVersion: "operator.ptah.run/v1alpha1",
    kind: "PtahSchemaApproval",
    metadata: { name: "admission-probe", namespace: OPERATOR_NAMESPACE },
    spec: {
      schemaRef: { name: "none", uid: "none" },
      planRef: { name: "none", uid: "none" },
      planFingerprint: `sha256:${"0".repeat(64)}`,
    },
  };
  await waitFor(
    "admission of approvals",
    async () => {
      const result = await lab.kubectl(["create", "--dry-run=server", "-f", "-"], { input: JSON.stringify(probe) });
      return result.code !== 0 && /denied the request/.test(result.stderr);
    },
    { timeoutMs: LAB_LIMITS.rolloutMs, pollMs: LAB_LIMITS.pollMs },
  );
}

/** The example of an installation, with this cluster's images in place of the ones that it makes up. */
function overlay(images: Lab["images"]): string {
  const ptah = required(images, "ptah");
  const [name = "", digest = ""] = ptah.split("@");
  const places: readonly (readonly [string, string])[] = [
    ["../../base", "../../manifests/base"],
    [`registry.example/ptah@sha256:${"0".repeat(64)}`, ptah],
    [`newName: registry.example/ptah\n    digest: sha256:${"0".repeat(64)}`, `newName: ${name}\n    digest: ${digest}`],
    [`registry.example/postgres@sha256:${"15".repeat(32)}`, required(images, "postgres15")],
    [`registry.example/postgres@sha256:${"17".repeat(32)}`, required(images, "postgres17")],
  ];
  const example = readFileSync(`${repositoryRoot}/manifests/examples/install/kustomization.yaml`, "utf8");
  return places.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the example of an installation does not say ${from}`);
    return text.replaceAll(from, to);
  }, example);
}

function required(images: Lab["images"], name: string): string {
  const reference = images[name];
  if (reference === undefined) throw new Error(`image ${name} is not loaded: run "e2e/cluster/main.ts images"`);
  return reference;
}
