import { describe, expect, test } from "bun:test";
import type { SchemaStatus } from "../../crds/status/schema.ts";
import type { ReviewRequest, Verdict } from "../review.ts";
import {
  ANN,
  approvalObject,
  awaiting,
  claim,
  config,
  files,
  NOW,
  plan,
  readsOf,
  request,
  schema,
  stampedBy,
} from "../testing.ts";
import { reviewApproval } from "./approval.ts";
import { SCHEMA_APPROVALS } from "./approval-family.ts";
import { APPROVAL_OF_SCHEMA, stampPerson } from "./person-stamp.ts";
import { WRITER_UID, WRITER_USERNAME } from "./spec-writer.ts";

const stamped = (of: ReviewRequest, at = NOW): ReviewRequest => stampedBy(APPROVAL_OF_SCHEMA, of, at);

type Stored = Parameters<typeof readsOf>[0];
const judged = (stored: Stored = {}, of = stamped(request({ object: approvalObject() })), settings = config()) =>
  reviewApproval(of, readsOf({ schema: schema(), plan, ...stored }), settings, NOW, SCHEMA_APPROVALS);
const message = (verdict: Verdict): string => (verdict.allowed ? "allowed" : verdict.message);

describe("stamping", () => {
  test("writes the requester over whatever was sent: name, UID, sorted unique groups, time, request", () => {
    const forged = approvalObject({
      approver: { username: "bob" },
      approvedAt: "2001-01-01T00:00:00Z",
      mutationRequestUID: "x",
    });
    expect(stamped(request({ object: forged })).object["spec"]).toMatchObject({
      approver: { username: "ann", uid: "u-ann", groups: ["dba", "ops", "system:authenticated"] },
      approvedAt: "2026-03-01T12:00:00.000Z",
      mutationRequestUID: "request-1",
    });
  });
  test("keeps at most 64 groups", () => {
    const groups = Array.from({ length: 70 }, (_, i) => `g${String(i).padStart(2, "0")}`);
    const spec = stamped(request({ object: approvalObject(), user: { ...ANN, groups } })).object["spec"];
    expect((spec as { approver: { groups: string[] } }).approver.groups).toEqual(groups.slice(0, 64));
  });
  test("refuses nobody and an approval without a spec", () => {
    expect(
      stampPerson(
        request({ object: approvalObject(), user: { username: "", uid: "", groups: [] } }),
        NOW,
        APPROVAL_OF_SCHEMA,
      ).allowed,
    ).toBe(false);
    expect(stampPerson(request({ object: { metadata: {} } }), NOW, APPROVAL_OF_SCHEMA).allowed).toBe(false);
  });
});

