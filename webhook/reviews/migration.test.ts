import { describe, expect, test } from "bun:test";
import { annotation, label, MIGRATION_FINALIZER } from "../../crds/names.ts";
import type { Claim } from "../../crds/status/lifecycle.ts";
import type { Requester, ReviewedObject, Verdict } from "../review.ts";
import { config, controller, manager, NOW, readsOf, request } from "../testing.ts";
import { historyRead, migration, migrationApply, migrationAwaiting, migrationObject } from "../testing-migration.ts";
import { MIGRATION } from "./family.ts";
import { reviewJob } from "./job.ts";
import { reviewPod } from "./pod.ts";
import { WRITER_USERNAME } from "./spec-writer.ts";
import { reviewSubject } from "./subject.ts";
import { stampSubject } from "./subject-stamp.ts";

const message = (verdict: Verdict): string => (verdict.allowed ? "allowed" : verdict.message);
const ID = `sha256:${"a".repeat(64)}`;
const MIRROR = JSON.stringify({ version: 1, operationID: ID });
const bob = { username: "bob", uid: "u-bob", groups: ["dev"] };

function object(
  annotations: Record<string, string> | undefined,
  over: { spec?: Record<string, unknown>; metadata?: object; status?: object } = {},
): ReviewedObject {
  const plain = migrationObject(over.spec);
  return {
    ...plain,
    metadata: { ...plain.metadata, annotations, ...over.metadata },
    ...(over.status && { status: over.status }),
  };
}

describe("a write of a PtahMigration", () => {
  const deleting = { metadata: { deletionTimestamp: "2026-03-01T11:00:00Z" } };
  const owing = { status: { unresolvedRun: { operationID: ID } } };
  const finalized = (status: object) => object({}, { metadata: { finalizers: [MIGRATION_FINALIZER] }, status });
  const said = { [annotation.settledApply]: ID };

  const table: readonly [string, ReviewedObject, ReviewedObject | undefined, string][] = [
    ["a plain create", object({}), undefined, "allowed"],
    ["an update that adds a mirror", object({ [annotation.unsettledApply]: MIRROR }), object({}), "the operator alone"],
    [
      "an update that removes the mirror",
      object({}),
      object({ [annotation.unsettledApply]: MIRROR }),
      "use kubectl ptah acknowledge ledger -n ",
    ],
    [
      "taking our finalizer while a run is unresolved",
      object({}),
      finalized(owing.status),
      "see kubectl ptah acknowledge ledger -n ",
    ],
    [
      "the same while being deleted",
      object({}, deleting),
      finalized(owing.status),
      "see kubectl ptah settle migration/ledger -n ",
    ],
    ["taking our finalizer while a run is under way", object({}), finalized({ activeOperation: { id: ID } }), "stays"],
    ["taking our bare finalizer", object({}), finalized({}), "allowed"],
    ["settling by annotation", object(said), object({}, owing), "counts only while a migration is being deleted"],
    [
      "settling by annotation while being deleted",
      object(said, deleting),
      object({}, { ...owing, ...deleting }),
      "allowed",
    ],
    [
      "settling another run while being deleted",
      object({ [annotation.settledApply]: "sha256:b" }, deleting),
      object({}, { ...owing, ...deleting }),
      "status.unresolvedRun",
    ],
    [
      "two keys under one path",
      object(
        {},
        {
          spec: {
            artifact: {
              configMap: {
                name: "x",
                items: [
                  { key: "a", path: "x.sql" },
                  { key: "b", path: "x.sql" },
                ],
              },
            },
          },
        },
      ),
      undefined,
      'spec.artifact.configMap.items takes two keys as "x.sql"',
    ],
    ["a spec that cannot be read", object({}, { spec: { interval: "soon" } }), undefined, "cannot read spec.interval"],
  ];
  for (const [name, given, before, expected] of table) {
    test(`${name}: ${expected}`, () =>
      expect(message(reviewSubject(request({ object: given, oldObject: before }), config(), MIGRATION))).toContain(
        expected,
      ));
  }

  test("may enter apply: Always only by a listed group", () => {
    const auto = object({}, { spec: { policy: { apply: "Always" } } });
    expect(reviewSubject(request({ object: auto }), config(), MIGRATION).allowed).toBe(true);
    const refused = reviewSubject(request({ object: auto, oldObject: object({}), user: bob }), config(), MIGRATION);
    expect(message(refused)).toContain("spec.policy.apply: Always");
    expect(reviewSubject(request({ object: auto, oldObject: auto, user: bob }), config(), MIGRATION).allowed).toBe(
      true,
    );
  });
  test("gets its family's finalizer with a mirror, and who wrote its spec", () => {
    const restored = request({ object: object({ [annotation.unsettledApply]: MIRROR }) });
    expect(stampSubject(restored, config({ requireDistinctApprover: true }), MIGRATION)).toMatchObject({
      patch: [
        { path: "/metadata/finalizers", value: [MIGRATION_FINALIZER] },
        { path: `/metadata/annotations/${WRITER_USERNAME.replace("/", "~1")}`, value: "ann" },
        { value: "u-ann" },
      ],
    });
  });
});

