import { describe, expect, test } from "bun:test";
import * as v from "valibot";
import { compareBytewise } from "./canonical.ts";
import { explainCode } from "./codes.ts";
import { CONDITION_TYPES, explainCondition } from "./conditions.ts";
import { customResourceDefinition, rootSchema } from "./definition.ts";
import { engineSupported, normalizeEngine, sourceSupported } from "./engine.ts";
import {
  KINDS,
  parsePtahMigration,
  parsePtahMigrationApproval,
  parsePtahMigrationPlan,
  parsePtahMigrationRunAcknowledgment,
  parsePtahSchema,
} from "./fields.ts";
import { kube, opt, req } from "./meta.ts";
import { explainPhase } from "./phases.ts";
import { adviceFor, EVENT_REASONS, explainReason, REASONS } from "./reasons.ts";
import { declaredSource, SourceSpec } from "./source.ts";
import { MIGRATION_PHASES, SCHEMA_PHASES } from "./status/index.ts";
import { type Structural, structural } from "./structural.ts";

const object = (spec: object, more: object = {}) => ({
  apiVersion: "operator.ptah.run/v1alpha1",
  kind: "PtahSchema",
  metadata: { name: "orders", namespace: "shop", uid: "u", resourceVersion: "1", generation: 1 },
  spec: {
    target: { engine: "PostgreSQL", coordinationKey: "orders", urlFrom: { name: "db", key: "url" } },
    desired: { configMap: { name: "orders" } },
    ...spec,
  },
  ...more,
});

describe("the door", () => {
  test("fills the defaults that the API server would", () => {
    const parsed = parsePtahSchema(object({}));
    if (!parsed.ok) throw new Error(parsed.message);
    expect(parsed.value.spec.policy).toEqual({
      apply: "OnApproval",
      allowDestructive: false,
      driftSeverity: "all",
      lockTimeout: "30s",
      transactionMode: "file",
    });
    expect(parsed.value.spec.execution.activeDeadlineSeconds).toBe(900);
    expect(parsed.value.spec.history.keepPlans).toBe(5);
    expect(parsed.value.metadata.finalizers).toEqual([]);
  });

  test("takes an object with fields of a newer minor version", () => {
    const parsed = parsePtahSchema(object({ brandNew: 1 }, { status: { phase: "InSync", alsoNew: {} } }));
    expect(parsed.ok && parsed.value.status?.phase).toBe("InSync");
    expect(parsed.ok && "brandNew" in parsed.value.spec).toBe(false);
  });

  test("refuses a value it does not know by the field's name and without the value", () => {
    const parsed = parsePtahSchema(object({ policy: { apply: "hunter2" }, interval: "1s" }));
    expect(parsed).toMatchObject({ ok: false, code: "object_not_readable" });
    expect(!parsed.ok && parsed.message).toContain("spec.policy.apply, spec.interval");
    expect(!parsed.ok && parsed.message).not.toContain("hunter2");
  });

  test("fills a migration's defaults and leaves its transaction mode to the executor", () => {
    const parsed = parsePtahMigration({
      ...object({}),
      kind: "PtahMigration",
      spec: {
        target: { engine: "MySQL", coordinationKey: "ledger", urlFrom: { name: "db", key: "url" } },
        artifact: { configMap: { name: "ledger" } },
      },
    });
    if (!parsed.ok) throw new Error(parsed.message);
    expect(parsed.value.spec.policy).toEqual({ apply: "OnApproval", lockTimeout: "5m" });
    expect(parsed.value.spec.history.keepPlans).toBe(5);
    expect(parsed.value.status).toBeUndefined();
  });

  test("reads what every kind of the migration family holds", () => {
    const digest = `sha256:${"a".repeat(64)}`;
    const reference = { name: "ledger", uid: "u" };
    const stamps = { approver: { username: "jo" }, approvedAt: "2026-01-01T00:00:00Z", mutationRequestUID: "r" };
    const of = (kind: string, spec: object) => ({ ...object({}), kind, spec });
    const plan = {
      contractVersion: 2,
      migrationRef: reference,
      serial: 1,
      fingerprint: digest,
      contentDigest: digest,
      source: { kind: "ConfigMap", identity: "cm", contentDigest: digest },
      coordinationDigest: digest,
      targetIdentityDigest: digest,
      policyFingerprint: digest,
      executionBindingID: `v1-${"3".repeat(32)}`,
      controllerImage: `ptah@${digest}`,
      controllerRevision: "r1",
      controllerStateVersion: 1,
      ptahVersion: "1",
      executorImage: "ptah",
      runnerImage: `ptah@${digest}`,
      runnerProtocolVersion: 1,
      historyFingerprint: digest,
      currentVersion: 0,
      stepCount: 1,
      migrations: [{ version: 1, checksum: "h1:one", description: "First" }],
    };
    expect(parsePtahMigrationPlan(of("PtahMigrationPlan", plan)).ok).toBe(true);
    expect(parsePtahMigrationPlan(of("PtahMigrationPlan", { ...plan, migrations: [] })).ok).toBe(false);
    expect(parsePtahMigrationPlan(of("PtahMigrationPlan", { ...plan, stepCount: 257 })).ok).toBe(false);
    const approval = { migrationRef: reference, planRef: reference, planFingerprint: digest, ...stamps };
    expect(parsePtahMigrationApproval(of("PtahMigrationApproval", approval)).ok).toBe(true);
    const word = {
      migrationRef: reference,
      operationID: digest,
      acknowledgedBy: { username: "jo" },
      acknowledgedAt: "2026-01-01T00:00:00Z",
      mutationRequestUID: "r",
    };
    expect(parsePtahMigrationRunAcknowledgment(of("PtahMigrationRunAcknowledgment", word)).ok).toBe(true);
    const unstamped = { ...word, acknowledgedBy: undefined };
    expect(parsePtahMigrationRunAcknowledgment(of("PtahMigrationRunAcknowledgment", unstamped)).ok).toBe(false);
  });

  test("a declared source is one of three, or none", () => {
    const source = (spec: object) => declaredSource(v.parse(SourceSpec, spec));
    expect(source({ configMap: { name: "a" } })).toMatchObject({ kind: "ConfigMap", configMap: { name: "a" } });
    expect(source({ git: { repository: "https://g/a", ref: "main" } })).toMatchObject({
      kind: "Git",
      git: { path: "." },
    });
    const oci = { ociRef: "oci://r/a", verificationPolicyFrom: { name: "p", key: "k" } };
    expect(source(oci)).toMatchObject({ kind: "OCI", ociRef: "oci://r/a" });
    expect(source({})).toBeUndefined();
    expect(source({ ...oci, configMap: { name: "a" } })).toBeUndefined();
    expect(source({ ociRef: "oci://r/a" })).toBeUndefined();
  });
});

