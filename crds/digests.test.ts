import { describe, expect, test } from "bun:test";
import * as v from "valibot";
import { canonicalJson, goStructJson, normalizedSet } from "./canonical.ts";
import { formatGoDuration, parseDurationMs } from "./duration.ts";
import {
  contentDigest,
  coordinationDigest,
  gitSourceIdentity,
  historyFingerprint,
  migrationPlanFingerprint,
  migrationPolicyFingerprint,
  schemaPlanFingerprint,
  schemaPolicyFingerprint,
  sequenceDigest,
  sourceManifest,
} from "./fingerprints.ts";
import { MigrationPolicy } from "./migrationspec.ts";
import {
  base32,
  chunkName,
  jobName,
  leaseHolder,
  leaseName,
  migrationPlanName,
  operationIdLabel,
  schemaPlanName,
} from "./names.ts";
import { SchemaPolicy } from "./spec.ts";
import { postgresTargetIdentity, targetDigest } from "./targetidentity.ts";

const EPOCH = `v1-${"3".repeat(32)}`;
const target = (over: object) => ({
  engine: "PostgreSQL",
  sharedRealm: false,
  urlFrom: { name: "db", key: "url" },
  ...over,
});

describe("values that other implementations share", () => {
  test("the Job name of a schema's Apply is the published one", () => {
    const name = jobName({
      family: "schema",
      name: "orders",
      uid: "schema-uid",
      operation: "Apply",
      operationId: "operation-01",
      bindingEpoch: EPOCH,
      inputFingerprint: `sha256:${"f".repeat(64)}`,
      attempt: 1,
    });
    expect(name).toBe("ptah-apply-orders-6674d54604caaf6b");
  });

  test("the Job name of a migration's Apply is the published one", () => {
    const name = jobName({
      family: "migration",
      name: "orders",
      uid: "migration-uid",
      operation: "Apply",
      operationId: `sha256:${"1".repeat(64)}`,
      bindingEpoch: EPOCH,
      inputFingerprint: `sha256:${"2".repeat(64)}`,
      attempt: 1,
    });
    expect(name).toBe("ptah-m-apply-orders-37a321f2d1bf7bee");
  });

  test("the operation id's label is the published one", () => {
    expect(operationIdLabel("operation-01")).toBe("aa8c786b111a8c3b");
  });

  test("the coordination digest and Lease of a key are the published ones", () => {
    const digest = coordinationDigest("application", target({ coordinationKey: "production/application-primary" }));
    const published = "sha256:b7f2da5f188d7868c39589c739cc38932680ff09e95635e3a189bdb35c65256c";
    expect(digest).toBe(published);
    expect(leaseName(published)).toBe("ptah-t-w7znuxyyrv4grq4vrhdtttbysmtib7yj5fldly5brg63gxdfevwa");
  });

  test("the coordination digest of the runner's page is the published one", () => {
    expect(coordinationDigest("team-a", target({ coordinationKey: "production/orders" }))).toBe(
      "sha256:b5a5c28ee36c5cbc3f3d0cde2e3e175f6ae0ed0b4d210bac8f139a5b63ba23f2",
    );
  });

  test("the coordination digest of a realm is the published one", () => {
    expect(coordinationDigest("anywhere", target({ engine: "postgres", realmRef: { name: "orders-primary" } }))).toBe(
      "sha256:947a463b63250993b37339d287751b8bdb5e50802d4f35874e479b73b1f5b96a",
    );
  });

  test("the digest of a sequence is the published one", () => {
    expect(sequenceDigest([{ version: 3, checksum: "h1:orders-0003" }])).toBe(
      "sha256:d63511bc70fe1b0e03b83c586c1d41b97848fe3e8ad3d8d8c9200de2e7ce2d60",
    );
  });

  test("the default PostgreSQL policy has the published fingerprint", () => {
    const policy = v.parse(SchemaPolicy, {});
    expect(schemaPolicyFingerprint("PostgreSQL", policy, "10s")).toBe(
      "sha256:14ee0c3fbc621fc6fc28b676f7cefc12a73b0b4942a761c3c69cc97ec4140472",
    );
  });

  test("the target identity is the published one, from parts and from a URL", () => {
    const published = "sha256:320eaba6b82dc898489c0dae1dc7ce890b258513582ebe55ab4623da874917cc";
    const parts = { scheme: "postgres", route: "db.example", database: "app", context: "user=svc&sslmode=require" };
    expect(targetDigest(parts)).toBe(published);
    expect(postgresTargetIdentity("postgresql://svc:pw@DB.example:5432/app?sslmode=require")).toEqual({
      ok: true,
      digest: published,
      parts,
    });
  });
});

