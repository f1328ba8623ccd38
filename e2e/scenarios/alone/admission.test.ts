import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { annotation, FINALIZER, RECORDED_GATE } from "../../../crds/names.ts";
import { templateDigest } from "../../../workload/digest.ts";
import { DEFAULT_ADMISSION_FLAGS, resolveEnvelope, sealSnapshot } from "../../../workload/envelope.ts";
import { buildJob, buildTemplate } from "../../../workload/job.ts";
import type { OperationSpec } from "../../../workload/operation.ts";
import { samples } from "../../../workload/testing/samples.ts";
import { applyObjects, type KubectlTarget, kubectl, kubectlJson, tryKubectl } from "../../cluster/kubectl.ts";
import { openCluster } from "../../cluster/open.ts";
import { createProgress } from "../../cluster/progress.ts";
import { waitFor } from "../../cluster/wait.ts";
import { type Admission, MANAGER, NAMESPACE, startAdmission } from "../admission.ts";
import { as, attemptsIn } from "../attempts.ts";
import {
  approvalObject,
  digest,
  type Meta,
  type Published,
  publishPlan,
  schemaObject as schemaIn,
  sourceFiles,
  TEXT,
} from "../standing-plan.ts";

/** The webhook and its certificates against a real API server, each under the roles that the manifests give it. */

const START_MS = 90_000;
const IMAGE = `registry.example/ptah@${digest("1")}`;
const OPERATION = digest("a");

let target: KubectlTarget;
let admission: Admission;
const ANN = as("ann", "system:masters", "dba");
const BOB = as("bob", "system:masters");
/** kubectl reads what it patches, which the manager's own role does not need. */
const OPERATOR = as(MANAGER, "system:masters");
const JOB_CONTROLLER = as("system:serviceaccount:kube-system:job-controller", "system:masters");

const { here, attempt, create, merge, get } = attemptsIn(NAMESPACE, () => target);

const schemaObject = (name: string, spec: object = {}, metadata: object = {}) =>
  schemaIn(NAMESPACE, name, spec, metadata);
const setStatus = (name: string, status: object) => merge("ptahs", name, { status }, OPERATOR, "--subresource=status");

async function cleanUp(): Promise<void> {
  const removeFinalizers = '{"metadata":{"finalizers":null}}';
  for (const name of ["orders", "restored"])
    await tryKubectl(target, here("patch", "ptahs", name, "--type=merge", "-p", removeFinalizers));
  // There is no Job controller here that would end the tracking of its Pods.
  for (const pod of (await kubectl(target, here("get", "pods", "-o", "name")))
    .split("\n")
    .filter((name) => name !== "")) {
    await tryKubectl(target, here("patch", pod, "--type=merge", "-p", removeFinalizers));
  }
  const kinds = "ptahs,ptahplan,ptahchunk,ptahapprove,configmaps,pods,jobs";
  await tryKubectl(
    target,
    here("delete", kinds, "--all", "--wait=false", "--ignore-not-found", "--grace-period=0", "--force"),
  );
}

beforeAll(async () => {
  const cluster = await openCluster({ progress: createProgress(), apiOnly: true });
  await cluster.up({ apiOnly: true });
  target = { kubectl: cluster.kubectl, kubeconfig: cluster.kubeconfig };
  await tryKubectl(target, ["create", "namespace", NAMESPACE]);
  await tryKubectl(target, here("create", "serviceaccount", "default"));
  await cleanUp();
  admission = await startAdmission(target, ["--always-group=dba"]);
  await applyObjects(target, [sourceFiles(NAMESPACE)]);
  const always = schemaObject("probe", { policy: { apply: "Always" } });
  const inForce = async () => (await create(always, BOB, "--dry-run=server")).includes("Always may only be set");
  await waitFor("the webhook is in force", inForce, { timeoutMs: 20_000 });
}, START_MS);

afterAll(async () => {
  await admission?.stop();
  await cleanUp();
});

