import { describe, expect, test } from "bun:test";
import { coordinationDigest } from "../crds/fingerprints.ts";
import { label, MANAGED_BY } from "../crds/names.ts";
import type { Job, Pod, RawCustom } from "../kube/index.ts";
import { Caches } from "./caches.ts";
import { STATE_VERSION } from "./contract.ts";
import { claimantFacts } from "./entries.ts";
import { Metrics } from "./metrics.ts";

const TARGET = { engine: "postgresql", coordinationKey: "shop", urlFrom: { name: "db", key: "url" } };
const MYSQL = { ...TARGET, engine: "mysql" };

let version = 1;
function object(kind: string, name: string, uid: string, spec: object, status?: object): RawCustom {
  version += 1;
  const metadata = { name, namespace: "shop", uid, resourceVersion: String(version), generation: 1 };
  return {
    apiVersion: "operator.ptah.run/v1alpha1",
    kind,
    metadata,
    spec,
    ...(status === undefined ? {} : { status }),
  };
}
const schema = (target: object = TARGET) =>
  object("PtahSchema", "a", "us", { target, desired: { configMap: { name: "files" } } });
const migration = (target: object = TARGET, status?: object) =>
  object("PtahMigration", "a", "um", { target, artifact: { configMap: { name: "files" } } }, status);

function made() {
  const woken: string[] = [];
  const unreadable: string[] = [];
  const caches = new Caches({
    namespace: undefined,
    stateVersion: STATE_VERSION,
    wake: (key) => woken.push(key),
    onError: () => undefined,
    onUnreadable: (kind) => unreadable.push(kind),
  });
  const of = (kind: string) => caches.of({ kind });
  const learn = (one: RawCustom) => of(one.kind ?? "").resources.learn(one);
  const taken = () => woken.splice(0);
  return { caches, of, learn, taken, unreadable };
}
const SCHEMA = "PtahSchema/shop/a";
const MIGRATION = "PtahMigration/shop/a";

