import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { annotation, MIGRATION_FINALIZER } from "../../../crds/names.ts";
import { operationObjects } from "../../../webhook/testing-operation.ts";
import type { OperationSpec, Work } from "../../../workload/operation.ts";
import { samples } from "../../../workload/testing/samples.ts";
import { applyObjects, type KubectlTarget, tryKubectl } from "../../cluster/kubectl.ts";
import { openCluster } from "../../cluster/open.ts";
import { createProgress } from "../../cluster/progress.ts";
import { waitFor } from "../../cluster/wait.ts";
import { type Admission, MANAGER, NAMESPACE, startAdmission } from "../admission.ts";
import { as, attemptsIn } from "../attempts.ts";
import {
  acknowledgmentObject,
  migrationApprovalObject,
  migrationFiles,
  migrationObject,
  type PublishedSequence,
  publishSequence,
  unresolvedRun,
} from "../standing-migration-plan.ts";
import { digest, type Meta } from "../standing-plan.ts";

/** The migration family at admission: webhook and shipped entries against a real API server, without a manager. */

const START_MS = 90_000;
const ANN = as("ann", "system:masters", "dba");
const BOB = as("bob", "system:masters");
/** kubectl reads what it patches, which the manager's own role does not need. */
const OPERATOR = as(MANAGER, "system:masters");
const JOB_CONTROLLER = as("system:serviceaccount:kube-system:job-controller", "system:masters");
const RUN = digest("a");
const LATER_RUN = digest("c");

let target: KubectlTarget;
let admission: Admission;
let published: PublishedSequence;
const { here, create, merge, get } = attemptsIn(NAMESPACE, () => target);
const setStatus = (status: object) => merge("ptahm", "ledger", { status }, OPERATOR, "--subresource=status");
const finalizers = (names: readonly string[]) => ({ metadata: { finalizers: names } });

async function cleanUp(): Promise<void> {
  for (const what of ["ptahm/ledger", "pod/ledger"]) {
    await tryKubectl(target, here("patch", what, "--type=merge", "-p", '{"metadata":{"finalizers":null}}'));
  }
  const kinds = "ptahm,ptahmplan,ptahmapprove,ptahmack,configmaps,pods,jobs";
  const flags = ["--all", "--ignore-not-found", "--grace-period=0", "--force", "--wait=false"];
  await tryKubectl(target, here("delete", kinds, ...flags));
}

beforeAll(async () => {
  const cluster = await openCluster({ progress: createProgress(), apiOnly: true });
  await cluster.up({ apiOnly: true });
  target = { kubectl: cluster.kubectl, kubeconfig: cluster.kubeconfig };
  await tryKubectl(target, ["create", "namespace", NAMESPACE]);
  await tryKubectl(target, here("create", "serviceaccount", "default"));
  await cleanUp();
  admission = await startAdmission(target, ["--always-group=dba", "--require-distinct-approver"]);
  await applyObjects(target, [migrationFiles(NAMESPACE)]);
  const always = migrationObject(NAMESPACE, "probe", { policy: { apply: "Always" } });
  const inForce = async () => (await create(always, BOB, "--dry-run=server")).includes("Always may only be set");
  await waitFor("the webhook is in force", inForce, { timeoutMs: 20_000 });
}, START_MS);

afterAll(async () => {
  await admission?.stop();
  await cleanUp();
});

test("a migration's writer is stamped, and one name for two files is refused by its field", async () => {
  expect(await create(migrationObject(NAMESPACE, "ledger"), BOB)).toBe("");
  const { metadata } = await get<{ metadata: { annotations: Record<string, string> } }>("ptahm", "ledger");
  expect(metadata.annotations["operator.ptah.run/last-spec-writer-username"]).toBe("bob");
  const items = [1, 2].map((n) => ({ key: `k${n}`, path: "0000000001_a.up.sql" }));
  const twice = migrationObject(NAMESPACE, "twice", { artifact: { configMap: { name: "migrations", items } } });
  expect(await create(twice, BOB)).toContain("spec.artifact.configMap.items takes two keys");
});

describe("an approval of a migration's plan", () => {
  const approval = (name: string, spec: object = {}) => migrationApprovalObject(NAMESPACE, name, published, spec);

  test("is refused before that plan stands, and to who wrote the spec", async () => {
    published = await publishSequence(target, NAMESPACE, OPERATOR);
    expect(await create(approval("early"), ANN)).toContain("no plan of this migration waits for a decision");
    expect(await setStatus(published.status)).toBe("");
    expect(await create(approval("own"), BOB)).toContain("ask somebody else");
  });
  test("is stored with the API server's own word on who and when, and keeps it", async () => {
    const forged = { approver: { username: "eve" }, approvedAt: "2001-01-01T00:00:00Z", mutationRequestUID: "x" };
    expect(await create(approval("ok", forged), ANN)).toBe("");
    const { spec } = await get<{ spec: { approver: object; approvedAt: string } }>("ptahmapprove", "ok");
    expect(spec.approver).toEqual({ username: "ann", groups: ["dba", "system:authenticated", "system:masters"] });
    expect(Math.abs(Date.parse(spec.approvedAt) - Date.now())).toBeLessThan(60_000);
    expect(await merge("ptahmapprove", "ok", { spec: { planFingerprint: digest("0") } }, ANN)).toContain("immutable");
  });
  test("is refused once the database's history is another one", async () => {
    expect(await setStatus({ history: { ...published.status.history, fingerprint: digest("0") } })).toBe("");
    expect(await create(approval("late"), ANN)).toContain("history is not the one the plan continues");
    expect(await setStatus({ history: published.status.history })).toBe("");
  });
});

