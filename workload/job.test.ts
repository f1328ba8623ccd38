import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sequenceDigest } from "../crds/fingerprints.ts";
import { jobName, RECORDED_GATE } from "../crds/names.ts";
import { templateDigest } from "./digest.ts";
import { buildJob, buildTemplate } from "./job.ts";
import type { Container } from "./kubernetes.ts";
import type { OperationSpec, Work } from "./operation.ts";
import { parseSequence } from "./sequence.ts";
import { samples } from "./testing/samples.ts";

/** `UPDATE_GOLDEN=1 bun test ./workload` writes the files anew; the difference is what a review looks at. */
const golden = (name: string): string => join(import.meta.dirname, "golden", `${name}.json`);
const all = Object.entries(samples);

const containersOf = (spec: OperationSpec<Work>): readonly Container[] => {
  const pod = buildJob(spec).spec.template.spec;
  return [...(pod.initContainers ?? []), ...pod.containers];
};
const secretsOf = (container: Container): string[] =>
  (container.env ?? []).filter((e) => e.valueFrom !== undefined).map((e) => e.name);

describe("an operation's Job", () => {
  for (const [name, spec] of all) {
    test(`is the golden one: ${name}`, () => {
      const text = `${JSON.stringify(buildJob(spec), undefined, 2)}\n`;
      if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(golden(name), text);
      expect(text).toBe(readFileSync(golden(name), "utf8"));
    });

    test(`keeps the restricted Pod security standard: ${name}`, () => {
      const pod = buildJob(spec).spec.template.spec;
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        restartPolicy: "Never",
      });
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
      for (const container of containersOf(spec)) {
        expect(container.securityContext).toMatchObject({
          allowPrivilegeEscalation: false,
          capabilities: { drop: ["ALL"] },
          readOnlyRootFilesystem: true,
          runAsNonRoot: true,
        });
        expect(container.securityContext?.["runAsUser"]).not.toBe(0);
      }
    });

    test(`gives the database URL to the operation's container alone: ${name}`, () => {
      for (const container of containersOf(spec)) {
        if (container.name === "ptah") expect(secretsOf(container)).toContain("PTAH_DB_URL");
        else expect(secretsOf(container)).toEqual([]);
      }
    });

    test(`never mounts the raw snapshot where the URL is, and sorts its environment: ${name}`, () => {
      for (const container of containersOf(spec)) {
        const names = (container.env ?? []).map((e) => e.name);
        expect(names).toEqual([...names].sort());
        expect(new Set(names).size).toBe(names.length);
        if (container.name === "ptah") {
          expect((container.volumeMounts ?? []).map((m) => m.name)).not.toContain("source-snapshot");
        }
      }
    });

    test(`mounts only volumes it has: ${name}`, () => {
      const volumes = (buildJob(spec).spec.template.spec.volumes ?? []).map((volume) => volume["name"]);
      const mounted = containersOf(spec).flatMap((c) => (c.volumeMounts ?? []).map((m) => m.name));
      expect(new Set(mounted)).toEqual(new Set(volumes as string[]));
    });

    test(`runs once and has no TTL yet: ${name}`, () => {
      expect(buildJob(spec).spec).toMatchObject({
        parallelism: 1,
        completions: 1,
        backoffLimit: 0,
        podReplacementPolicy: "Failed",
      });
      expect(buildJob(spec).spec.ttlSecondsAfterFinished).toBeUndefined();
    });
  }

  test("of an Apply waits behind the scheduling gate, and only that", () => {
    for (const [, spec] of all) {
      const gates = buildJob(spec).spec.template.spec.schedulingGates;
      expect(gates).toEqual(spec.work.type === "Apply" ? [{ name: RECORDED_GATE }] : undefined);
    }
  });

  test("brings the development URL to a reading and never to an Apply", () => {
    const names = (spec: OperationSpec<Work>): string[] =>
      containersOf(spec).flatMap((c) => (c.env ?? []).map((e) => e.name));
    expect(names(samples["plan"])).toContain("PTAH_DEV_URL");
    expect(names(samples["observe-dev-url"])).toContain("PTAH_DEV_URL");
    expect(names(samples["apply"])).not.toContain("PTAH_DEV_URL");
  });

  test("of a migration takes no scratch server, no chunk and no development URL, and copies its source beside nothing else", () => {
    for (const spec of [samples.history, samples["migration-apply"], samples["migration-apply-mysql"]]) {
      const pod = buildJob(spec).spec.template.spec;
      const names = (pod.initContainers ?? []).map((container) => container.name);
      expect(names.filter((name) => name !== "install-runner")).toEqual(["copy-source"]);
      expect(pod.volumes?.map((volume) => volume["name"])).not.toContain("scratch");
      const copy = pod.initContainers?.find((container) => container.name === "copy-source");
      expect(copy?.env).toContainEqual({ name: "PTAH_SOURCE_DIR", value: "/source/migrations" });
      expect(pod.containers[0]?.env).toContainEqual({ name: "PTAH_MIGRATIONS_DIR", value: "/source/migrations" });
    }
  });

  test("of a migration waits for the migration lock, not for a schema's", () => {
    const names = containersOf(samples["migration-apply"]).flatMap((c) => (c.env ?? []).map((e) => e.name));
    expect(names).toContain("PTAH_MIGRATION_LOCK_TIMEOUT");
    expect(names).not.toContain("PTAH_LOCK_TIMEOUT");
  });

  test("of a migration Apply outlives its child's deadline by a minute, and no day", () => {
    const spec = samples["migration-apply"];
    const deadlines = (activeDeadlineSeconds: number): unknown[] => {
      const job = buildJob({ ...spec, activeDeadlineSeconds });
      return [job.spec.activeDeadlineSeconds, job.spec.template.spec.activeDeadlineSeconds];
    };
    expect(deadlines(900)).toEqual([960, 960]);
    expect(deadlines(86_400)).toEqual([86_400, 86_400]);
    expect(buildJob(samples.history).spec.activeDeadlineSeconds).toBe(900);
  });

  test("of a migration Apply carries a sequence that its digest covers", () => {
    const env = Object.fromEntries(
      (buildJob(samples["migration-apply"]).spec.template.spec.containers[0]?.env ?? []).map((e) => [e.name, e.value]),
    );
    const steps = parseSequence(env["PTAH_EXPECTED_MIGRATION_SEQUENCE"] ?? "");
    if (steps === undefined) throw new Error("no sequence");
    expect(sequenceDigest(steps)).toBe(env["PTAH_EXPECTED_MIGRATION_SEQUENCE_DIGEST"] ?? "");
    expect(steps).toEqual([...samples["migration-apply"].work.plan.migrations]);
  });

  test("is told apart by family: labels, the runner's operation, the plan's own digest", () => {
    const metadata = buildJob(samples["migration-apply"]).metadata;
    expect(metadata.labels).toMatchObject({
      "app.kubernetes.io/component": "migration-operation",
      "operator.ptah.run/operation": "apply",
      "operator.ptah.run/migration": "orders",
    });
    expect(metadata.labels).not.toHaveProperty(["operator.ptah.run/schema"]);
    expect(metadata.annotations).toHaveProperty(["operator.ptah.run/sequence-digest"]);
    expect(metadata.annotations).not.toHaveProperty(["operator.ptah.run/plan-content-digest"]);
    const operations = [samples.history, samples["migration-apply"], samples["apply"]].map((spec) =>
      buildJob(spec).spec.template.spec.containers[0]?.args?.at(-1),
    );
    expect(operations).toEqual(["migration-history", "migration-apply", "apply"]);
  });

  test("names its digest the same with and without the snapshot annotation and the Job controller's labels", () => {
    const spec = samples["apply"];
    const bare = buildTemplate({ ...spec, admissionSnapshotDigest: undefined });
    const stored = buildTemplate(spec);
    const labelled = {
      ...stored,
      metadata: {
        ...stored.metadata,
        labels: { ...stored.metadata?.labels, "controller-uid": "u", "batch.kubernetes.io/job-name": "j" },
      },
    };
    expect(templateDigest(stored)).toBe(templateDigest(bare));
    expect(templateDigest(labelled)).toBe(templateDigest(bare));
  });

  test("has a digest that the gate is part of", () => {
    const template = buildTemplate(samples["apply"]);
    const ungated = { ...template, spec: { ...template.spec, schedulingGates: undefined } };
    expect(templateDigest(ungated)).not.toBe(templateDigest(template));
  });

  test("has a digest that every field of the spec changes", () => {
    const base = samples["plan"];
    const changed: OperationSpec[] = [
      { ...base, operationID: "other" },
      { ...base, inputFingerprint: `sha256:${"9".repeat(64)}` },
      { ...base, connectTimeout: "11s" },
      { ...base, activeDeadlineSeconds: 901 },
      { ...base, target: { ...base.target, urlFrom: { name: "other", key: "url" } } },
      { ...base, execution: { ...base.execution, nodeSelector: { a: "b" } } },
      { ...base, binding: { ...base.binding, epoch: `v1-${"9".repeat(32)}` } },
      { ...base, manager: { ...base.manager, controllerRevision: "other" } },
    ];
    const digests = [base, ...changed].map((spec) => templateDigest(buildTemplate(spec)));
    expect(new Set(digests).size).toBe(digests.length);
  });

  test("cannot be renamed by metadata that a resource adds", () => {
    const spec = samples["plan"];
    const job = buildJob({
      ...spec,
      execution: { ...spec.execution, podMetadata: { labels: { "app.kubernetes.io/managed-by": "x", team: "a" } } },
    });
    expect(job.metadata.labels).toMatchObject({ "app.kubernetes.io/managed-by": "ptah-operator", team: "a" });
  });

  test("carries the name that its identity gives it", () => {
    const spec = samples["apply"];
    const name = jobName({
      family: "schema",
      name: "orders",
      uid: "schema-uid",
      operation: "Apply",
      operationId: "operation-01",
      bindingEpoch: `v1-${"3".repeat(32)}`,
      inputFingerprint: `sha256:${"f".repeat(64)}`,
      attempt: 1,
    });
    expect(name).toBe("ptah-apply-orders-6674d54604caaf6b");
    expect(buildJob(spec).metadata).toMatchObject({
      name,
      labels: { "operator.ptah.run/operation-id": "aa8c786b111a8c3b" },
    });
  });
});
