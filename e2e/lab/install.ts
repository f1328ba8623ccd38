import { mkdirSync, writeFileSync } from "node:fs";
import { repositoryRoot } from "../cluster/paths.ts";
import { waitFor } from "../cluster/wait.ts";
import { LAB_LIMITS, type Lab } from "./lab.ts";

export const OPERATOR_NAMESPACE = "ptah-system";
const DEPLOYMENTS = ["ptah-operator-manager", "ptah-operator-webhook", "ptah-operator-certs"];
/** The uid that the lab's PostgreSQL images know their server by. */
const SCRATCH_UID = 999;

/**
 * Installs the manifests as they are: one overlay says which images to run (this cluster's, by digest) and nothing else.
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

function overlay(images: Lab["images"]): string {
  const ptah = required(images, "ptah");
  const [newName, digest] = ptah.split("@");
  const managerArguments = [
    `--executor-image=${ptah}`,
    `--runner-image=${ptah}`,
    `--controller-image=${ptah}`,
    `--scratch-image=postgresql-15=${required(images, "postgres15")},uid=${SCRATCH_UID}`,
    `--scratch-image=postgresql-17=${required(images, "postgres17")},uid=${SCRATCH_UID}`,
  ];
  const patch = managerArguments
    .map((value) => `      - {op: add, path: /spec/template/spec/containers/0/args/-, value: "${value}"}`)
    .join("\n");
  return `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - ../../manifests/base
images:
  - name: ptah
    newName: ${newName}
    digest: ${digest}
patches:
  - target: {kind: Deployment, name: ptah-operator-manager}
    patch: |
${patch}
`;
}

function required(images: Lab["images"], name: string): string {
  const reference = images[name];
  if (reference === undefined) throw new Error(`image ${name} is not loaded: run "e2e/cluster/main.ts images"`);
  return reference;
}