describe("an operation of a migration", () => {
  const { admissionSnapshotDigest: _, ...sample } = samples["migration-apply"] as OperationSpec<Work>;
  const operation = async (jobUID?: string) => {
    const { uid } = (await get<Meta>("ptahm", "ledger")).metadata;
    const resource = { ...sample.resource, namespace: NAMESPACE, name: "ledger", uid };
    return operationObjects(
      { ...sample, resource, jobName: "ptah-m-apply-ledger-0123456789abcdef", execution: {}, operationID: RUN },
      jobUID,
    );
  };

  test("has Job and Pod as its claim says, and no others", async () => {
    const { claim, job } = await operation();
    expect(await create(job, OPERATOR)).toContain("the migration's active operation does not name this Job");
    expect(await setStatus({ activeOperation: claim })).toBe("");
    expect(await create(job, ANN)).toContain("by the operator alone");
    expect(await create(job, OPERATOR)).toBe("");
    const { uid } = (await get<Meta>("job", claim.jobName)).metadata;
    const { podObject } = await operation(uid);
    expect(await create(podObject(), ANN)).toContain("by the Job controller alone");
    expect(await create(podObject({ hostNetwork: true }), JOB_CONTROLLER)).toContain("differs from its template");
    expect(await create(podObject(), JOB_CONTROLLER)).toBe("");
  });
});

describe("an acknowledgment", () => {
  const acknowledgment = (name: string, operationID: string, spec: object = {}) =>
    acknowledgmentObject(NAMESPACE, name, published, operationID, spec);

  test("is refused while its run is under way", async () =>
    expect(await create(acknowledgment("early", RUN), ANN)).toContain("still under way"));
  test("of the unresolved run is stored with the API server's own word on who and when, and keeps it", async () => {
    expect(await setStatus({ activeOperation: null, unresolvedRun: unresolvedRun(RUN) })).toBe("");
    expect(await create(acknowledgment("other", LATER_RUN), ANN)).toContain("another run than the one");
    const forged = { acknowledgedBy: { username: "eve" }, acknowledgedAt: "2001-01-01T00:00:00Z" };
    expect(await create(acknowledgment("seen", RUN, forged), BOB)).toBe("");
    const { spec } = await get<{ spec: Record<string, unknown> }>("ptahmack", "seen");
    expect(spec["acknowledgedBy"]).toEqual({ username: "bob", groups: ["system:authenticated", "system:masters"] });
    expect(Math.abs(Date.parse(String(spec["acknowledgedAt"])) - Date.now())).toBeLessThan(60_000);
    expect(await merge("ptahmack", "seen", { spec: { operationID: LATER_RUN } }, BOB)).toContain("immutable");
  });
  test("is refused once its run was settled, also while a later one waits", async () => {
    const at = new Date().toISOString();
    const resolvedRun = { operationID: RUN, outcome: "Partial", resolution: "Reading", resolvedAt: at };
    expect(await setStatus({ unresolvedRun: null, resolvedRun })).toBe("");
    expect(await create(acknowledgment("late", RUN), ANN)).toContain("settled already");
    expect(await create(acknowledgment("none", LATER_RUN), ANN)).toContain("nothing to acknowledge");
    expect(await setStatus({ unresolvedRun: unresolvedRun(LATER_RUN) })).toBe("");
    expect(await create(acknowledgment("later", RUN), ANN)).toContain("settled already");
  });
  test("is accepted while the migration is being deleted; before that the annotation settles nothing", async () => {
    const word = { metadata: { annotations: { [annotation.settledApply]: LATER_RUN } } };
    expect(await merge("ptahm", "ledger", word, BOB)).toContain("counts only while a migration is being deleted");
    expect(await merge("ptahm", "ledger", finalizers([MIGRATION_FINALIZER]), OPERATOR)).toBe("");
    expect(await merge("ptahm", "ledger", finalizers([]), BOB)).toContain("stays while");
    await tryKubectl(target, here("delete", "ptahm", "ledger", "--wait=false"));
    expect(await create(acknowledgment("deleting", LATER_RUN), ANN)).toBe("");
    expect(await merge("ptahm", "ledger", word, BOB)).toBe("");
    const { metadata } = await get<{ metadata: { annotations: Record<string, string> } }>("ptahm", "ledger");
    expect(metadata.annotations[annotation.settledApplyBy]).toContain('"username":"bob"');
  });
});

test("a webhook that is gone refuses by its absence", async () => {
  admission.webhook.process.kill("SIGTERM");
  expect(await admission.webhook.ended()).toBe(0);
  for (const refused of [
    migrationObject(NAMESPACE, "unseen"),
    migrationApprovalObject(NAMESPACE, "unseen", published),
    acknowledgmentObject(NAMESPACE, "unseen", published, LATER_RUN),
  ]) {
    expect(await create(refused, BOB)).toContain("failed calling webhook");
  }
});
