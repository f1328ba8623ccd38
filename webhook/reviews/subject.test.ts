import { describe, expect, test } from "bun:test";
import { annotation, FINALIZER } from "../../crds/names.ts";
import type { PatchOperation, ReviewedObject, Verdict } from "../review.ts";
import { ANN, config, manager, request, schemaObject } from "../testing.ts";
import { SCHEMA } from "./family.ts";
import { WRITER_UID, WRITER_USERNAME } from "./spec-writer.ts";
import { reviewSubject } from "./subject.ts";
import { stampSubject } from "./subject-stamp.ts";

const message = (verdict: Verdict): string => (verdict.allowed ? "allowed" : verdict.message);
const patchOf = (verdict: Verdict): readonly PatchOperation[] => (verdict.allowed ? (verdict.patch ?? []) : []);
const bob = { username: "bob", uid: "u-bob", groups: ["dev"] };
const ID = `sha256:${"a".repeat(64)}`;
const MIRROR = JSON.stringify({ version: 1, operationID: ID });

function object(
  annotations: Record<string, string> | undefined,
  over: { spec?: object; metadata?: object; status?: object } = {},
): ReviewedObject {
  const plain = schemaObject(over.spec as Record<string, unknown> | undefined);
  return {
    ...plain,
    metadata: { ...plain.metadata, annotations, ...over.metadata },
    ...(over.status && { status: over.status }),
  };
}
const owing = { status: { pendingObservation: { operationID: ID } } };

describe("what admission adds", () => {
  test("our finalizer, where a mirror comes with a create or an update", () => {
    const mirrored = object({ [annotation.unsettledApply]: MIRROR });
    const finalizer = { op: "add", path: "/metadata/finalizers", value: [FINALIZER] };
    expect(patchOf(stampSubject(request({ object: mirrored }), config(), SCHEMA))).toContainEqual(
      finalizer as PatchOperation,
    );
    const others = object({ [annotation.unsettledApply]: MIRROR }, { metadata: { finalizers: ["x/y"] } });
    expect(patchOf(stampSubject(request({ object: others, oldObject: others }), config(), SCHEMA))).toContainEqual({
      op: "add",
      path: "/metadata/finalizers/-",
      value: FINALIZER,
    });
  });
  test("no finalizer twice, without a mirror, or while being deleted", () => {
    for (const given of [
      object({ [annotation.unsettledApply]: MIRROR }, { metadata: { finalizers: [FINALIZER] } }),
      object({}),
      object({ [annotation.unsettledApply]: MIRROR }, { metadata: { deletionTimestamp: "x" } }),
    ]) {
      expect(patchOf(stampSubject(request({ object: given }), config(), SCHEMA))).toEqual([]);
    }
  });
  test("who settled, where the word is new, whatever name the client sent", () => {
    const said = object({ [annotation.settledApply]: ID, [annotation.settledApplyBy]: '{"username":"eve"}' });
    const [operation] = patchOf(stampSubject(request({ object: said, oldObject: object({}) }), config(), SCHEMA));
    expect(operation?.path).toBe("/metadata/annotations/operator.ptah.run~1settled-apply-by");
    expect(JSON.parse(String(operation?.value))).toEqual({
      username: "ann",
      uid: "u-ann",
      groups: ["dba", "ops", "system:authenticated"],
    });
  });
  test("the stored name again, where the word stood already", () => {
    const stored = object({ [annotation.settledApply]: ID, [annotation.settledApplyBy]: "ann" });
    const forged = object({ [annotation.settledApply]: ID, [annotation.settledApplyBy]: "eve" });
    expect(patchOf(stampSubject(request({ object: forged, oldObject: stored, user: bob }), config(), SCHEMA))).toEqual([
      { op: "add", path: "/metadata/annotations/operator.ptah.run~1settled-apply-by", value: "ann" },
    ]);
    expect(patchOf(stampSubject(request({ object: stored, oldObject: stored, user: bob }), config(), SCHEMA))).toEqual(
      [],
    );
  });
  test("no name without a word", () => {
    const alone = object({ [annotation.settledApplyBy]: "eve" });
    expect(patchOf(stampSubject(request({ object: alone }), config(), SCHEMA))).toEqual([
      { op: "remove", path: "/metadata/annotations/operator.ptah.run~1settled-apply-by" },
    ]);
  });
  test("the writer of the spec, only where approvers must be distinct", () => {
    const settings = config({ requireDistinctApprover: true });
    expect(patchOf(stampSubject(request({ object: object(undefined) }), config(), SCHEMA))).toEqual([]);
    expect(patchOf(stampSubject(request({ object: object(undefined) }), settings, SCHEMA))).toEqual([
      { op: "add", path: "/metadata/annotations", value: {} },
      { op: "add", path: "/metadata/annotations/operator.ptah.run~1last-spec-writer-username", value: "ann" },
      { op: "add", path: "/metadata/annotations/operator.ptah.run~1last-spec-writer-uid", value: "u-ann" },
    ]);
    const stored = object({ [WRITER_USERNAME]: "ann", [WRITER_UID]: "u-ann" });
    const forged = object({ [WRITER_USERNAME]: "bob", [WRITER_UID]: "u-bob" });
    expect(
      patchOf(stampSubject(request({ object: forged, oldObject: stored, user: bob }), settings, SCHEMA)).map(
        ({ value }) => value,
      ),
    ).toEqual(["ann", "u-ann"]);
    const edited = object({ [WRITER_USERNAME]: "ann", [WRITER_UID]: "u-ann" }, { spec: { suspend: true } });
    expect(
      patchOf(stampSubject(request({ object: edited, oldObject: stored, user: bob }), settings, SCHEMA)).map(
        ({ value }) => value,
      ),
    ).toEqual(["bob", "u-bob"]);
  });
});

