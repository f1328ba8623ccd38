import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { annotation, MIGRATION_FINALIZER } from "../../../crds/names.ts";
import { type CommandResult, runCommand } from "../../cluster/command.ts";
import { applyObjects, type KubectlTarget, kubectlJson, tryKubectl } from "../../cluster/kubectl.ts";
import { openCluster } from "../../cluster/open.ts";
import { createProgress } from "../../cluster/progress.ts";
import { waitFor } from "../../cluster/wait.ts";
import { type Admission, MANAGER, NAMESPACE, startAdmission } from "../admission.ts";
import { as, attemptsIn } from "../attempts.ts";
import {
  migrationFiles,
  migrationObject,
  type PublishedSequence,
  publishSequence,
  unresolvedRun,
} from "../standing-migration-plan.ts";
import { digest } from "../standing-plan.ts";

/** The migration family driven by kubectl ptah, on a real API server with the shipped admission, without a manager. */

const START_MS = 90_000;
const BOB = as("bob", "system:masters");
const OPERATOR = as(MANAGER, "system:masters");
const RUN = digest("a");
const ENTRY = join(import.meta.dir, "../../../main.ts");

let target: KubectlTarget;
let admission: Admission;
let published: PublishedSequence;
const { here, create, merge, get } = attemptsIn(NAMESPACE, () => target);
const setStatus = (status: object) => merge("ptahm", "ledger", { status }, OPERATOR, "--subresource=status");
const ptah = (...args: readonly string[]): Promise<CommandResult> =>
  runCommand(process.execPath, [ENTRY, "plugin", ...args, "-n", NAMESPACE, "--kubeconfig", target.kubeconfig]);
const condition = (type: string, status: string, reason: string) => {
  const lastTransitionTime = new Date().toISOString();
  return { type, status, reason, message: "so it is", observedGeneration: 1, lastTransitionTime };
};
interface Said {
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}
const itemsOf = async (what: string) =>
  (await kubectlJson<{ readonly items: readonly Said[] }>(target, here("get", what))).items;

async function cleanUp(): Promise<void> {
  await tryKubectl(target, here("patch", "ptahm/ledger", "--type=merge", "-p", '{"metadata":{"finalizers":null}}'));
  const kinds = "ptahs,ptahm,ptahmplan,ptahmapprove,ptahmack,configmaps";
  await tryKubectl(target, here("delete", kinds, "--all", "--ignore-not-found", "--wait=false"));
}

beforeAll(async () => {
  const cluster = await openCluster({ progress: createProgress(), apiOnly: true });
  await cluster.up({ apiOnly: true });
  target = { kubectl: cluster.kubectl, kubeconfig: cluster.kubeconfig };
  await tryKubectl(target, ["create", "namespace", NAMESPACE]);
  await cleanUp();
  admission = await startAdmission(target, ["--always-group=dba"]);
  await applyObjects(target, [migrationFiles(NAMESPACE)]);
  const always = migrationObject(NAMESPACE, "probe", { policy: { apply: "Always" } });
  const inForce = async () => (await create(always, BOB, "--dry-run=server")).includes("Always may only be set");
  await waitFor("the webhook is in force", inForce, { timeoutMs: 20_000 });
}, START_MS);

afterAll(async () => {
  await admission?.stop();
  await cleanUp();
});