describe("an approval", () => {
  test("of the standing plan is accepted, with four reads in two rounds at most", async () => {
    const reads = readsOf({ schema: schema(), plan });
    const given = stamped(request({ object: approvalObject() }));
    expect(await reviewApproval(given, reads, config(), NOW, SCHEMA_APPROVALS)).toEqual({ allowed: true });
    expect(reads.count()).toBe(3);
  });
  test("is accepted while a reading is under way", async () => {
    const reading = { ...claim, type: "Observe" as const };
    expect(await judged({ schema: schema({ ...awaiting, activeOperation: reading }) })).toEqual({ allowed: true });
  });

  const spec = (over: Record<string, unknown>) => stamped(request({ object: approvalObject(over) }));
  const status = (over: Partial<SchemaStatus>): Stored => ({ schema: schema({ ...awaiting, ...over }) });
  const planMeta = (over: object): Stored => ({ plan: { ...plan, metadata: { ...plan.metadata, ...over } } });
  const planSpec = (over: object): Stored => ({ plan: { ...plan, spec: { ...plan.spec, ...over } } });
  const standing = awaiting.plan as NonNullable<SchemaStatus["plan"]>;
  const record = { outcome: "OutcomeUnknown" } as unknown as NonNullable<SchemaStatus["pendingObservation"]>;
  const newer = {
    ...(awaiting.executionBinding as NonNullable<SchemaStatus["executionBinding"]>),
    controllerStateVersion: 2,
  };
  const policy = (over: object): Stored => ({ schema: schema(awaiting, { policy: over }) });

  const refused: readonly [string, Stored, ReviewRequest | undefined, string][] = [
    [
      "unstamped",
      {},
      request({
        object: approvalObject({
          approver: { username: "bob" },
          approvedAt: NOW.toISOString(),
          mutationRequestUID: "x",
        }),
      }),
      "was not stamped from this request",
    ],
    [
      "stamped for another user",
      {},
      { ...spec({}), user: { username: "bob", uid: "u-bob", groups: [] } },
      "was not stamped from this request",
    ],
    [
      "stamped at another time",
      {},
      stamped(request({ object: approvalObject() }), new Date("2026-03-01T11:00:00Z")),
      "check the clocks",
    ],
    ["half written", {}, request({ object: { metadata: { name: "x" }, spec: {} } }), "cannot read"],
    ["of no plan", { plan: undefined }, undefined, "does not exist"],
    ["of no schema", { schema: undefined }, undefined, "does not exist"],
    ["of a plan being deleted", planMeta({ deletionTimestamp: "x" }), undefined, "is being deleted"],
    ["of a plan that was replaced", {}, spec({ planRef: { name: "ptah-plan-1", uid: "other" } }), "was replaced"],
    ["of another fingerprint", {}, spec({ planFingerprint: `sha256:${"0".repeat(64)}` }), "another fingerprint"],
    [
      "of another schema's plan",
      planSpec({ schemaRef: { name: "orders", uid: "other" } }),
      undefined,
      "belongs to another PtahSchema",
    ],
    [
      "of a plan not published",
      { plan: { ...plan, status: { observedGeneration: 1, conditions: [] } } },
      undefined,
      "is not published completely",
    ],
    [
      "of a plan whose Ready is old",
      { plan: { ...plan, status: { ...plan.status, observedGeneration: 0 } } },
      undefined,
      "is not published completely",
    ],
    [
      "of a schema that was replaced",
      {},
      spec({ schemaRef: { name: "orders", uid: "other" } }),
      "belongs to another PtahSchema",
    ],
    [
      "of a schema being deleted",
      { schema: { ...schema(), metadata: { ...schema().metadata, deletionTimestamp: "x" } } },
      undefined,
      "is being deleted",
    ],
    ["with nothing standing", status({ plan: undefined }), undefined, "no plan of this schema waits"],
    [
      "of a superseded plan",
      status({ plan: { ...standing, name: "ptah-plan-2", uid: "plan-2" } }),
      undefined,
      'plan "ptah-plan-2" stands now',
    ],
    ["of a plan once dispatched", status({ plan: { ...standing, dispatched: true } }), undefined, "never runs again"],
    ["while an Apply is claimed", status({ activeOperation: claim }), undefined, "already under way"],
    ["while a record stands", status({ pendingObservation: record }), undefined, "is not settled"],
    [
      "after the realm changed",
      {
        schema: schema(awaiting, {
          target: { engine: "PostgreSQL", coordinationKey: "other", urlFrom: { name: "a", key: "b" } },
        }),
      },
      undefined,
      "realm was changed",
    ],
    [
      "after the target moved",
      status({ target: { identityDigest: `sha256:${"1".repeat(64)}` } }),
      undefined,
      "another database",
    ],
    [
      "after the binding changed",
      status({ executionBinding: { ...newer, controllerStateVersion: 1, epoch: `v1-${"4".repeat(32)}` } }),
      undefined,
      "executor was changed",
    ],
    ["after the policy changed", policy({ exclude: ["x"] }), undefined, "policy was changed"],
    ["under Never", policy({ apply: "Never" }), undefined, "apply is Never"],
    ["that nothing needs", policy({ apply: "Always" }), undefined, "needs no approval"],
    [
      "of a destructive plan that is not allowed",
      planSpec({ destructive: true }),
      undefined,
      "allowDestructive is false",
    ],
    [
      "of another source object",
      { configMaps: [{ ...files, metadata: { ...files.metadata, uid: "cm-2" } }] },
      undefined,
      "is not the one",
    ],
    ["after the source was deleted", { configMaps: [] }, undefined, "is not the one"],
    [
      "after the source was edited",
      { configMaps: [{ ...files, data: { "schema.sql": "DROP TABLE t" } }] },
      undefined,
      "holds other files",
    ],
    [
      "after a source policy came",
      {
        schema: schema(awaiting, {
          desired: { configMap: { name: "orders-sql" }, sourcePolicyFrom: { name: "p", key: "k" } },
        }),
        configMaps: [files, { metadata: { name: "p", uid: "p-1", resourceVersion: "1" }, data: { k: "version: 1" } }],
      },
      undefined,
      "source policy is not the one",
    ],
    ["of a newer contract", status({ executionBinding: newer }), undefined, "upgrade the operator"],
    ["of a newer plan", planSpec({ controllerStateVersion: 2 }), undefined, "upgrade the operator"],
  ];
  for (const [name, stored, of, expected] of refused) {
    test(`${name} is refused`, async () => expect(message(await judged(stored, of))).toContain(expected));
  }

  test("under Always is accepted where the plan changes privileges", async () => {
    const privileged = { ...plan, spec: { ...plan.spec, privilegeChanges: ["Grant" as const] } };
    expect(await judged({ plan: privileged, ...policy({ apply: "Always" }) })).toEqual({ allowed: true });
  });
  test("keeps its spec for ever, and may change its metadata", async () => {
    const before = approvalObject();
    const labelled = { ...before, metadata: { ...before.metadata, labels: { a: "b" } } };
    expect(await judged({}, request({ object: labelled, oldObject: before }))).toEqual({ allowed: true });
    const changed = approvalObject({ planRef: { name: "other", uid: "x" } });
    expect(message(await judged({}, request({ object: changed, oldObject: before })))).toContain("cannot be changed");
  });
});

describe("distinct approvers", () => {
  const written = (annotations: Record<string, string>) => ({
    schema: { ...schema(), metadata: { ...schema().metadata, annotations } },
  });
  const settings = config({ requireDistinctApprover: true });
  const table: readonly [string, Record<string, string>, string][] = [
    ["the writer", { [WRITER_USERNAME]: "ann", [WRITER_UID]: "u-ann" }, "may not approve"],
    ["the writer under another name", { [WRITER_USERNAME]: "ann2", [WRITER_UID]: "u-ann" }, "may not approve"],
    ["anybody where the writer is unknown", {}, "nobody is known"],
    ["somebody else", { [WRITER_USERNAME]: "bob", [WRITER_UID]: "u-bob" }, "allowed"],
  ];
  for (const [name, annotations, expected] of table) {
    test(`${name}: ${expected}`, async () => {
      expect(message(await judged(written(annotations), undefined, settings))).toContain(expected);
    });
  }
  test("are not asked for unless configured", async () => {
    expect(await judged(written({ [WRITER_USERNAME]: "ann" }))).toEqual({ allowed: true });
  });
});
