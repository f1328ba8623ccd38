import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sha256Digest } from "../../crds/canonical.ts";
import { FINALIZER, leaseName, MIGRATION_FINALIZER, RECORDED_GATE } from "../../crds/names.ts";
import type { Effect } from "../../manager/perform/perform.ts";
import { realWorld } from "../../manager/ports.ts";
import type { Reader, Reading } from "../../manager/view/reader.ts";
import { templateDigest } from "../../workload/digest.ts";
import { buildTemplate } from "../../workload/job.ts";
import { samples } from "../../workload/testing/samples.ts";
import { type KubectlTarget, kubectl, kubectlJson, tryKubectl } from "../cluster/kubectl.ts";
import { openCluster } from "../cluster/open.ts";
import { createProgress } from "../cluster/progress.ts";
import { waitFor } from "../cluster/wait.ts";
import { digest, files, IMAGE, NAMESPACE, planSpec, schema, sequenceSpec } from "./manager-shell.ts";
import { applyRoles, openShell, type Shell } from "./shell-under-roles.ts";
import { migrationFiles, migrationObject } from "./standing-migration-plan.ts";

/**
 * The manager's readings and effects against a real API server, as the ServiceAccount and under the roles that the
 * manifests give it. No decision takes part: each effect is asked for as a decision would.
 */

const KEY = `PtahSchema/${NAMESPACE}/storefront`;
const START_MS = 60_000;
let target: KubectlTarget;
let reader: Shell["reader"];
let act: Shell["act"];
let memories: Shell["memories"];
let shell: Shell;
const world = realWorld();

beforeAll(async () => {
  const cluster = await openCluster({ progress: createProgress(), apiOnly: true });
  await cluster.up({ apiOnly: true });
  target = { kubectl: cluster.kubectl, kubeconfig: cluster.kubeconfig };
  await applyRoles(target);
  await tryKubectl(target, ["create", "namespace", NAMESPACE]);
  await tryKubectl(target, ["create", "serviceaccount", "default", "-n", NAMESPACE]);
  await waitFor("PtahSchema is served", () => kubectl(target, ["get", "ptahs", "-n", NAMESPACE]), {
    timeoutMs: 20_000,
  });
  await cleanUp();
  await kubectl(target, ["create", "-f", "-"], {
    input: JSON.stringify({
      apiVersion: "v1",
      kind: "List",
      items: [files, schema, migrationFiles(NAMESPACE), migrationObject(NAMESPACE, "ledger")],
    }),
  });

  shell = await openShell(target);
  ({ reader, memories, act } = shell);
}, START_MS);

async function cleanUp(): Promise<void> {
  const ours = [
    "ptahs,ptahplan,ptahchunk,ptahm,ptahmplan,ptahmack,configmaps,pods,jobs",
    "--all",
    "-n",
    NAMESPACE,
    "--wait=false",
    "--ignore-not-found",
  ];
  await tryKubectl(target, [
    "patch",
    "ptahs",
    "storefront",
    "-n",
    NAMESPACE,
    "--type=merge",
    "-p",
    '{"metadata":{"finalizers":null}}',
  ]);
  const freed = '{"metadata":{"finalizers":null}}';
  await tryKubectl(target, ["patch", "ptahm", "ledger", "-n", NAMESPACE, "--type=merge", "-p", freed]);
  await tryKubectl(target, ["delete", ...ours, "--grace-period=0", "--force"]);
}

afterAll(async () => {
  shell?.stop();
  await cleanUp();
});

async function begin(fresh = true, key = KEY): Promise<Reading> {
  const reading = await reader.begin(key, fresh);
  if ("nothing" in reading) throw new Error(reading.nothing);
  return reading;
}

async function look(what: Parameters<Reader["look"]>[1], key = KEY): Promise<Reading> {
  const reading = await reader.look(await begin(true, key), what);
  if ("nothing" in reading) throw new Error(reading.nothing);
  return reading;
}

const on = (reading: Reading) => {
  const { uid, resourceVersion } = reading.view.resource.value;
  return { uid, resourceVersion, rule: "test" };
};

