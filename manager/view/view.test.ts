import { describe, expect, test } from "bun:test";
import { contentDigest, sourceManifest } from "../../crds/fingerprints.ts";
import { annotation } from "../../crds/names.ts";
import { selectFiles } from "../../crds/sourcefiles.ts";
import type { ConfigMap, Lease, Pod } from "../../kube/index.ts";
import { mayStillWrite } from "../../lifecycle/attempt.ts";
import type { ResourceFacts } from "../../lifecycle/view.ts";
import { familyOf } from "../families.ts";
import { attemptOf } from "./foreign.ts";
import { marksOf } from "./marks.ts";
import { leaseFacts, leaseObject } from "./objects.ts";
import { snapshotFacts, snapshotObject } from "./snapshot.ts";
import { judgeConfigMap, parseSourcePolicy } from "./source-policy.ts";
import { isTerminated, missingObject } from "./workloads.ts";

const resource = {
  apiVersion: "operator.ptah.run/v1alpha1",
  kind: "PtahSchema",
  namespace: "shop",
  name: "storefront",
  uid: "u-1",
} as ResourceFacts;

function configMap(data: Record<string, string>, more: Partial<ConfigMap> = {}): ConfigMap {
  return { metadata: { name: "files", namespace: "shop", uid: "c", resourceVersion: "1" }, data, ...more };
}

describe("the files of a ConfigMap source", () => {
  test("every key is a file of its own name, binary keys too", () => {
    const files = selectFiles(configMap({ "b.sql": "select 2" }, { binaryData: { "a.sql": "c2VsZWN0IDE=" } }), {
      name: "files",
    });
    expect(files).toMatchObject([{ path: "a.sql" }, { path: "b.sql" }]);
  });

  test("the same files give the same digest from whatever keys they come", () => {
    const plain = selectFiles(configMap({ "a.sql": "x" }), { name: "files" });
    const moved = selectFiles(configMap({ k: "x" }), { name: "files", items: [{ key: "k", path: "a.sql" }] });
    const digests = [plain, moved].map((files) => contentDigest(sourceManifest(files as never)));
    expect(digests[0]).toBe(digests[1]!);
  });

  test.each([
    [{}, { name: "files" }, "holds no files"],
    [{ a: "x" }, { name: "files", keys: ["b"] }, 'no key "b"'],
    [
      { a: "x", b: "y" },
      {
        name: "files",
        items: [
          { key: "a", path: "p" },
          { key: "b", path: "p" },
        ],
      },
      "own path",
    ],
    [{ a: "x".repeat(800_000) }, { name: "files" }, "at most"],
  ])("what is wrong is said in a sentence", (data, selection, words) => {
    expect(selectFiles(configMap(data), selection)).toContain(words);
  });
});

describe("source snapshots", () => {
  const files = [
    { path: "b.sql", bytes: Buffer.from("select 2") },
    { path: "a.sql", bytes: Buffer.from("select 1") },
  ];
  const stored = (change: (object: Record<string, unknown>) => void = () => undefined): ConfigMap => {
    const made = snapshotObject(resource, files) as Record<string, unknown> & { metadata: object };
    made.metadata = { ...made.metadata, uid: "s", resourceVersion: "9", creationTimestamp: "2026-01-01T00:00:00Z" };
    change(made);
    return made as unknown as ConfigMap;
  };

  test("what was made is read back intact, with the digest of its files", () => {
    const facts = snapshotFacts(stored(), resource.uid);
    expect(facts).toMatchObject({ intact: true, contentDigest: contentDigest(sourceManifest(files)) });
    expect(facts.name).toMatch(/^ptah-src-[0-9a-f]{24}$/);
  });

  test.each([
    ["another byte", (o: Record<string, unknown>) => Object.assign(o, { binaryData: { f000: "AAAA", f001: "AAAA" } })],
    ["a file more", (o: Record<string, unknown>) => Object.assign(o["binaryData"] as object, { f002: "AAAA" })],
    ["not immutable", (o: Record<string, unknown>) => Object.assign(o, { immutable: false })],
    [
      "somebody else's",
      (o: Record<string, unknown>) => Object.assign(o["metadata"] as object, { ownerReferences: [] }),
    ],
  ])("%s is not intact", (_, change) => {
    expect(snapshotFacts(stored(change), resource.uid).intact).toBe(false);
  });
});

describe("source policy", () => {
  test("names and size are judged, and the rule is named", async () => {
    const { policy } = await parseSourcePolicy("version: 1\nconfig_map: {names: ['db-*'], max_bytes: 10}\n");
    expect(judgeConfigMap(policy!, "db-shop", 5)).toBeUndefined();
    expect(judgeConfigMap(policy!, "other", 5)).toContain("config_map.names");
    expect(judgeConfigMap(policy!, "db-shop", 11)).toContain("config_map.max_bytes");
  });

  test("a policy that does not speak of ConfigMaps allows none", async () => {
    const { policy } = await parseSourcePolicy("version: 1\ngit: {hosts: ['*']}\n");
    expect(judgeConfigMap(policy!, "a", 1)).toContain("no config_map section");
  });

  test("unknown keys and versions are refused", async () => {
    expect((await parseSourcePolicy("version: 2\n")).policy).toBeUndefined();
    expect((await parseSourcePolicy("version: 1\nconfigmap: {}\n")).policy).toBeUndefined();
  });
});

