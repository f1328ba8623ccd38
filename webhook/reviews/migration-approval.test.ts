import { describe, expect, test } from "bun:test";
import type { MigrationStatus } from "../../crds/status/migration.ts";
import type { ReviewRequest, Verdict } from "../review.ts";
import { config, files, NOW, readsOf, request, stampedBy } from "../testing.ts";
import {
  historyRead,
  migration,
  migrationApply,
  migrationApprovalObject,
  migrationAwaiting,
  migrationPlan,
  unresolvedRun,
} from "../testing-migration.ts";
import { reviewApproval } from "./approval.ts";
import { MIGRATION_APPROVALS } from "./approval-family.ts";
import { APPROVAL_OF_MIGRATION } from "./person-stamp.ts";
import { WRITER_UID, WRITER_USERNAME } from "./spec-writer.ts";

type Stored = Parameters<typeof readsOf>[0];
const written = (over: Record<string, unknown> = {}): ReviewRequest =>
  stampedBy(APPROVAL_OF_MIGRATION, request({ object: migrationApprovalObject(over) }));
const judged = (stored: Stored = {}, of = written(), settings = config()): Promise<Verdict> =>
  reviewApproval(of, readsOf({ migration: migration(), migrationPlan, ...stored }), settings, NOW, MIGRATION_APPROVALS);
const message = (verdict: Verdict): string => (verdict.allowed ? "allowed" : verdict.message);
const status = (over: Partial<MigrationStatus>): Stored => ({
  migration: migration({ ...migrationAwaiting, ...over }),
});
const planned = (over: object): Stored => ({
  migrationPlan: { ...migrationPlan, spec: { ...migrationPlan.spec, ...over } },
});
const declared = (spec: Record<string, unknown>): Stored => ({ migration: migration(migrationAwaiting, spec) });

describe("an approval of a migration's plan", () => {
  test("is accepted where that plan stands, also while a reading is under way", async () => {
    expect(await judged()).toEqual({ allowed: true });
    expect(await judged(status({ activeOperation: historyRead.claim }))).toEqual({ allowed: true });
  });
  test("reads the plan, the migration and the source, nothing else", async () => {
    const reads = readsOf({ migration: migration(), migrationPlan });
    await reviewApproval(written(), reads, config(), NOW, MIGRATION_APPROVALS);
    expect(reads.count()).toBe(3);
  });

  const { plan, history, executionBinding } = migrationAwaiting;
  const refused: readonly [string, Stored, ReviewRequest | undefined, string][] = [
    ["unstamped", {}, request({ object: migrationApprovalObject() }), "cannot read spec.approver"],
    ["of no plan", { migrationPlan: undefined }, undefined, "approve the plan that stands now"],
    ["of no migration", { migration: undefined }, undefined, 'PtahMigration "ledger" does not exist'],
    ["of a plan replaced", {}, written({ planRef: { name: "ptah-mplan-1", uid: "other" } }), "read it again"],
    ["of another fingerprint", {}, written({ planFingerprint: `sha256:${"0".repeat(64)}` }), "another fingerprint"],
    [
      "of another migration's plan",
      planned({ migrationRef: { name: "ledger", uid: "x" } }),
      undefined,
      "PtahMigration",
    ],
    [
      "of a migration being deleted",
      { migration: { ...migration(), metadata: { ...migration().metadata, deletionTimestamp: "x" } } },
      undefined,
      "nothing more is applied",
    ],
    ["with nothing standing", status({ plan: undefined }), undefined, "no plan of this migration waits"],
    ["of a superseded plan", status({ plan: { ...plan, uid: "2", name: "ptah-mplan-2" } }), undefined, "superseded"],
    ["of a plan once dispatched", status({ plan: { ...plan, dispatched: true } }), undefined, "never runs again"],
    ["while an Apply is claimed", status({ activeOperation: migrationApply.claim }), undefined, "already under way"],
    ["while a run is unresolved", status({ unresolvedRun }), undefined, "kubectl ptah acknowledge"],
    [
      "after the database's history moved",
      status({ history: { ...history, fingerprint: `sha256:${"1".repeat(64)}` } }),
      undefined,
      "history is not the one the plan continues",
    ],
    ["with the history never read", status({ history: undefined }), undefined, "history is not the one"],
    [
      "after the target moved",
      status({ history: { ...history, targetIdentityDigest: `sha256:${"1".repeat(64)}` } }),
      undefined,
      "another database",
    ],
    [
      "after the realm changed",
      declared({ target: { engine: "MySQL", coordinationKey: "x", urlFrom: { name: "a", key: "b" } } }),
      undefined,
      "migration's database realm was changed",
    ],
    [
      "after the binding changed",
      status({ executionBinding: { ...executionBinding, epoch: `v1-${"4".repeat(32)}` } }),
      undefined,
      "executor was changed",
    ],
    ["after the policy changed", declared({ policy: { lockTimeout: "1m" } }), undefined, "policy was changed"],
    ["after apply changed", declared({ policy: { apply: "Always" } }), undefined, "policy was changed"],
    [
      "of another source object",
      { configMaps: [{ ...files, metadata: { ...files.metadata, uid: "cm-2" } }] },
      undefined,
      "is not the one",
    ],
    [
      "of another kind of source",
      declared({ artifact: { git: { repository: "https://x/y", ref: "main" } } }),
      undefined,
      "the migration now declares another kind of source",
    ],
    ["of a newer plan", planned({ controllerStateVersion: 2 }), undefined, "upgrade the operator"],
  ];
  for (const [name, stored, of, expected] of refused) {
    test(`${name} is refused`, async () => expect(message(await judged(stored, of))).toContain(expected));
  }

  test("is refused where its plan was published under a policy that asks nobody", async () => {
    for (const [apply, expected] of [
      ["Always", "needs no approval"],
      ["Never", "spec.policy.apply is Never"],
    ] as const) {
      const stored = migration(migrationAwaiting, { policy: { apply } });
      const policyFingerprint = MIGRATION_APPROVALS.policyFingerprint(stored);
      expect(message(await judged({ migration: stored, ...planned({ policyFingerprint }) }))).toContain(expected);
    }
  });

  test("is refused to who last wrote the spec, where approvers must be distinct", async () => {
    const by = (username: string): Stored => ({
      migration: {
        ...migration(),
        metadata: {
          ...migration().metadata,
          annotations: { [WRITER_USERNAME]: username, [WRITER_UID]: `u-${username}` },
        },
      },
    });
    const settings = config({ requireDistinctApprover: true });
    expect(message(await judged(by("ann"), written(), settings))).toContain("migration's spec may not approve");
    expect(message(await judged({}, written(), settings))).toContain("nobody is known");
    expect(await judged(by("bob"), written(), settings)).toEqual({ allowed: true });
  });

  test("keeps its spec for ever", async () => {
    const before = migrationApprovalObject();
    const changed = migrationApprovalObject({ planFingerprint: "x" });
    expect(message(await judged({}, request({ object: changed, oldObject: before })))).toContain("cannot be changed");
  });
});