describe("views", () => {
  test("the first view holds what the caches know, source and realm included", async () => {
    const { view } = await begin(false);
    expect(view.resource.value).toMatchObject({
      namespace: NAMESPACE,
      name: "storefront",
      finalizer: false,
      deleting: false,
    });
    expect(view.source?.value).toMatchObject({ state: "resolved", kind: "ConfigMap", fileCount: 1 });
    expect(view.census?.value.others).toEqual([]);
    expect(view.plans?.value).toEqual([]);
  });

  test("every piece can be read uncached under the manager's roles", async () => {
    const { view } = await look([
      { piece: "resource" },
      { piece: "plans" },
      { piece: "approvals" },
      { piece: "source" },
      { piece: "snapshots" },
      { piece: "census" },
      { piece: "envelope" },
      { piece: "plan", name: "none" },
      { piece: "projections", planName: "none" },
      { piece: "job", name: "none" },
      { piece: "pods", jobName: "none" },
      { piece: "lease", digest: digest("9") },
      {
        piece: "foreignHolder",
        holder: "h",
        owner: { kind: "PtahSchema", namespace: NAMESPACE, name: "none", uid: "u", jobName: "j" },
      },
    ]);
    const pieces = [view.resource, view.plans, view.approvals, view.source, view.snapshots, view.census, view.envelope];
    expect(
      [...pieces, view.plan, view.projections, view.job, view.pods, view.lease].map((piece) => piece?.how),
    ).toEqual(Array(12).fill("fresh"));
    expect(view.envelope?.value.state).toBe("resolved");
    expect(view.plan?.value.object).toBeNull();
    expect(view.job?.value.job).toBeNull();
    expect(view.lease?.value.lease).toBeNull();
    expect(view.foreignHolder?.value).toMatchObject({ attempt: null, job: null, pods: [] });
  });

  test("an edit of the source's ConfigMap is another content", async () => {
    const before = (await begin(false)).view.source?.value;
    await kubectl(target, [
      "patch",
      "configmap",
      "files",
      "-n",
      NAMESPACE,
      "--type=merge",
      "-p",
      '{"data":{"b.sql":"select 1;"}}',
    ]);
    const changed = async () => (await begin(false)).view.source?.value;
    await waitFor(
      "the edit shows",
      async () => {
        const now = await changed();
        return now?.state === "resolved" && before?.state === "resolved" && now.contentDigest !== before.contentDigest;
      },
      { timeoutMs: 5_000 },
    );
    expect(await changed()).toMatchObject({ fileCount: 2 });
  });
});

describe("effects on the resource", () => {
  test("a claim sets our finalizer beside the others and the status; the caches know it at once", async () => {
    const reading = await begin();
    const status = { phase: "Observing", observedGeneration: 1 } as const;
    expect(await act(reading, { ...on(reading), kind: "claim", finalizer: true, status })).toBe("done");
    const { value } = (await begin(false)).view.resource;
    expect(value).toMatchObject({ finalizer: true, status: { phase: "Observing" } });
    const stored = await kubectlJson<{ metadata: { finalizers: string[] } }>(target, [
      "get",
      "ptahs",
      "storefront",
      "-n",
      NAMESPACE,
    ]);
    expect(stored.metadata.finalizers).toEqual(["example.test/other", FINALIZER]);
  });

  test("a status is replaced whole, and only on the version that was read", async () => {
    const reading = await begin();
    const status = { phase: "Pending", planSerial: 3 } as const;
    expect(await act(reading, { ...on(reading), kind: "patchStatus", status })).toBe("done");
    expect(await act(reading, { ...on(reading), kind: "patchStatus", status: { phase: "Failed" } })).toBe("again");
    const after = await begin();
    expect(after.view.resource.value.status).toEqual({ phase: "Pending", planSerial: 3 });
    expect(await act(after, { ...on(after), kind: "patchStatus", status: { phase: "Pending" } })).toBe("done");
    expect((await begin()).view.resource.value.status).toEqual({ phase: "Pending" });
  });

  test("annotations are set and removed, on the version that was read", async () => {
    const reading = await begin();
    const set = { "operator.ptah.run/unsettled-apply": "{}" };
    expect(await act(reading, { ...on(reading), kind: "patchMetadata", annotations: set })).toBe("done");
    const after = await begin(false);
    expect(after.view.resource.value.marks.mirror).toEqual({ state: "unreadable" });
    const unset = { "operator.ptah.run/unsettled-apply": null };
    expect(await act(after, { ...on(after), kind: "patchMetadata", annotations: unset, finalizer: "remove" })).toBe(
      "done",
    );
    expect((await begin(false)).view.resource.value).toMatchObject({ finalizer: false, marks: {} });
  });
});