describe("a write of a PtahSchema", () => {
  const always = { policy: { apply: "Always" } };
  const mirrored = object({ [annotation.unsettledApply]: MIRROR });
  const finalized = (status: object) => object({}, { metadata: { finalizers: [FINALIZER] }, status });
  const files = (configMap: object) => object({}, { spec: { desired: { configMap: { name: "x", ...configMap } } } });

  const table: readonly [string, ReviewedObject, ReviewedObject | undefined, string][] = [
    ["a plain create", object({}), undefined, "allowed"],
    ["a create that restores a mirror", mirrored, undefined, "allowed"],
    [
      "a create with a mirror too large",
      object({ [annotation.unsettledApply]: "x".repeat(5000) }),
      undefined,
      "larger than 4096 bytes",
    ],
    ["an update that keeps the mirror", mirrored, mirrored, "allowed"],
    ["an update that adds a mirror", mirrored, object({}), "changed by the operator alone"],
    ["an update that removes the mirror", object({}), mirrored, "changed by the operator alone"],
    [
      "an update that edits the mirror",
      object({ [annotation.unsettledApply]: "{}" }),
      mirrored,
      "changed by the operator alone",
    ],
    [
      "taking our finalizer while an operation runs",
      object({}),
      finalized({ activeOperation: { id: ID } }),
      "stays while",
    ],
    [
      "taking our finalizer while a record stands",
      object({}),
      finalized({ pendingObservation: { operationID: ID } }),
      "stays while",
    ],
    ["taking our bare finalizer", object({}), finalized({}), "allowed"],
    ["settling the unsettled Apply", object({ [annotation.settledApply]: ID }), object({}, owing), "allowed"],
    [
      "settling another Apply",
      object({ [annotation.settledApply]: "sha256:b" }),
      object({}, owing),
      "names another Apply",
    ],
    ["settling nothing", object({ [annotation.settledApply]: ID }), object({}), "nothing to settle"],
    [
      "settling what only the mirror knows",
      object({ [annotation.unsettledApply]: MIRROR, [annotation.settledApply]: ID }),
      mirrored,
      "allowed",
    ],
    [
      "keeping an old word",
      object({ [annotation.settledApply]: "sha256:b" }),
      object({ [annotation.settledApply]: "sha256:b" }),
      "allowed",
    ],
    [
      "two keys under one path",
      files({
        items: [
          { key: "a", path: "x.sql" },
          { key: "b", path: "x.sql" },
        ],
      }),
      undefined,
      "each its own path",
    ],
    [
      "a file that is a directory too",
      files({
        items: [
          { key: "a", path: "x" },
          { key: "b", path: "x/y.sql" },
        ],
      }),
      undefined,
      "as a file and as a directory",
    ],
    ["one key twice", files({ keys: ["a", "a"] }), undefined, "twice"],
    [
      "a password in a Git URL",
      object({}, { spec: { desired: { git: { repository: "https://u:hunter2@x/y", ref: "main" } } } }),
      undefined,
      "holds a password",
    ],
    [
      "the target as scratch database",
      object({}, { spec: { dev: { urlFrom: { name: "orders-db", key: "url" } } } }),
      undefined,
      "same Secret key",
    ],
    [
      "a bad value kept from before",
      object({ a: "b" }, { spec: { dev: { urlFrom: { name: "orders-db", key: "url" } } } }),
      object({}, { spec: { dev: { urlFrom: { name: "orders-db", key: "url" } } } }),
      "allowed",
    ],
    ["a spec that cannot be read", object({}, { spec: { interval: "soon" } }), undefined, "cannot read spec.interval"],
    [
      "an object of a newer contract",
      object({ a: "b" }),
      object({}, { status: { executionBinding: { controllerStateVersion: 2 } } }),
      "upgrade the operator",
    ],
    [
      "an object with a newer mirror",
      object({ [annotation.unsettledApply]: '{"version":9}' }),
      object({ [annotation.unsettledApply]: '{"version":9}' }),
      "upgrade the operator",
    ],
  ];
  for (const [name, given, before, expected] of table) {
    test(`${name}: ${expected}`, () => {
      const verdict = reviewSubject(request({ object: given, oldObject: before }), config(), SCHEMA);
      expect(message(verdict)).toContain(expected);
      expect(message(verdict)).not.toContain("hunter2");
    });
  }

  test("may enter apply: Always only by a listed group, and may keep and leave it", () => {
    const auto = object({}, { spec: always });
    const verdict = (given: ReviewedObject, before: ReviewedObject | undefined, user: typeof bob) =>
      reviewSubject(request({ object: given, oldObject: before, user }), config(), SCHEMA).allowed;
    expect(verdict(auto, undefined, ANN)).toBe(true);
    expect(verdict(auto, undefined, bob)).toBe(false);
    expect(verdict(auto, object({}), bob)).toBe(false);
    expect(verdict(object({}, { spec: { ...always, suspend: true } }), auto, bob)).toBe(true);
    expect(verdict(object({}), auto, bob)).toBe(true);
  });
  test("by the manager is its own business", () => {
    expect(
      reviewSubject(request({ object: object({}), oldObject: mirrored, user: manager }), config(), SCHEMA),
    ).toEqual({
      allowed: true,
    });
  });
});
