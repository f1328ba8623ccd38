import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { RULES } from "../webhook/app.ts";

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}
interface Container {
  readonly name: string;
  readonly image: string;
  readonly resources: { readonly limits: Record<string, string>; readonly requests: Record<string, string> };
  readonly securityContext: object;
}
interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly Rule[];
  readonly webhooks?: readonly {
    readonly name: string;
    readonly failurePolicy: string;
    readonly sideEffects: string;
    readonly clientConfig: { readonly service: { readonly path: string } };
  }[];
  readonly spec?: {
    readonly failurePolicy?: string;
    readonly replicas?: number;
    readonly template?: {
      readonly spec: { readonly securityContext: object; readonly containers: readonly Container[] };
    };
  };
}

const BASE = join(import.meta.dir, "base");
const manifests = readdirSync(BASE)
  .filter((file) => file !== "kustomization.yaml")
  .flatMap((file) => parseAllDocuments(readFileSync(join(BASE, file), "utf8")).map((d) => d.toJS() as Manifest));
const ofKind = (...kinds: readonly string[]) => manifests.filter((manifest) => kinds.includes(manifest.kind));
const rulesOf = (name: string) =>
  ofKind("Role", "ClusterRole")
    .filter((manifest) => manifest.metadata.name.startsWith(name))
    .flatMap((manifest) => manifest.rules ?? []);

describe("rights", () => {
  test("only certs may touch a Secret, and only its own two by name", () => {
    const rules = manifests.flatMap((m) => (m.rules ?? []).map((rule) => ({ role: m.metadata.name, rule })));
    const secrets = rules.filter(({ rule }) => rule.resources.some((resource) => /secrets|\*/.test(resource)));
    expect(secrets.map(({ role, rule }) => [role, rule.resourceNames?.length])).toEqual([["ptah-operator-certs", 2]]);
  });

  test("nobody has a wildcard", () => {
    const wide = manifests.flatMap((m) => m.rules ?? []).filter((rule) => JSON.stringify(rule).includes('"*"'));
    expect(wide).toEqual([]);
  });

  test("the manager makes and deletes no Pod and writes no spec of an approval", () => {
    const verbs = (resource: string) =>
      rulesOf("ptah-operator-manager").flatMap((rule) => (rule.resources.includes(resource) ? rule.verbs : []));
    expect(verbs("pods").toSorted()).toEqual(["get", "list", "patch", "watch"]);
    for (const word of ["ptahschemaapprovals", "ptahmigrationapprovals", "ptahmigrationrunacknowledgments"]) {
      expect(verbs(word).toSorted()).toEqual(["get", "list", "watch"]);
    }
    for (const subject of ["ptahschemas", "ptahmigrations"]) expect(verbs(subject)).not.toContain("delete");
  });

  test("a role for people reads every kind", () => {
    const served = readdirSync(join(import.meta.dir, "../crds/yaml")).map((file) => file.replace(".yaml", ""));
    for (const role of ["viewer", "plan-reader", "approver", "author"]) {
      const read = rulesOf(`ptah-operator-${role}`).flatMap((rule) =>
        rule.verbs.includes("get") ? rule.resources : [],
      );
      const missing = served.filter((plural) => !read.includes(plural) && plural !== "ptahschemaplanchunks");
      expect([role, missing]).toEqual([role, []]);
    }
  });

  test("approving and acknowledging are rights of their own", () => {
    const created = (role: string) =>
      rulesOf(`ptah-operator-${role}`).flatMap((rule) => (rule.verbs.includes("create") ? rule.resources : []));
    expect(created("approver")).toEqual(["ptahschemaapprovals", "ptahmigrationapprovals"]);
    expect(created("acknowledger")).toEqual(["ptahmigrationrunacknowledgments"]);
    expect(created("author")).toEqual(["ptahschemas", "ptahmigrations"]);
    expect(created("viewer")).toEqual([]);
  });

  test("the webhook writes nothing", () => {
    expect(new Set(rulesOf("ptah-operator-webhook").flatMap((rule) => rule.verbs))).toEqual(new Set(["get"]));
  });
});

describe("workloads", () => {
  const deployments = ofKind("Deployment");

  test("two managers, two webhooks, one certs", () => {
    const replicas = deployments.map((d) => [d.metadata.name, d.spec?.replicas]).sort();
    expect(replicas).toEqual([
      ["ptah-operator-certs", 1],
      ["ptah-operator-manager", 2],
      ["ptah-operator-webhook", 2],
    ]);
  });

  test.each(deployments.map((d) => [d.metadata.name, d] as const))("%s runs restricted", (_, deployment) => {
    const pod = deployment.spec?.template?.spec;
    expect(pod?.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 65532,
      seccompProfile: { type: "RuntimeDefault" },
    });
    for (const container of pod?.containers ?? []) {
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      expect(container.image).toBe("ptah");
      expect(Object.keys(container.resources.limits)).toEqual(["memory"]);
    }
  });
});

describe("admission", () => {
  test("every guard refuses when it cannot judge", () => {
    const policies = ofKind("ValidatingAdmissionPolicy").map((policy) => policy.spec?.failurePolicy);
    const hooks = ofKind("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration").flatMap(
      (configuration) => configuration.webhooks ?? [],
    );
    expect(new Set([...policies, ...hooks.map((hook) => hook.failurePolicy)])).toEqual(new Set(["Fail"]));
    expect(new Set(hooks.map((hook) => hook.sideEffects))).toEqual(new Set(["None"]));
    expect(hooks).toHaveLength(12);
  });

  test("every path that the webhook serves is called, and no other", () => {
    const called = (kind: string) =>
      ofKind(kind).flatMap(({ webhooks }) =>
        (webhooks ?? []).map(({ name, clientConfig }) => [name.split(".")[0], clientConfig.service.path]),
      );
    const served = RULES.map(({ name, path }) => [name, path]);
    expect([...called("MutatingWebhookConfiguration"), ...called("ValidatingWebhookConfiguration")].sort()).toEqual(
      served.sort(),
    );
  });

  test("every policy is bound", () => {
    const names = (kind: string) => ofKind(kind).map((manifest) => manifest.metadata.name);
    expect(names("ValidatingAdmissionPolicyBinding")).toEqual(names("ValidatingAdmissionPolicy"));
  });
});