describe("engines", () => {
  test("spellings mean one of two engines, whatever their case", () => {
    expect(["PostgreSQL", "postgres", "PGX"].map(normalizeEngine)).toEqual(Array(3).fill("postgresql"));
    expect(["MySQL", "MariaDB"].map(normalizeEngine)).toEqual(["mysql", "mysql"]);
    expect(["Oracle", "constructor", ""].map(normalizeEngine)).toEqual([undefined, undefined, undefined]);
  });

  test("what is not run yet is told apart", () => {
    const spelled = ["PostgreSQL", "MySQL", "MariaDB", "Oracle"];
    expect(spelled.map((engine) => engineSupported(engine, "schema"))).toEqual([true, false, false, false]);
    expect(spelled.map((engine) => engineSupported(engine, "migration"))).toEqual([true, true, true, false]);
    expect((["ConfigMap", "Git", "OCI"] as const).map(sourceSupported)).toEqual([true, false, false]);
  });
});

function* fields(schema: Structural, path: string): Generator<readonly [string, Structural]> {
  yield [path, schema];
  for (const [name, inner] of Object.entries(schema.properties ?? {})) yield* fields(inner, `${path}.${name}`);
  if (schema.items !== undefined) yield* fields(schema.items, `${path}[]`);
  if (schema.additionalProperties !== undefined) yield* fields(schema.additionalProperties, `${path}{}`);
}

describe("the definitions", () => {
  test("every field has a description", () => {
    const bare = KINDS.flatMap((kind) => [...fields(rootSchema(kind), kind.kind)])
      .filter(([path, schema]) => !/[\]}]$|\.metadata$/.test(path) && schema.description === undefined)
      .map(([path]) => path);
    expect(bare).toEqual([]);
  });

  test("every list and map is bounded", () => {
    const open = KINDS.flatMap((kind) => [...fields(rootSchema(kind), kind.kind)])
      .filter(([, schema]) =>
        schema.type === "array" ? schema.maxItems === undefined : schema.additionalProperties && !schema.maxProperties,
      )
      .map(([path]) => path);
    expect(open).toEqual([]);
  });

  test("kubectl get ptah lists what people read, without fingerprints", () => {
    const listed = KINDS.filter((kind) =>
      JSON.stringify(customResourceDefinition(kind)).includes('"categories":["ptah"]'),
    );
    expect(listed.map((kind) => kind.kind)).not.toContain("PtahSchemaPlanChunk");
    const narrow = listed.flatMap((kind) => kind.columns.filter((column) => column.wide === undefined));
    expect(narrow.filter((column) => /fingerprint|digest/i.test(column.jsonPath))).toEqual([]);
  });

  test("a spec that is immutable says so, a mutable one does not", () => {
    const immutable = KINDS.filter((kind) =>
      JSON.stringify(customResourceDefinition(kind)).includes("self == oldSelf"),
    );
    expect(immutable.map((kind) => kind.kind)).toEqual([
      "PtahSchemaPlan",
      "PtahSchemaPlanChunk",
      "PtahSchemaApproval",
      "PtahMigrationPlan",
      "PtahMigrationApproval",
      "PtahMigrationRunAcknowledgment",
    ]);
  });

  test("an optional field is not required and keeps its bounds", () => {
    const schema = v.object({
      a: req("A.", v.pipe(v.string(), v.maxLength(3), v.regex(/^µ$/))),
      b: opt("B.", v.pipe(v.array(v.string()), v.minLength(1), kube({ listType: "atomic" }))),
    });
    expect(structural(schema)).toEqual({
      type: "object",
      properties: {
        a: { description: "A.", type: "string", maxLength: 3, pattern: "^\\x{00B5}$" },
        b: {
          description: "B.",
          type: "array",
          items: { type: "string" },
          minItems: 1,
          "x-kubernetes-list-type": "atomic",
        },
      },
      required: ["a"],
    });
  });

  test("a schema that no definition can express is an error, not a hole", () => {
    expect(() => structural(v.date())).toThrow("no form for valibot's date");
    expect(() => structural(v.pipe(v.string(), v.toLowerCase()))).toThrow("no form for valibot's to_lower_case");
  });
});