describe("effects on other objects", () => {
  test("a snapshot is made of exactly the ConfigMap that was looked at, once", async () => {
    const reading = await look([{ piece: "source" }]);
    const source = reading.view.source?.value;
    if (source?.state !== "resolved") throw new Error("the source was not resolved");
    const move: Effect = {
      kind: "createSnapshot",
      rule: "15",
      name: "unused",
      contentDigest: source.contentDigest,
      source: { identity: source.identity, resourceVersion: source.resourceVersion },
    };
    expect(await act(reading, move)).toBe("done");
    expect(await act(reading, move)).toBe("again");
    const [snapshot] = (await look([{ piece: "snapshots" }])).view.snapshots?.value ?? [];
    expect(snapshot).toMatchObject({ contentDigest: source.contentDigest, intact: true });
    expect((await begin(false)).view.snapshots?.value.length).toBe(1);
    const old = { ...move, source: { ...move.source, resourceVersion: "1" } };
    expect(await act(reading, old)).toBe("again");
  });

  test("a plan is published as object, chunk, Ready and projection, and can be deleted", async () => {
    const name = `ptah-plan-${"5".repeat(24)}`;
    const bytes = Buffer.from('{"statements":[]}');
    const reading = await begin();
    const spec = planSpec(name, bytes, reading.view.resource.value.uid);
    expect(await act(reading, { kind: "createPlan", rule: "6", name, spec })).toBe("done");
    const plan = (await look([{ piece: "plan", name }])).view.plan?.value.object;
    expect(plan).toMatchObject({ ownedByUs: true, ready: false });
    const planUID = plan?.uid ?? "";
    const chunk: Effect = {
      kind: "createChunk",
      rule: "6",
      planName: name,
      planUID,
      index: 0,
      name: `${name}-000`,
      bytes,
    };
    expect(await act(reading, chunk)).toBe("done");
    expect(await act(reading, chunk)).toBe("again");
    const [read] = (await look([{ piece: "plan", name }])).view.plan?.value.chunks ?? [];
    expect(read).toMatchObject({ index: 0, digest: sha256Digest(bytes), ownerUID: planUID });
    const ready: Effect = {
      kind: "markPlanReady",
      rule: "6",
      name,
      uid: planUID,
      resourceVersion: plan?.resourceVersion ?? "",
      chunks: [{ name: `${name}-000`, uid: read?.uid ?? "", index: 0 }],
    };
    expect(await act(reading, ready)).toBe("done");
    expect(await act(reading, ready)).toBe("again");
    const projection: Effect = {
      kind: "createProjection",
      rule: "6",
      planName: name,
      planUID,
      index: 0,
      name: `${name}-000`,
      digest: sha256Digest(bytes),
    };
    expect(await act(reading, projection)).toBe("done");
    const after = await look([{ piece: "projections", planName: name }, { piece: "plans" }, { piece: "plan", name }]);
    expect(after.view.projections?.value).toMatchObject([{ planUID, digest: sha256Digest(bytes), immutable: true }]);
    expect(after.view.plan?.value.object?.ready).toBe(true);
    const [owned] = after.view.plans?.value ?? [];
    const remove: Effect = {
      kind: "deletePlan",
      rule: "11",
      name,
      uid: planUID,
      resourceVersion: owned?.resourceVersion ?? "",
    };
    expect(await act(reading, { ...remove, resourceVersion: "1" })).toBe("again");
    expect(await act(reading, remove)).toBe("done");
    expect((await look([{ piece: "plans" }])).view.plans?.value).toEqual([]);
  });

  test("a Lease is acquired, renewed and released on exactly the version that was read", async () => {
    const lease = digest("7");
    await tryKubectl(target, ["delete", "lease", leaseName(lease), "-n", "ptah-system"]);
    const reading = await begin();
    const content = {
      holder: "ptah-h-x",
      epoch: `v1-${"4".repeat(32)}`,
      durationSeconds: 960,
      acquiredAtMs: 1_764_000_000_123,
      renewedAtMs: 1_764_000_000_123,
      transitions: 0,
      owner: { kind: "PtahSchema", namespace: NAMESPACE, name: "storefront", uid: "u", jobName: "j" },
    };
    expect(await act(reading, { kind: "writeLease", rule: "3", purpose: "acquire", digest: lease, content })).toBe(
      "done",
    );
    expect(await act(reading, { kind: "writeLease", rule: "3", purpose: "acquire", digest: lease, content })).toBe(
      "again",
    );
    const held = (await look([{ piece: "lease", digest: lease }])).view.lease?.value.lease;
    expect(held).toMatchObject(content);
    const over = { uid: held?.uid ?? "", resourceVersion: held?.resourceVersion ?? "" };
    const renewed = { ...content, renewedAtMs: content.renewedAtMs + 1_000 };
    expect(
      await act(reading, { kind: "writeLease", rule: "3", purpose: "renew", digest: lease, content: renewed, over }),
    ).toBe("done");
    expect(
      await act(reading, { kind: "writeLease", rule: "3", purpose: "renew", digest: lease, content: renewed, over }),
    ).toBe("again");
    const now = (await look([{ piece: "lease", digest: lease }])).view.lease?.value.lease;
    const { owner: _gone, ...free } = { ...renewed, holder: "" };
    const release = { uid: now?.uid ?? "", resourceVersion: now?.resourceVersion ?? "" };
    expect(
      await act(reading, {
        kind: "writeLease",
        rule: "3",
        purpose: "release",
        digest: lease,
        content: free,
        over: release,
      }),
    ).toBe("done");
    expect((await look([{ piece: "lease", digest: lease }])).view.lease?.value.lease).toMatchObject({
      holder: "",
      epoch: content.epoch,
    });
  });

  test("a dispatched Job is read back with the digest it was built with, once, and gets its TTL", async () => {
    const reading = await begin();
    const { uid, name, namespace } = reading.view.resource.value;
    const job = { ...samples.apply, resource: { ...samples.apply.resource, uid, name, namespace } };
    const dispatch = { kind: "dispatch", status: { phase: "Applying" }, job } as const;
    expect(await act(reading, { ...on(reading), ...dispatch })).toBe("done");
    expect(memories.of(uid, job.jobName, undefined).createFailed).toBeUndefined();
    const read = (await look([{ piece: "job", name: job.jobName }])).view.job?.value.job;
    expect(read).toMatchObject({
      ownerUID: uid,
      operationID: job.operationID,
      oneShot: true,
      templateDigest: templateDigest(buildTemplate(job)),
    });
    const again = await begin();
    expect(await act(again, { ...on(again), ...dispatch })).toBe("done");
    expect(memories.of(uid, job.jobName, undefined).createFailed?.code).toBe("AlreadyExists");
    const ttl: Effect = {
      kind: "scheduleTtl",
      rule: "10",
      jobName: job.jobName,
      jobUID: read?.uid ?? "",
      ttlSeconds: 300,
    };
    expect(await act(reading, { ...ttl, jobUID: "another" })).toBe("again");
    expect(await act(reading, ttl)).toBe("done");
    expect((await look([{ piece: "job", name: job.jobName }])).view.job?.value.job?.ttlSeconds).toBe(300);
  });

  test("the gate of exactly the recorded Pod is opened, in time", async () => {
    const job = (await look([{ piece: "job", name: samples.apply.jobName }])).view.job?.value.job;
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: "gated",
        namespace: NAMESPACE,
        labels: { "app.kubernetes.io/managed-by": "ptah-operator", "operator.ptah.run/schema": "storefront" },
        ownerReferences: [
          { apiVersion: "batch/v1", kind: "Job", name: samples.apply.jobName, uid: job?.uid, controller: true },
        ],
      },
      spec: {
        schedulingGates: [{ name: RECORDED_GATE }],
        tolerations: [],
        containers: [{ name: "ptah", image: IMAGE }],
      },
    };
    await kubectl(target, ["create", "-f", "-"], { input: JSON.stringify(pod) });
    const piece = { piece: "pods", jobName: samples.apply.jobName, jobUID: job?.uid ?? "" } as const;
    const reading = await look([piece]);
    const [found] = reading.view.pods?.value.pods ?? [];
    expect(found).toMatchObject({ name: "gated", gated: true, terminated: false, accepted: false });
    const open: Effect = {
      kind: "openGate",
      rule: "8",
      podName: "gated",
      podUID: found?.uid ?? "",
      resourceVersion: found?.resourceVersion ?? "",
      notAfterMs: world.wallMs() + 60_000,
    };
    expect(await act(reading, { ...open, notAfterMs: world.wallMs() - 1 })).toBe("again");
    expect(await act(reading, { ...open, podUID: "another" })).toBe("again");
    expect(await act(reading, open)).toBe("done");
    expect((await look([piece])).view.pods?.value.pods[0]?.gated).toBe(false);
  });
});