describe("Leases", () => {
  test("what is written is read back as the same numbers", () => {
    const content = {
      holder: "h",
      epoch: `v1-${"0".repeat(32)}`,
      durationSeconds: 960,
      acquiredAtMs: 1_700_000_000_123,
      renewedAtMs: 1_700_000_060_007,
      transitions: 3,
      owner: {
        kind: "PtahSchema",
        namespace: "shop",
        name: "a",
        uid: "u",
        jobName: "j",
        executionNotAfter: "2026-01-01T00:00:00Z",
      },
    };
    const object = leaseObject("n", "ptah-system", content, undefined) as Lease;
    const facts = leaseFacts("d", { ...object, metadata: { ...object.metadata, uid: "l", resourceVersion: "4" } });
    expect(facts.lease).toEqual({ ...content, uid: "l", resourceVersion: "4" });
  });

  test("a released Lease has no holder and no owner", () => {
    const content = { holder: "", epoch: "e", durationSeconds: 1, acquiredAtMs: 0, renewedAtMs: 0, transitions: 1 };
    const object = leaseObject("n", "s", content, { uid: "l", resourceVersion: "4" }) as Lease;
    expect(object.spec).not.toHaveProperty("holderIdentity");
    expect(leaseFacts("d", object).lease).toMatchObject({ holder: "", uid: "l" });
    expect(leaseFacts("d", object).lease?.owner).toBeUndefined();
  });
});

describe("marks", () => {
  test("a mirror of a newer contract is said to be newer, rubbish to be unreadable, and never absent", () => {
    expect(marksOf({ [annotation.unsettledApply]: '{"version":2}' }, 1).mirror).toEqual({ state: "newer", version: 2 });
    expect(marksOf({ [annotation.unsettledApply]: "{" }, 1).mirror).toEqual({ state: "unreadable" });
    expect(marksOf({}, 1).mirror).toBeUndefined();
  });

  test("who settled an Apply is what admission stamped, or nobody", () => {
    const word = { [annotation.settledApply]: "sha256:x" };
    expect(marksOf({ ...word, [annotation.settledApplyBy]: '{"username":"ann"}' }, 1).settledApply?.by?.username).toBe(
      "ann",
    );
    expect(marksOf({ ...word, [annotation.settledApplyBy]: "ann" }, 1).settledApply?.by).toBeUndefined();
  });
});

describe("whether a Pod's operation ended", () => {
  const pod = (status: Pod["status"], nodeName: string | undefined = "n"): Pod => ({
    metadata: { name: "p", uid: "u", resourceVersion: "1" },
    spec: { containers: [], nodeName },
    status,
  });

  test("a terminated container ended", () => {
    expect(
      isTerminated(
        pod({ phase: "Failed", containerStatuses: [{ name: "ptah", state: { terminated: { exitCode: 0 } } }] }),
      ),
    ).toBe(true);
  });
  test("a running container did not, whatever the phase says", () => {
    expect(isTerminated(pod({ phase: "Failed", containerStatuses: [{ name: "ptah", state: { running: {} } }] }))).toBe(
      false,
    );
  });
  test("a Pod that ended without starting its container counts", () => {
    expect(isTerminated(pod({ phase: "Failed", reason: "Evicted" }))).toBe(true);
  });
  test("a Pod that was collected because its node was lost proves nothing", () => {
    const conditions = [{ type: "DisruptionTarget", status: "True", reason: "DeletionByPodGC" }];
    expect(isTerminated(pod({ phase: "Failed", conditions }))).toBe(false);
  });
  test("a Pod that waits did not end", () => {
    expect(isTerminated(pod({ phase: "Pending", containerStatuses: [{ name: "ptah", state: { waiting: {} } }] }))).toBe(
      false,
    );
  });
});

describe("what a Pod that cannot start is missing", () => {
  test("is named as the kubelet names it", () => {
    expect(missingObject('secret "orders-db" not found')).toBe("Secret orders-db does not exist");
    expect(missingObject('configmap "ca" not found')).toBe("ConfigMap ca does not exist");
    expect(missingObject("couldn't find key url in Secret shop/orders-db")).toBe("Secret orders-db has no key url");
  });

  test("is nothing where the message is any other", () => {
    expect(missingObject('secret "orders-db" not found: postgres://a:b@c')).toBeUndefined();
    expect(missingObject("failed to pull image")).toBeUndefined();
  });
});

describe("what of a foreign holder may still write", () => {
  const claim = { jobName: "j", dispatchStarted: true, jobUID: "u", podCount: 1 };

  const schema = familyOf({ kind: "PtahSchema" });
  const migration = familyOf({ kind: "PtahMigration" });
  test("a dispatched Apply is an attempt with its evidence", () => {
    const status = { activeOperation: { ...claim, type: "Apply" } } as never;
    expect(attemptOf(schema, status, "j")).toMatchObject({ jobName: "j", jobUID: "u", podCount: 1 });
  });

  test("a reading and an undispatched Apply ended before they began", () => {
    for (const other of [
      { ...claim, type: "Plan" },
      { ...claim, type: "Apply", dispatchStarted: undefined },
    ]) {
      const attempt = attemptOf(schema, { activeOperation: other } as never, "j");
      expect(attempt).not.toBeNull();
      expect(mayStillWrite(attempt!, Date.parse("2026-01-01T00:00:00Z"))).toBe(false);
    }
  });

  test("of another Job nothing is known", () => {
    expect(attemptOf(schema, { activeOperation: { ...claim, type: "Apply" } } as never, "other")).toBeNull();
  });
  test("a record is found where the holder's family keeps it", () => {
    const record = { job: { name: "j", uid: "u" }, pods: [], podCount: 0, observeAfter: "2026-01-01T00:00:00Z" };
    expect(attemptOf(migration, { unresolvedRun: record } as never, "j")).toMatchObject({ jobUID: "u" });
    expect(attemptOf(schema, { unresolvedRun: record } as never, "j")).toBeNull();
    expect(attemptOf(schema, { pendingObservation: record } as never, "j")).toMatchObject({ jobUID: "u" });
  });
});
