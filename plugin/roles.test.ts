import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { roleHint, roleWith } from "./roles.ts";

interface Role {
  readonly metadata: { readonly name: string };
  readonly rules: readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[];
}

test("the role named for a right is the first of the installed ones that has it", () => {
  const file = readFileSync(join(import.meta.dir, "../manifests/base/user-roles.yaml"), "utf8");
  const first = new Map<string, string>();
  for (const role of parseAllDocuments(file).map((document) => document.toJS() as Role)) {
    for (const { resources, verbs } of role.rules) {
      for (const key of resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`))) {
        if (!first.has(key)) first.set(key, role.metadata.name);
      }
    }
  }
  expect(first.size).toBeGreaterThan(15);
  const named = [...first.keys()].map((key) => [key, roleWith(...(key.split(" ") as [string, string]))] as const);
  expect(new Map(named)).toEqual(first);
});

test("only a missing right of the operator's own kinds names a role", () => {
  const of = (verb: string, resource: string, group: string) =>
    `x is forbidden: User "jo" cannot ${verb} resource "${resource}" in API group "${group}" in the namespace "shop"`;
  expect(roleHint(of("get", "ptahschemaplanchunks", "operator.ptah.run"))).toBe(
    "Ask for the ClusterRole ptah-operator-plan-reader in namespace shop.",
  );
  expect(roleHint(of("create", "ptahschemaapprovals", "operator.ptah.run"))).toContain("ptah-operator-approver");
  expect(roleHint(of("patch", "ptahschemas", "operator.ptah.run"))).toContain("ptah-operator-author");
  expect(roleHint(of("get", "configmaps", ""))).toBeUndefined();
  expect(roleHint("admission webhook denied the request: not you")).toBeUndefined();
});