describe.each([
  ["a History", historyRead],
  ["an Apply", migrationApply],
] as const)("%s of a migration", (_, { claim, job, storedJob, podObject }) => {
  const claimed = (over: Partial<Claim> = {}) => ({
    migration: migration({ ...migrationAwaiting, activeOperation: { ...claim, ...over } }),
  });
  const judgeJob = async (stored: Parameters<typeof readsOf>[0], given = job, user: Requester = manager) =>
    message(await reviewJob(request({ object: given, user }), readsOf(stored), config()));
  const judgePod = async (stored: Parameters<typeof readsOf>[0], given = podObject(), user: Requester = controller) =>
    message(
      await reviewPod(
        request({ object: given, user, resource: "pods" }),
        readsOf({ job: storedJob(), ...stored }),
        config(),
        NOW,
      ),
    );

  test("has its Job made by the manager while the claim waits for it, and once", async () => {
    expect(await judgeJob(claimed())).toBe("allowed");
    expect(await judgeJob(claimed(), job, bob)).toContain("by the operator alone");
    expect(await judgeJob({ migration: migration() })).toContain("the migration's active operation does not name");
    expect(await judgeJob(claimed({ jobUID: "job-1" }))).toContain("already has its Job");
    expect(await judgeJob({})).toContain("the PtahMigration that owns this Job does not exist");
  });
  test("has its Pod made by the Job controller, equal to its template", async () => {
    expect(await judgePod(claimed())).toBe("allowed");
    expect(await judgePod(claimed(), podObject(), bob)).toContain("by the Job controller alone");
    expect(await judgePod(claimed(), podObject({ hostNetwork: true }))).toContain("spec.hostNetwork");
    expect(await judgePod({ migration: migration() })).toContain("does not name this Job");
  });
  test("is not hidden behind another family's label", async () => {
    const { labels } = podObject().metadata;
    const { [label.migration]: name = "", ...rest } = labels ?? {};
    const disguised = podObject({}, { labels: { ...rest, [label.schema]: name } });
    expect(await judgePod(claimed(), disguised)).toContain("reserved for operations");
  });
});

test("the gate of a migration's Apply is opened by the manager, for the Pod it recorded", async () => {
  const { claim, podObject, storedJob } = migrationApply;
  const open = podObject({ schedulingGates: [] });
  const judge = async (over: Partial<Claim>) => {
    const activeOperation = { ...claim, ...over };
    const reads = readsOf({ job: storedJob(), migration: migration({ ...migrationAwaiting, activeOperation }) });
    const given = request({ object: open, oldObject: podObject(), user: manager, resource: "pods" });
    return message(await reviewPod(given, reads, config(), NOW));
  };
  expect(await judge({ jobUID: "job-1", pods: [{ uid: "pod-1" }], podCount: 1 })).toBe("allowed");
  expect(await judge({ jobUID: "job-1" })).toContain("the migration's active operation recorded first");
  expect(await judge({ jobUID: "job-2" })).toContain("no Apply of this migration");
});