test("a person reads a migration's plan and approves exactly it", async () => {
  expect(await create(migrationObject(NAMESPACE, "ledger"), BOB)).toBe("");
  expect((await ptah("plan", "ledger")).code).toBe(3);
  published = await publishSequence(target, NAMESPACE, OPERATOR);
  const waiting = [
    condition("Ready", "False", "AwaitingApproval"),
    condition("ApprovalRequired", "True", "AwaitingApproval"),
  ];
  const standing = { ...published.status, observedGeneration: 1, phase: "AwaitingApproval", conditions: waiting };
  expect(await setStatus(standing)).toBe("");

  const shown = await ptah("migration", "ledger");
  expect([shown.code, shown.stderr]).toEqual([0, ""]);
  expect(shown.stdout).toContain("  1                     file         h1:accounts\n");
  expect(shown.stdout).toContain("Warning:        the source holds 0000000001_accounts.up.sql");
  expect(shown.stdout).toContain(`kubectl ptah approve migration/ledger -n ${NAMESPACE}`);
  const plan = await ptah("plan", "migration/ledger");
  expect(plan.stdout).toContain(`Fingerprint:    ${published.fingerprint}\n`);
  expect((await ptah("wait", "ledger")).stderr).toContain("ledger is AwaitingApproval");

  expect((await ptah("approve", "ledger")).code).toBe(2);
  expect(await itemsOf("ptahmapprove")).toEqual([]);
  const approved = await ptah("approve", "ledger", "--yes");
  // Nothing executes here; a person is told what the executor would say of this source.
  const warning = "0000000001_accounts.up.sql without its .down.sql, which the executor refuses";
  expect([approved.code, approved.stderr]).toEqual([0, expect.stringContaining(warning)]);
  const [stored] = await itemsOf("ptahmapprove");
  expect(stored?.spec).toMatchObject({
    planRef: { uid: published.planUid },
    planFingerprint: published.fingerprint,
    approver: { username: expect.any(String) },
  });
});

test("a person asks for a read, and a name that two kinds have is asked about", async () => {
  expect((await ptah("refresh", "migration/ledger")).code).toBe(0);
  const { metadata } = await get<{ metadata: { annotations: Record<string, string> } }>("ptahm", "ledger");
  expect(Date.parse(metadata.annotations[annotation.readRequestedAt] ?? "")).not.toBeNaN();
  const schema = {
    apiVersion: "operator.ptah.run/v1alpha1",
    kind: "PtahSchema",
    metadata: { name: "ledger", namespace: NAMESPACE },
    spec: {
      target: { engine: "PostgreSQL", coordinationKey: "other", urlFrom: { name: "db", key: "url" } },
      desired: { configMap: { name: "migrations" } },
    },
  };
  expect(await create(schema, BOB)).toBe("");
  const ran = await ptah("approve", "ledger", "--yes");
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining("write schema/ledger or migration/ledger")]);
});

test("a person acknowledges the run that is held, and no other", async () => {
  const held = [condition("Ready", "False", "OutcomeUnknown"), condition("Blocked", "True", "OutcomeUnknown")];
  const after = { phase: "Blocked", plan: null, unresolvedRun: unresolvedRun(RUN), conditions: held };
  expect((await ptah("acknowledge", "ledger", "--yes")).code).toBe(3);
  expect(await setStatus(after)).toBe("");
  const unasked = await ptah("acknowledge", "ledger");
  expect([unasked.code, await itemsOf("ptahmack")]).toEqual([2, []]);
  expect(unasked.stdout).toContain("SHOW FULL PROCESSLIST");
  const early = await ptah("settle", "migration/ledger", "--yes");
  expect([early.code, early.stderr]).toEqual([1, expect.stringContaining("kubectl ptah acknowledge ledger")]);

  const ran = await ptah("acknowledge", "ledger", "--yes");
  expect([ran.code, ran.stderr]).toEqual([0, ""]);
  const [stored] = await itemsOf("ptahmack");
  expect(stored?.spec).toMatchObject({
    migrationRef: { name: "ledger", uid: published.migrationUid },
    operationID: RUN,
    acknowledgedBy: { username: expect.any(String) },
  });
});

test("a deleting migration is settled by the annotation", async () => {
  expect(await merge("ptahm", "ledger", { metadata: { finalizers: [MIGRATION_FINALIZER] } }, OPERATOR)).toBe("");
  await tryKubectl(target, here("delete", "ptahm", "ledger", "--wait=false"));
  const settled = await ptah("settle", "migration/ledger", "--yes");
  expect([settled.code, settled.stderr]).toEqual([0, ""]);
  const { metadata } = await get<{ metadata: { annotations: Record<string, string> } }>("ptahm", "ledger");
  expect(metadata.annotations[annotation.settledApply]).toBe(RUN);
  expect(metadata.annotations[annotation.settledApplyBy]).toContain("username");
});