describe("reasons", () => {
  test("no word has two meanings", () => {
    for (const words of [REASONS, EVENT_REASONS].map((table) => table.map((entry) => entry.reason))) {
      expect(new Set(words).size).toBe(words.length);
    }
    expect(new Set(CONDITION_TYPES.map((c) => c.type)).size).toBe(CONDITION_TYPES.length);
  });

  test("the tables are sorted", () => {
    const words = REASONS.map((entry) => entry.reason.toLowerCase());
    expect(words).toEqual(words.toSorted(compareBytewise));
  });

  test("each says on which condition, what it means and what to do", () => {
    for (const entry of REASONS) {
      expect(entry.conditions.length).toBeGreaterThan(0);
      expect(entry.meaning).toMatch(/^[A-Zs].*\.$/);
      expect(entry.next).not.toBe("");
    }
  });

  test("whoever has to act is told more than to wait", () => {
    const idle = REASONS.filter((entry) => entry.who !== "nobody" && entry.next.startsWith("Nothing to do"));
    expect(idle.map((entry) => entry.reason)).toEqual([]);
  });

  test("every phase, condition type and code has its entry", () => {
    expect([...SCHEMA_PHASES, ...MIGRATION_PHASES].filter((phase) => explainPhase(phase) === undefined)).toEqual([]);
    expect(explainPhase("insync")?.meaning).toContain("fresh read");
    expect(explainCondition("stalled")?.whenTrue).toStartWith("Blocked");
    expect(explainCode("plan_refused")?.next).toContain("file and line");
    expect(explainCode("stale-plan")?.code).toBe("stale_plan");
    expect(explainCode("unmanaged_kind")?.who).toBe("author");
    expect(explainCode("nonsense")).toBeUndefined();
  });

  test("what is settled is not told to be waited for", () => {
    const settled = [
      "SnapshotTaken",
      "SupportedEngine",
      "Observed",
      "NotRequired",
      "CurrentPlan",
      "InSync",
      "NoChanges",
    ];
    for (const word of settled) expect(explainReason(word).reason?.next).not.toContain("kubectl ptah wait");
  });

  test("every advice names a migration's commands for a migration", () => {
    for (const entry of [...REASONS, ...EVENT_REASONS.map((event) => ({ ...event, who: "nobody" as const }))]) {
      expect(adviceFor(entry, "schema").next).toBe(entry.next);
      expect(adviceFor(entry, "migration").next).not.toMatch(
        /schema\/|ptah (schema|plan|approve|settle) NAME|ptahschema|desired/,
      );
    }
    const advice = explainReason("AwaitingApproval").reason;
    expect(advice && adviceFor(advice, "migration").next).toBe(
      "kubectl ptah plan migration/NAME, then kubectl ptah approve migration/NAME",
    );
    const held = explainReason("OutcomeUnknown").reason;
    expect(held && adviceFor(held, "migration")).toMatchObject({ who: "database administrator" });
  });

  test("a condition of a reason is one that some kind has", () => {
    const types = new Set<string>(CONDITION_TYPES.map((c) => c.type));
    expect(
      REASONS.flatMap((entry) => entry.conditions.map((c) => c.split("=")[0] ?? "")).filter((t) => !types.has(t)),
    ).toEqual([]);
  });

  test("a word is found whatever its case, among conditions and Events", () => {
    expect(explainReason("awaitingapproval").reason?.reason).toBe("AwaitingApproval");
    expect(explainReason("OperationFailed")).toMatchObject({ reason: {}, event: { type: "Warning" } });
    expect(explainReason("Nonsense")).toEqual({ reason: undefined, event: undefined });
  });
});