describe("the other family", () => {
  const LEDGER = `PtahMigration/${NAMESPACE}/ledger`;

  test("has its own finalizer and source", async () => {
    const reading = await begin(true, LEDGER);
    expect(reading.view).toMatchObject({
      family: "migration",
      source: { value: { state: "resolved", fileCount: 1 } },
      acknowledgments: { value: [] },
    });
    const status = { phase: "Reading", observedGeneration: 1 } as const;
    expect(await act(reading, { ...on(reading), kind: "claim", finalizer: true, status })).toBe("done");
    const stored = await kubectlJson<{ metadata: { finalizers: string[] } }>(target, [
      ...["get", "ptahm", "ledger", "-n", NAMESPACE],
    ]);
    expect(stored.metadata.finalizers).toEqual([MIGRATION_FINALIZER]);
  });

  test("a plan without chunks is published as one object, and Ready once it was read back", async () => {
    const name = `ptah-mplan-${"5".repeat(24)}`;
    const reading = await begin(true, LEDGER);
    const spec = sequenceSpec(reading.view.resource.value.uid);
    expect(await act(reading, { kind: "createPlan", rule: "6", name, spec })).toBe("done");
    expect(await act(reading, { kind: "createPlan", rule: "6", name, spec })).toBe("again");
    const plan = (await look([{ piece: "plan", name }], LEDGER)).view.plan?.value;
    expect(plan).toMatchObject({ chunks: [], object: { ownedByUs: true, ready: false } });
    const { uid = "", resourceVersion = "" } = plan?.object ?? {};
    const ready: Effect = { kind: "markPlanReady", rule: "6", name, uid, resourceVersion, chunks: [] };
    expect(await act(reading, ready)).toBe("done");
    expect(await act(reading, ready)).toBe("again");
    const after = await look([{ piece: "plan", name }, { piece: "plans" }], LEDGER);
    expect(after.view.plan?.value.object?.ready).toBe(true);
    const [owned] = after.view.plans?.value ?? [];
    const remove = {
      kind: "deletePlan",
      rule: "11",
      name,
      uid,
      resourceVersion: owned?.resourceVersion ?? "",
    } as const;
    expect(await act(after, remove)).toBe("done");
  });

  test("an acknowledgment is read, and told what it has become on the version that was read", async () => {
    const reading = await begin(true, LEDGER);
    const spec = {
      migrationRef: { name: "ledger", uid: reading.view.resource.value.uid },
      operationID: digest("b"),
      acknowledgedBy: { username: "ann" },
      acknowledgedAt: "2026-01-01T00:00:00Z",
      mutationRequestUID: "r",
    };
    const word = {
      apiVersion: "operator.ptah.run/v1alpha1",
      kind: "PtahMigrationRunAcknowledgment",
      metadata: { name: "word", namespace: NAMESPACE },
      spec,
    };
    await kubectl(target, ["create", "-f", "-"], { input: JSON.stringify(word) });
    const [read] = (await look([{ piece: "acknowledgments" }], LEDGER)).view.acknowledgments?.value ?? [];
    expect(read).toMatchObject({ name: "word", operationID: digest("b"), stamped: true, by: { username: "ann" } });
    const { uid = "", resourceVersion = "" } = read ?? {};
    const status = { observedGeneration: 1 };
    const mark: Effect = { kind: "markAcknowledgment", rule: "11", name: "word", uid, resourceVersion, status };
    expect(await act(reading, mark)).toBe("done");
    expect(await act(reading, mark)).toBe("again");
    expect((await begin(false, LEDGER)).view.acknowledgments?.value).toMatchObject([{ status }]);
  });
});
