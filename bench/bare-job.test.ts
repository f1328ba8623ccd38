import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Job } from "../kube/index.ts";
import { bareJob, operationsOf, type Work } from "./bare-job.ts";

const golden = (operation: string): Job =>
  JSON.parse(readFileSync(join(import.meta.dirname, "../workload/golden", `${operation}.json`), "utf8")) as Job;

const stored = (name: string, createdAt: string, schema: string): Job => {
  const job = golden("apply");
  const owner = {
    apiVersion: "operator.ptah.run/v1alpha1",
    kind: "PtahSchema",
    name: schema,
    uid: "u",
    controller: true,
  };
  const metadata = { ...job.metadata, name, uid: name, resourceVersion: "1", creationTimestamp: createdAt };
  return { ...job, metadata: { ...metadata, ownerReferences: [{ ...owner, blockOwnerDeletion: true }] } };
};

const fenced = /ptah-operator|operator\.ptah\.run/;

describe("a bare Job", () => {
  test("has nothing by which the operator or its admission would know it", () => {
    for (const operation of ["apply", "observe", "plan"]) {
      const bare = JSON.stringify(bareJob(golden(operation), "bare-1"));
      expect(bare).not.toMatch(fenced);
      expect(bare).not.toContain("schedulingGates");
      expect(bare).not.toContain("ownerReferences");
    }
  });

  test("keeps the shape: init containers, sidecar, volumes and security, another command in the main container", () => {
    const shape = golden("plan").spec.template.spec;
    const bare = bareJob(golden("plan"), "bare-1") as Job;
    const pod = bare.spec.template.spec;
    expect(pod.initContainers?.map(({ name, image }) => [name, image])).toEqual(
      shape.initContainers?.map(({ name, image }) => [name, image]),
    );
    expect(pod.initContainers?.find(({ name }) => name === "copy-source")).toEqual(
      shape.initContainers?.find(({ name }) => name === "copy-source"),
    );
    expect(pod.volumes).toEqual(shape.volumes);
    expect(pod.securityContext).toEqual(shape.securityContext);
    expect(pod.containers[0] as object).toEqual({
      ...shape.containers[0],
      command: ["/usr/local/bin/ptah"],
      args: ["version"],
    });
    expect(bare.metadata as object).toEqual({ name: "bare-1", namespace: "team-a" });
  });
});

test("the sidecar of a bare Job ends when it is told to, also before its server is up", () => {
  const pod = (bareJob(golden("plan"), "bare-1") as Job).spec.template.spec;
  const before = golden("plan").spec.template.spec.initContainers?.find(({ name }) => name === "scratch");
  const after = pod.initContainers?.find(({ name }) => name === "scratch");
  expect(after?.command?.[2]).toBe(`trap 'exit 0' TERM\n${before?.command?.[2]}`);
  expect({ ...after, command: before?.command } as object).toEqual({ ...before });
});

describe("a bare Job with work of its own", () => {
  const commandOf = (operation: string, work: Work) =>
    (bareJob(golden(operation), "bare-1", work) as Job).spec.template.spec.containers[0]?.args;

  test("reads and plans as the operation did, and applies only where that is asked for", () => {
    expect(commandOf("plan", "readings")).toEqual(golden("plan").spec.template.spec.containers[0]?.args);
    expect(commandOf("observe", "readings")).toContain("observe");
    expect(commandOf("apply", "readings")).toEqual(["version"]);
    expect(commandOf("apply", "all")).toEqual(golden("apply").spec.template.spec.containers[0]?.args);
  });
});

describe("the operations of a schema", () => {
  test("are its own Jobs in the order of their creation", () => {
    const jobs = [
      stored("second", "2026-01-01T00:00:09Z", "orders"),
      stored("foreign", "2026-01-01T00:00:05Z", "invoices"),
      stored("first", "2026-01-01T00:00:02Z", "orders"),
      bareJob(golden("plan"), "bare-1") as Job,
    ];
    expect(operationsOf(jobs, "orders").map((job) => job.metadata.name)).toEqual(["first", "second"]);
  });
});