describe("a PtahSchema", () => {
  test("is created by anybody who may, but with apply: Always by the listed group alone", async () => {
    expect(await create(schemaObject("orders"), BOB)).toBe("");
    expect(await merge("ptahs", "orders", { spec: { policy: { apply: "Always" } } }, BOB)).toContain(
      "Always may only be set",
    );
    expect(await merge("ptahs", "orders", { spec: { policy: { apply: "Always" } } }, ANN)).toBe("");
    expect(await merge("ptahs", "orders", { spec: { policy: { apply: "OnApproval" } } }, BOB)).toBe("");
  });
  test("that comes with a mirror is a restore: it stays and gets our finalizer, and nobody else may change it", async () => {
    const mirror = JSON.stringify({ version: 1, operationID: OPERATION });
    expect(
      await create(schemaObject("restored", {}, { annotations: { [annotation.unsettledApply]: mirror } }), BOB),
    ).toBe("");
    const stored = await get<{ metadata: { finalizers: string[] } }>("ptahs", "restored");
    expect(stored.metadata.finalizers).toEqual([FINALIZER]);
    const gone = { metadata: { annotations: { [annotation.unsettledApply]: null } } };
    expect(await merge("ptahs", "restored", gone, BOB)).toContain("changed by the operator alone");
    expect(await merge("ptahs", "restored", { metadata: { finalizers: null } }, BOB)).toBe("");
    const kept = await get<{ metadata: { finalizers: string[] } }>("ptahs", "restored");
    expect(kept.metadata.finalizers).toEqual([FINALIZER]);
    expect(await merge("ptahs", "restored", gone, OPERATOR)).toBe("");
    expect(await merge("ptahs", "restored", { metadata: { finalizers: null } }, OPERATOR)).toBe("");
  });
  test("is settled by a named person", async () => {
    const word = {
      metadata: { annotations: { [annotation.settledApply]: OPERATION, [annotation.settledApplyBy]: "eve" } },
    };
    expect(await merge("ptahs", "orders", word, BOB)).toContain("nothing to settle");
    const mirror = {
      metadata: {
        annotations: { [annotation.unsettledApply]: JSON.stringify({ version: 1, operationID: OPERATION }) },
      },
    };
    expect(await merge("ptahs", "orders", mirror, OPERATOR)).toBe("");
    expect(await merge("ptahs", "orders", word, BOB)).toBe("");
    const stored = await get<{ metadata: { annotations: Record<string, string> } }>("ptahs", "orders");
    expect(JSON.parse(stored.metadata.annotations[annotation.settledApplyBy] ?? "")).toMatchObject({ username: "bob" });
    const cleared = Object.fromEntries(
      [annotation.settledApply, annotation.settledApplyBy, annotation.unsettledApply].map((key) => [key, null]),
    );
    expect(await merge("ptahs", "orders", { metadata: { annotations: cleared, finalizers: null } }, OPERATOR)).toBe("");
  });
});

describe("an approval", () => {
  let published: Published;
  const approval = (name: string, spec: object = {}) => approvalObject(NAMESPACE, name, published, spec);

  test("of a plan that does not stand is refused", async () => {
    published = await publishPlan(target, NAMESPACE, OPERATOR);
    expect(await create(approval("early"), ANN)).toContain("no plan of this schema waits for a decision");
  });
  test("of the standing plan is stored with the API server's own word on who and when", async () => {
    expect(await setStatus("orders", published.status)).toBe("");
    const forged = { approver: { username: "eve" }, approvedAt: "2001-01-01T00:00:00Z", mutationRequestUID: "x" };
    expect(await create(approval("ok", forged), ANN)).toBe("");
    const { spec } = await get<{ spec: { approver: object; approvedAt: string; mutationRequestUID: string } }>(
      "ptahapprove",
      "ok",
    );
    expect(spec.approver).toEqual({ username: "ann", groups: ["dba", "system:authenticated", "system:masters"] });
    expect(Math.abs(Date.parse(spec.approvedAt) - Date.now())).toBeLessThan(60_000);
    expect(spec.mutationRequestUID).toMatch(/^[0-9a-f-]{36}$/);
  });
  test("cannot be changed afterwards", async () => {
    expect(await merge("ptahapprove", "ok", { spec: { planFingerprint: digest("0") } }, ANN)).toContain("immutable");
    expect(await merge("ptahapprove", "ok", { metadata: { labels: { a: "b" } } }, ANN)).toBe("");
  });
  test("after the files were edited is refused", async () => {
    const edited = await merge("configmap", "files", { data: { "a.sql": "drop table t;" } }, ANN);
    expect(edited).toBe("");
    expect(await create(approval("late"), ANN)).toContain("holds other files");
    expect(await merge("configmap", "files", { data: { "a.sql": TEXT } }, ANN)).toBe("");
    expect(await create(approval("again"), ANN)).toBe("");
  });
});

