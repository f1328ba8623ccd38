import { describe, expect, test } from "bun:test";
import { annotation } from "../../crds/names.ts";
import type { MigrationStatus } from "../../crds/status/migration.ts";
import type { ReviewRequest, Verdict } from "../review.ts";
import { ANN, config, NOW, readsOf, request, stampedBy } from "../testing.ts";
import {
  acknowledgmentObject,
  historyRead,
  migration,
  migrationApply,
  migrationAwaiting,
  unresolvedRun,
} from "../testing-migration.ts";
import { reviewAcknowledgment } from "./acknowledgment.ts";
import { ACKNOWLEDGMENT } from "./person-stamp.ts";

const written = (over: Record<string, unknown> = {}): ReviewRequest =>
  stampedBy(ACKNOWLEDGMENT, request({ object: acknowledgmentObject(over) }));
const standing = (over: Partial<MigrationStatus> = {}) => migration({ ...migrationAwaiting, unresolvedRun, ...over });
const judged = async (stored: ReturnType<typeof migration> | undefined, of = written()): Promise<string> => {
  const verdict: Verdict = await reviewAcknowledgment(of, readsOf({ migration: stored }), config(), NOW);
  return verdict.allowed ? "allowed" : verdict.message;
};
const marked = (stored: ReturnType<typeof migration>, metadata: object) => ({
  ...stored,
  metadata: { ...stored.metadata, ...metadata },
});

describe("an acknowledgment", () => {
  test("gets who, when and the request stamped over whatever was sent", () => {
    const forged = acknowledgmentObject({
      acknowledgedBy: { username: "bob" },
      acknowledgedAt: "2001-01-01T00:00:00Z",
    });
    expect(stampedBy(ACKNOWLEDGMENT, request({ object: forged })).object["spec"]).toMatchObject({
      acknowledgedBy: { username: "ann", uid: "u-ann", groups: ["dba", "ops", "system:authenticated"] },
      acknowledgedAt: "2026-03-01T12:00:00.000Z",
      mutationRequestUID: "request-1",
    });
  });
  test("of the run that nobody has accounted for is accepted with one read", async () => {
    const reads = readsOf({ migration: standing() });
    expect(await reviewAcknowledgment(written(), reads, config(), NOW)).toEqual({ allowed: true });
    expect(reads.count()).toBe(1);
  });
  test("is accepted of a migration being deleted, while its proof is read, and while somebody may still write", async () => {
    expect(await judged(marked(standing(), { deletionTimestamp: "2026-03-01T11:00:00Z" }))).toBe("allowed");
    expect(await judged(standing({ activeOperation: historyRead.claim }))).toBe("allowed");
    const running = {
      ...unresolvedRun,
      pods: [{ uid: "pod-1" }],
      podCount: 1,
      executionNotAfter: "2026-03-01T13:00:00Z",
    };
    expect(await judged(standing({ unresolvedRun: running }))).toBe("allowed");
  });

  const claim = migrationApply.claim;
  const other = `sha256:${"b".repeat(64)}`;
  const resolved = {
    operationID: unresolvedRun.operationID,
    outcome: "Partial",
    resolution: "Reading",
    resolvedAt: NOW.toISOString(),
  } as const;
  const mirror = { annotations: { [annotation.unsettledApply]: '{"version":1}' } };
  const refused: readonly [string, ReturnType<typeof migration> | undefined, ReviewRequest | undefined, string][] = [
    ["of no migration", undefined, undefined, "does not exist"],
    ["of a migration that was replaced", marked(standing(), { uid: "other" }), undefined, "was replaced"],
    ["where no run is unresolved", migration(), undefined, "nothing to acknowledge"],
    [
      "that comes early, of a run under way",
      migration({ ...migrationAwaiting, activeOperation: claim }),
      written({ operationID: claim.id }),
      "still under way",
    ],
    ["that comes late", migration({ ...migrationAwaiting, resolvedRun: resolved }), undefined, "settled already"],
    [
      "that comes late, while a later run waits",
      standing({ resolvedRun: { ...resolved, operationID: other } }),
      written({ operationID: other }),
      "settled already",
    ],
    ["of another run", standing(), written({ operationID: other }), "another run than the one"],
    ["before a restored run is put back", marked(migration(), mirror), undefined, "has not put this run"],
    ["unstamped", standing(), request({ object: acknowledgmentObject() }), "cannot read spec.acknowledgedBy"],
    [
      "stamped for somebody else",
      standing(),
      { ...written(), user: { username: "bob", uid: "u-bob", groups: [] } },
      "was not stamped from this request",
    ],
    [
      "stamped at another time",
      standing(),
      stampedBy(ACKNOWLEDGMENT, request({ object: acknowledgmentObject() }), new Date("2026-03-01T11:00:00Z")),
      "check the clocks",
    ],
    [
      "of a newer contract",
      standing({ executionBinding: { ...migrationAwaiting.executionBinding, controllerStateVersion: 2 } }),
      undefined,
      "upgrade the operator",
    ],
    [
      "of a newer mirror",
      marked(standing(), { annotations: { [annotation.unsettledApply]: '{"version":9}' } }),
      undefined,
      "upgrade the operator",
    ],
  ];
  for (const [name, stored, of, expected] of refused) {
    test(`${name} is refused`, async () => expect(await judged(stored, of)).toContain(expected));
  }

  test("by nobody in particular is refused", () => {
    const nobody = request({ object: acknowledgmentObject(), user: { ...ANN, username: "" } });
    expect(() => stampedBy(ACKNOWLEDGMENT, nobody)).toThrow("an acknowledgment needs an authenticated user");
  });
  test("keeps its spec for ever, and may change its metadata", async () => {
    const before = acknowledgmentObject();
    const labelled = { ...before, metadata: { ...before.metadata, labels: { a: "b" } } };
    expect(await judged(undefined, request({ object: labelled, oldObject: before }))).toBe("allowed");
    const changed = acknowledgmentObject({ operationID: other });
    expect(await judged(standing(), request({ object: changed, oldObject: before }))).toContain("cannot be changed");
  });
});