describe("what the caches tell of both families", () => {
  test("two resources of one name are two, and neighbours of one realm", () => {
    const { caches, learn, taken } = made();
    learn(schema());
    learn(migration());
    expect(taken()).toEqual([SCHEMA, MIGRATION, SCHEMA]);
    const realm = coordinationDigest("shop", TARGET as never) ?? "";
    expect([...caches.claimants(realm)].map(claimantFacts)).toMatchObject([
      { family: "schema", uid: "us", engineSupported: true },
      { family: "migration", uid: "um", engineSupported: true },
    ]);
  });

  test("a Lease that was owed back and is no longer wakes the neighbours that wait for it", () => {
    const { learn, taken } = made();
    const release = { coordinationDigest: `sha256:${"a".repeat(64)}`, leaseEpoch: `v1-${"b".repeat(32)}` };
    learn(schema());
    learn(migration(TARGET, { pendingLockRelease: release }));
    taken();
    learn(migration(TARGET, {}));
    expect(taken()).toEqual([MIGRATION, SCHEMA]);
  });

  test("an engine that one family runs may be one that the other does not", () => {
    const { caches, learn } = made();
    learn(schema(MYSQL));
    learn(migration(MYSQL));
    const supported = [...caches.readable()].map((facts) => claimantFacts(facts).engineSupported);
    expect(supported).toEqual([false, true]);
  });

  test("a ConfigMap wakes the resources of either family that take it as their source", () => {
    const { caches, learn, taken } = made();
    learn(schema());
    learn(migration());
    taken();
    caches.configMaps.learn({ metadata: { name: "files", namespace: "shop", uid: "c", resourceVersion: "1" } });
    expect(taken()).toEqual([SCHEMA, MIGRATION]);
  });

  test("a Pod wakes the resource that its family's label names", () => {
    const { caches, taken } = made();
    const pod = (name: string, labels: Record<string, string>): Pod => ({
      metadata: {
        name,
        namespace: "shop",
        uid: name,
        resourceVersion: "1",
        labels: { [label.managedBy]: MANAGED_BY, ...labels },
      },
      spec: { containers: [] },
    });
    caches.pods.learn(pod("p", { [label.migration]: "a" }));
    caches.pods.learn(pod("q", { [label.schema]: "a" }));
    caches.pods.learn(pod("r", {}));
    expect(taken()).toEqual([MIGRATION, SCHEMA]);
  });

  test("a version of a Pod or a Job that says nothing new wakes nobody, and every fact that changes wakes", () => {
    const { caches, learn, taken } = made();
    learn(schema());
    taken();
    const metadata = { name: "o", namespace: "shop", uid: "o", generation: 1 };
    const labels = { [label.managedBy]: MANAGED_BY, [label.schema]: "a" };
    const owner = {
      apiVersion: "operator.ptah.run/v1alpha1",
      kind: "PtahSchema",
      name: "a",
      uid: "us",
      controller: true,
    };
    const pod = (resourceVersion: string, status: object): Pod =>
      ({ metadata: { ...metadata, labels, resourceVersion }, spec: { containers: [] }, status }) as unknown as Pod;
    const job = (resourceVersion: string, status: object): Job =>
      ({
        metadata: { ...metadata, ownerReferences: [owner], resourceVersion },
        spec: { template: { spec: { containers: [] } } },
        status,
      }) as unknown as Job;
    caches.pods.learn(pod("10", { phase: "Pending" }));
    caches.jobs.learn(job("11", {}));
    expect(taken()).toEqual([SCHEMA, SCHEMA]);
    caches.pods.learn(pod("12", { phase: "Running" }));
    caches.jobs.learn(job("13", { active: 1, ready: 1 }));
    expect(taken()).toEqual([]);
    caches.pods.learn(pod("14", { phase: "Succeeded" }));
    caches.jobs.learn(job("15", { conditions: [{ type: "Complete", status: "True" }] }));
    expect(taken()).toEqual([SCHEMA, SCHEMA]);
    caches.pods.forget({ namespace: "shop", name: "o" });
    caches.jobs.forget({ namespace: "shop", name: "o" });
    expect(taken()).toEqual([SCHEMA, SCHEMA]);
  });

  test("what a pass brought itself wakes the others it concerns, not its own resource", () => {
    const { of, taken } = made();
    const learn = (one: RawCustom) => of(one.kind ?? "").resources.learn(one, SCHEMA);
    learn(schema());
    expect(taken()).toEqual([]);
    learn(migration());
    expect(taken()).toEqual([MIGRATION]);
    learn(
      object("PtahSchema", "a", "us", { target: TARGET, suspend: true, desired: { configMap: { name: "files" } } }),
    );
    expect(taken()).toEqual([MIGRATION]);
  });

  test("an acknowledgment is a word about the resource it names, and wakes it", () => {
    const { of, learn, taken, caches } = made();
    learn(migration());
    taken();
    const spec = {
      migrationRef: { name: "a", uid: "um" },
      operationID: `sha256:${"b".repeat(64)}`,
      acknowledgedBy: { username: "ann" },
      acknowledgedAt: "2026-01-01T00:00:00Z",
      mutationRequestUID: "r",
    };
    of("PtahMigration").acknowledgments?.learn(object("PtahMigrationRunAcknowledgment", "w", "uw", spec));
    expect(taken()).toEqual([MIGRATION]);
    const [resource] = caches.readable();
    expect(resource === undefined ? [] : of("PtahMigration").acknowledgmentsOf(resource)).toMatchObject([
      { resourceUID: "um", by: { username: "ann" }, stamped: true },
    ]);
    expect(resource === undefined ? [] : of("PtahSchema").acknowledgmentsOf(resource)).toBeUndefined();
  });

  test("one that cannot be read is told of, kept, and never decided about", () => {
    const { caches, learn, unreadable } = made();
    learn(object("PtahMigration", "a", "um", { target: 1 }));
    expect(unreadable).toEqual(["PtahMigration"]);
    expect(caches.resource(MIGRATION)?.state).toBe("unreadable");
    expect([...caches.readable()]).toEqual([]);
  });
});

describe("metrics of both families", () => {
  test("counters say whose transition it was, and who does not lead gives no gauge a wrong zero", async () => {
    const { caches, of } = made();
    const metrics = new Metrics();
    const move = { kind: "createPlan", metrics: [{ metric: "plans_total", destructive: false }] } as never;
    metrics.count(move, of("PtahMigration").family, "mysql");
    metrics.count(move, of("PtahSchema").family, "postgresql");
    metrics.passEnded(of("PtahMigration").family, "error");
    const page = await metrics.scrape(caches, { wallMs: () => 0, monotonicMs: () => 0 }, false);
    expect(page).toContain('plans_total{family="migration",engine="mysql",destructive="unknown"} 1');
    expect(page).toContain('plans_total{family="schema",engine="postgresql",destructive="false"} 1');
    expect(page).toContain('reconciliations_total{family="migration",result="error"} 1');
    expect(page).toContain("unresolved_view_synced 0");
    expect(page).not.toMatch(/^ptah_operator_stored_plan/m);
  });
});