describe("digests of ours", () => {
  test("canonical JSON sorts keys by bytes, leaves spaces and absent members out", () => {
    expect(canonicalJson({ b: 1, a: [true, null, "é<"], "\u{10000}": 1, "\uffee": 2, z: undefined })).toBe(
      '{"a":[true,null,"é<"],"b":1,"\uffee":2,"\u{10000}":1}',
    );
    expect(() => canonicalJson({ a: Number.NaN })).toThrow(RangeError);
  });

  test("struct JSON keeps the order and escapes what Go escapes", () => {
    expect(goStructJson({ b: "a<b>&\u2028", a: [] })).toBe('{"b":"a\\u003cb\\u003e\\u0026\\u2028","a":[]}');
  });

  test("a set enters a digest trimmed, once and sorted", () => {
    expect(normalizedSet([" b", "a", "", "b", " "])).toEqual(["a", "b"]);
    expect(normalizedSet(undefined)).toEqual([]);
  });

  test("durations are read and written as Go does", () => {
    expect(parseDurationMs("1h30m")).toBe(5_400_000);
    expect(parseDurationMs("1.5s")).toBe(1500);
    expect(parseDurationMs("250us")).toBe(0.25);
    for (const wrong of ["", "5", "s", "5 s", "5m3", "-1s"]) expect(parseDurationMs(wrong)).toBeUndefined();
    expect(["5m0s", "1h0m0s", "30s", "1.5s", "250µs", "0s"]).toEqual(
      [300_000, 3_600_000, 30_000, 1500, 0.25, 0].map(formatGoDuration),
    );
  });

  test("the manifest does not depend on the order the files came in", () => {
    const bytes = new TextEncoder();
    const files = [
      { path: "b.sql", bytes: bytes.encode("B") },
      { path: "a/1.sql", bytes: bytes.encode("") },
    ];
    const manifest = sourceManifest(files);
    expect(manifest).toBe(
      "a/1.sql 0 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n" +
        "b.sql 1 df7e70e5021544f4834bbee64a9e3789febc4be81470df629cad6ddb03320a5c\n",
    );
    expect(sourceManifest(files.toReversed())).toBe(manifest);
    expect(contentDigest(manifest)).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  test("another repository or path is another Git source", () => {
    const ids = new Set([
      gitSourceIdentity("https://git/a", "."),
      gitSourceIdentity("https://git/a", "db"),
      gitSourceIdentity("https://git/b", "."),
    ]);
    expect(ids.size).toBe(3);
  });

  test("names derive from digests and fit their limits", () => {
    const fingerprint = `sha256:${"a1".repeat(32)}`;
    expect(schemaPlanName(fingerprint)).toBe("ptah-plan-a1a1a1a1a1a1a1a1a1a1a1a1");
    expect(chunkName("ptah-plan-x", 7)).toBe("ptah-plan-x-007");
    expect(base32(new TextEncoder().encode("foobar"))).toBe("mzxw6ytboi");
    expect(leaseHolder("uid", "op")).toHaveLength("ptah-h-".length + 52);
    const long = jobName({
      family: "schema",
      name: `${"x".repeat(36)}-${"y".repeat(80)}`,
      uid: "u",
      operation: "Resolve",
      operationId: "o",
      bindingEpoch: EPOCH,
      inputFingerprint: "f",
      attempt: 2,
    });
    expect(long.length).toBeLessThanOrEqual(63);
    expect(long).toMatch(/^ptah-resolve-x+-[0-9a-f]{16}$|^ptah-resolve-x+-y+-[0-9a-f]{16}$/);
  });

  test("a realm needs an engine and exactly one name", () => {
    expect(coordinationDigest("a", target({ engine: "Oracle", coordinationKey: "k" }))).toBeUndefined();
    expect(coordinationDigest("a", target({}))).toBeUndefined();
    expect(coordinationDigest("a", target({ coordinationKey: "k", realmRef: { name: "r" } }))).toBeUndefined();
  });
});

describe("the fingerprint of a schema plan", () => {
  const digest = (c: string) => `sha256:${c.repeat(64)}`;
  const plan = {
    contractVersion: 2,
    serial: 4,
    schemaUid: "schema-uid",
    contentDigest: digest("1"),
    source: { kind: "ConfigMap" as const, identity: "cm-uid", contentDigest: digest("2") },
    coordinationDigest: digest("3"),
    targetIdentityDigest: digest("4"),
    serverMajor: 15,
    actualStateFingerprint: digest("5"),
    desiredStateFingerprint: digest("6"),
    policyFingerprint: digest("7"),
    executionBindingID: EPOCH,
    controllerStateVersion: 1,
    ptahVersion: "0.1.0",
    executorImage: `ptah@${digest("8")}`,
    runnerProtocolVersion: 1,
    destructive: false,
    privilegeChanges: ["Grant" as const],
    statementCount: 3,
  };
  const base = schemaPlanFingerprint(plan);

  test("moves with every one of its inputs, the serial among them", () => {
    const variants: (typeof plan)[] = [
      { ...plan, serial: 5 },
      { ...plan, schemaUid: "other" },
      { ...plan, contentDigest: digest("9") },
      { ...plan, source: { ...plan.source, identity: "other" } },
      { ...plan, coordinationDigest: digest("9") },
      { ...plan, targetIdentityDigest: digest("9") },
      { ...plan, serverMajor: 16 },
      { ...plan, actualStateFingerprint: digest("9") },
      { ...plan, desiredStateFingerprint: digest("9") },
      { ...plan, policyFingerprint: digest("9") },
      { ...plan, executionBindingID: `v1-${"4".repeat(32)}` },
      { ...plan, controllerStateVersion: 2 },
      { ...plan, ptahVersion: "0.2.0" },
      { ...plan, executorImage: `ptah@${digest("9")}` },
      { ...plan, runnerProtocolVersion: 2 },
      { ...plan, destructive: true },
      { ...plan, privilegeChanges: [] },
      { ...plan, statementCount: 4 },
    ];
    expect(new Set([base, ...variants.map(schemaPlanFingerprint)]).size).toBe(variants.length + 1);
  });

  test("does not depend on the order of the privilege kinds", () => {
    const [a, b] = [["Grant", "Role"] as const, ["Role", "Grant"] as const];
    expect(schemaPlanFingerprint({ ...plan, privilegeChanges: [...a] })).toBe(
      schemaPlanFingerprint({ ...plan, privilegeChanges: [...b] }),
    );
  });
});

describe("what a migration plan is bound to", () => {
  const history = {
    contractVersion: 1,
    currentVersion: 2,
    totalMigrations: 3,
    migrations: [
      { version: 2, checksum: "h1:two", appliedChecksum: "two", state: "applied" },
      { version: 3, checksum: "h1:three", state: "pending" },
    ],
  };
  const first = history.migrations[0] ?? { version: 0, state: "" };
  const last = history.migrations[1] ?? { version: 0, state: "" };

  test.each([
    ["another version applied", { currentVersion: 1 }],
    ["a checkpoint it was started from", { checkpointVersion: 2 }],
    ["another file in the source", { totalMigrations: 4 }],
    ["a dirty row", { dirtyRevision: { version: 3, applied: 1, total: 2 } }],
    ["a changed file", { migrations: [first, { ...last, checksum: "h1:other" }] }],
    ["a changed row", { migrations: [{ ...first, appliedChecksum: "other" }, last] }],
    ["another state", { migrations: [first, { ...last, state: "out-of-order" }] }],
    ["another order", { migrations: [last, first] }],
  ])("%s is another history", (_, over) => {
    expect(historyFingerprint({ ...history, ...over })).not.toBe(historyFingerprint(history));
  });

  test("how far a dirty row got is part of the history", () => {
    const dirty = (applied: number) =>
      historyFingerprint({ ...history, dirtyRevision: { version: 3, applied, total: 2 } });
    expect(dirty(0)).not.toBe(dirty(1));
  });

  test("a sequence is its order, its files and how they run", () => {
    const [a, b] = [
      { version: 3, checksum: "h1:three" },
      { version: 4, checksum: "h1:four" },
    ];
    const digests = [
      [a, b],
      [b, a],
      [a],
      [a, { ...b, checksum: "h1:other" }],
      [a, { ...b, versionKey: "0004" }],
      [a, { ...b, checkpoint: true }],
      [a, { ...b, transactionMode: "none" as const }],
    ].map(sequenceDigest);
    expect(new Set(digests).size).toBe(digests.length);
    const told = [a, b].map((step) => ({ ...step, description: "for people" }));
    expect(sequenceDigest(told)).toBe(sequenceDigest([a, b]));
  });

  test("who decides is part of a migration's policy, and an unset mode is a value of its own", () => {
    const policies = [
      {},
      { apply: "Always" },
      { transactionMode: "file" },
      { transactionMode: "none" },
      { lockTimeout: "1m" },
    ].map((policy) => migrationPolicyFingerprint(v.parse(MigrationPolicy, policy)));
    expect(new Set(policies).size).toBe(policies.length);
    expect(migrationPolicyFingerprint(v.parse(MigrationPolicy, { lockTimeout: "300s" }))).toBe(policies[0] ?? "");
  });

  const digest = (letter: string) => `sha256:${letter.repeat(64)}`;
  const plan = {
    contractVersion: 2,
    serial: 1,
    migrationUid: "uid",
    historyFingerprint: digest("1"),
    currentVersion: 2,
    contentDigest: digest("2"),
    source: { kind: "ConfigMap" as const, identity: "cm", contentDigest: digest("3") },
    coordinationDigest: digest("4"),
    targetIdentityDigest: digest("5"),
    policyFingerprint: digest("6"),
    executionBindingID: EPOCH,
    controllerStateVersion: 1,
    ptahVersion: "1.0.0",
    executorImage: "ptah",
    runnerProtocolVersion: 1,
  };
  const changes: readonly (readonly [string, Partial<typeof plan>])[] = [
    ["another contract", { contractVersion: 1 }],
    ["another serial", { serial: 2 }],
    ["another resource of the same name", { migrationUid: "other" }],
    ["another history", { historyFingerprint: digest("a") }],
    ["another sequence", { contentDigest: digest("a") }],
    ["another source object", { source: { ...plan.source, identity: "other" } }],
    ["other files", { source: { ...plan.source, contentDigest: digest("a") } }],
    ["another realm", { coordinationDigest: digest("a") }],
    ["another database", { targetIdentityDigest: digest("a") }],
    ["another policy", { policyFingerprint: digest("a") }],
    ["another execution binding", { executionBindingID: `v1-${"4".repeat(32)}` }],
    ["another executor", { executorImage: "other" }],
  ];
  test.each(changes)("%s is another plan", (_, over) => {
    expect(migrationPlanFingerprint({ ...plan, ...over })).not.toBe(migrationPlanFingerprint(plan));
  });

  test("its name derives from its fingerprint", () => {
    expect(migrationPlanName(digest("a"))).toBe(`ptah-mplan-${"a".repeat(24)}`);
  });
});