const sample = samples["apply"] as OperationSpec;

describe("an operation", () => {
  let operation: OperationSpec;
  let claim: Record<string, unknown>;
  const jobs = () => buildJob(operation);

  async function dispatch(): Promise<void> {
    const account = await get<Meta & { metadata: { name: string } }>("serviceaccount", "default");
    const uid = (await get<Meta>("ptahs", "orders")).metadata.uid;
    const resource = { ...sample.resource, namespace: NAMESPACE, name: "orders", uid };
    const jobName = "ptah-apply-orders-0123456789abcdef";
    const { admissionSnapshotDigest: _, ...unsealed } = {
      ...sample,
      resource,
      jobName,
      operationID: OPERATION,
      execution: {},
    };
    const objects = { serviceAccount: account, limitRanges: [], runtimeClass: undefined, priorityClasses: [] };
    const envelope = resolveEnvelope({}, objects, DEFAULT_ADMISSION_FLAGS);
    if (!envelope.ok) throw new Error(envelope.sentence);
    const snapshot = sealSnapshot(envelope.snapshot, templateDigest(buildTemplate(unsealed)));
    operation = { ...unsealed, admissionSnapshotDigest: snapshot.digest };
    claim = {
      type: "Apply",
      id: OPERATION,
      inputFingerprint: operation.inputFingerprint,
      startedAt: new Date().toISOString(),
      attempt: 1,
      generation: 1,
      executionBindingID: operation.binding.epoch,
      jobName,
      dispatchNotAfter: new Date(Date.now() + 600_000).toISOString(),
      executionNotAfter: new Date(Date.now() + 900_000).toISOString(),
      admissionSnapshot: snapshot,
    };
  }

  test("has its Job made by the manager alone, once the claim is dispatched, and once only", async () => {
    await dispatch();
    expect(await create(jobs(), OPERATOR)).toContain("does not name this Job");
    expect(await setStatus("orders", { activeOperation: claim })).toBe("");
    expect(await create(jobs(), OPERATOR)).toContain("is not dispatched");
    expect(await setStatus("orders", { activeOperation: { ...claim, dispatchStarted: true } })).toBe("");
    expect(await create(jobs(), ANN)).toContain("created by the operator alone");
    expect(await create(jobs(), OPERATOR)).toBe("");
    const { uid } = (await get<Meta>("job", operation.jobName)).metadata;
    expect(await setStatus("orders", { activeOperation: { jobUID: uid } })).toBe("");
    await kubectl(target, here("delete", "job", operation.jobName, "--cascade=orphan", "--wait=false"));
    await tryKubectl(
      target,
      here("patch", "job", operation.jobName, "--type=merge", "-p", '{"metadata":{"finalizers":null}}'),
    );
    await waitFor("the Job is gone", async () => (await attempt(["get", "job", operation.jobName])) !== "", {
      timeoutMs: 10_000,
    });
    expect(await create(jobs(), OPERATOR)).toContain("already has its Job");
    expect(await setStatus("orders", { activeOperation: { jobUID: null } })).toBe("");
    expect(await create(jobs(), OPERATOR)).toBe("");
  });

  const ttl = (seconds: number) => ({ spec: { ttlSecondsAfterFinished: seconds } });
  test("keeps its Job as it is, but for the TTL by the manager", async () => {
    expect(await merge("job", operation.jobName, ttl(0), ANN)).toContain("is set by the operator alone");
    expect(await merge("job", operation.jobName, { metadata: { labels: { x: "y" } } }, ANN)).toContain(
      "keeps its labels",
    );
    expect(await merge("job", operation.jobName, ttl(300), OPERATOR)).toBe("");
  });

  const pod = (uid: string, change: object = {}) => {
    const { template } = jobs().spec;
    const controller = {
      "batch.kubernetes.io/controller-uid": uid,
      "batch.kubernetes.io/job-name": operation.jobName,
      "controller-uid": uid,
      "job-name": operation.jobName,
    };
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        generateName: `${operation.jobName}-`,
        namespace: NAMESPACE,
        labels: { ...template.metadata?.labels, ...controller },
        annotations: template.metadata?.annotations,
        finalizers: ["batch.kubernetes.io/job-tracking"],
        ownerReferences: [
          {
            apiVersion: "batch/v1",
            kind: "Job",
            name: operation.jobName,
            uid,
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: { ...template.spec, ...change },
    };
  };

  test("has its Pod made by the Job controller alone, equal to the template after the API server's own admission", async () => {
    const { uid } = (await get<Meta>("job", operation.jobName)).metadata;
    expect(await create(pod(uid), ANN)).toContain("created by the Job controller alone");
    expect(await create(pod(uid, { hostNetwork: true }), JOB_CONTROLLER)).toContain("differs from its template");
    expect(await create(pod("00000000-0000-0000-0000-000000000000"), JOB_CONTROLLER)).toContain("does not exist");
    expect(await create(pod(uid), JOB_CONTROLLER)).toBe("");
  });

  async function podOf(jobUID: string): Promise<{ readonly name: string; readonly uid: string }> {
    const selector = `batch.kubernetes.io/controller-uid=${jobUID}`;
    const { items } = await kubectlJson<{ items: { metadata: { name: string; uid: string } }[] }>(
      target,
      here("get", "pods", "-l", selector),
    );
    return items[0]?.metadata ?? { name: "", uid: "" };
  }

  test("has the gate opened by the manager alone, for the Pod it recorded", async () => {
    const { uid: jobUID } = (await get<Meta>("job", operation.jobName)).metadata;
    const { name, uid } = await podOf(jobUID);
    const open = (user: readonly string[]) =>
      attempt([
        "patch",
        "pod",
        name,
        "--type=json",
        "-p",
        JSON.stringify([
          { op: "test", path: "/spec/schedulingGates/0/name", value: RECORDED_GATE },
          { op: "remove", path: "/spec/schedulingGates" },
        ]),
        ...user,
      ]);
    expect(await open(OPERATOR)).toContain("no Apply of this schema is dispatched");
    expect(await setStatus("orders", { activeOperation: { jobUID } })).toBe("");
    expect(await open(OPERATOR)).toContain("recorded first");
    expect(await setStatus("orders", { activeOperation: { pods: [{ uid }], podCount: 1 } })).toBe("");
    expect(await open(ANN)).toContain("by the operator alone");
    expect(await open(OPERATOR)).toBe("");
  });

  test("lets no one into its Pod", async () => {
    const { name } = await podOf((await get<Meta>("job", operation.jobName)).metadata.uid);
    const container = { spec: { ephemeralContainers: [{ name: "debug", image: IMAGE }] } };
    expect(
      await attempt([
        "patch",
        "pod",
        name,
        "--subresource=ephemeralcontainers",
        "--type=strategic",
        "-p",
        JSON.stringify(container),
        ...ANN,
      ]),
    ).toContain("credentials");
    expect(await merge("pod", name, { metadata: { labels: { "operator.ptah.run/schema": "x" } } }, ANN)).toContain(
      "keeps its label",
    );
  });
});

describe("the webhook", () => {
  test("that is gone refuses by its absence", async () => {
    admission.webhook.process.kill("SIGTERM");
    expect(await admission.webhook.ended()).toBe(0);
    expect(await create(schemaObject("unseen"), BOB)).toContain("failed calling webhook");
  });
});
