import { describe, expect, test } from "bun:test";
import { type JobExpectation, jobDifference, type PodExpectation, podDifference } from "./compare.ts";
import { templateDigest } from "./digest.ts";
import { DEFAULT_ADMISSION_FLAGS, type EnvelopeObjects, resolveEnvelope, sealSnapshot } from "./envelope.ts";
import { buildJob } from "./job.ts";
import type { Job, Pod, PodSpec } from "./kubernetes.ts";
import type { OperationSpec, Work } from "./operation.ts";
import { samples } from "./testing/samples.ts";

const JOB_UID = "job-uid";
const meta = (name: string) => ({ name, uid: `${name}-uid`, resourceVersion: "7" });

const cluster: EnvelopeObjects = {
  serviceAccount: { metadata: meta("default"), imagePullSecrets: [{ name: "account-pull" }] },
  limitRanges: [
    {
      metadata: meta("limits"),
      spec: { limits: [{ type: "Container", default: { cpu: "1" }, defaultRequest: { "ephemeral-storage": "1Gi" } }] },
    },
  ],
  runtimeClass: undefined,
  priorityClasses: [{ metadata: meta("normal"), value: 10, globalDefault: true }],
};

function expectationOf(spec: OperationSpec<Work>, objects = cluster): PodExpectation {
  const job = buildJob(spec);
  const resolved = resolveEnvelope(spec.execution, objects, DEFAULT_ADMISSION_FLAGS);
  if (!resolved.ok) throw new Error(resolved.sentence);
  const snapshot = sealSnapshot(resolved.snapshot, templateDigest(job.spec.template));
  return { template: job.spec.template, job: { name: spec.jobName, uid: JOB_UID }, snapshot, moment: "Create" };
}

/** The Pod that a real API server makes of the plan sample in that namespace, written out by hand. */
function admitted(spec: OperationSpec<Work>): Pod {
  const { template } = buildJob(spec).spec;
  const withDefaults = (list: PodSpec["containers"] | undefined) =>
    (list ?? []).map((c) => ({
      ...c,
      resources: {
        limits: { memory: "512Mi", cpu: "1" },
        requests: { cpu: "250m", memory: "256Mi", "ephemeral-storage": "1Gi" },
      },
    }));
  return {
    metadata: {
      name: `${spec.jobName.slice(0, 57)}-x7k2p`,
      generateName: `${spec.jobName}-`,
      namespace: "team-a",
      labels: {
        ...template.metadata?.labels,
        "batch.kubernetes.io/controller-uid": JOB_UID,
        "batch.kubernetes.io/job-name": spec.jobName,
        "controller-uid": JOB_UID,
        "job-name": spec.jobName,
      },
      annotations: { ...template.metadata?.annotations, "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu" },
      finalizers: ["batch.kubernetes.io/job-tracking"],
      ownerReferences: [
        {
          apiVersion: "batch/v1",
          kind: "Job",
          name: spec.jobName,
          uid: JOB_UID,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      ...template.spec,
      imagePullSecrets: [{ name: "account-pull" }],
      priority: 10,
      priorityClassName: "normal",
      preemptionPolicy: "PreemptLowerPriority",
      tolerations: [
        { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
        { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
      ],
      initContainers: withDefaults(template.spec.initContainers),
      containers: withDefaults(template.spec.containers),
    },
  };
}

const plan = samples["plan"];
const apply = samples["apply"];
const withSpec = (pod: Pod, spec: Partial<PodSpec>): Pod => ({ ...pod, spec: { ...pod.spec, ...spec } });
const withMeta = (pod: Pod, metadata: Partial<Pod["metadata"]>): Pod => ({
  ...pod,
  metadata: { ...pod.metadata, ...metadata },
});
const firstContainer = (pod: Pod, change: object): Pod =>
  withSpec(pod, { containers: pod.spec.containers.map((c, i) => (i === 0 ? { ...c, ...change } : c)) });

describe("a Pod within its admission snapshot", () => {
  test("is the template with exactly what the snapshot adds", () => {
    expect(podDifference(admitted(plan), expectationOf(plan))).toBeUndefined();
    expect(podDifference(admitted(apply), expectationOf(apply))).toBeUndefined();
  });

  test("of a migration is held to its template as closely", () => {
    for (const spec of [samples.history, samples["migration-apply"], samples["migration-apply-mysql"]]) {
      expect(podDifference(admitted(spec), expectationOf(spec))).toBeUndefined();
    }
    const run = samples["migration-apply"];
    const [container] = admitted(run).spec.containers;
    const without = (name: string): Pod =>
      firstContainer(admitted(run), { env: (container?.env ?? []).filter((e) => e.name !== name) });
    const other = firstContainer(admitted(run), {
      env: (container?.env ?? []).map((e) =>
        e.name === "PTAH_EXPECTED_MIGRATION_SEQUENCE" ? { ...e, value: "[]" } : e,
      ),
    });
    expect(podDifference(other, expectationOf(run))).toContain("env");
    expect(podDifference(without("PTAH_EXECUTION_NOT_AFTER"), expectationOf(run))).toContain("env");
    const ungated: PodExpectation = { ...expectationOf(run), moment: "Later" };
    expect(podDifference(withSpec(admitted(run), { schedulingGates: [] }), ungated)).toBeUndefined();
  });

  const tolerated: readonly [string, (pod: Pod) => Pod][] = [
    ["a node", (p) => withSpec(p, { nodeName: "node-1" })],
    ["no legacy account alias", (p) => withSpec(p, { serviceAccount: undefined })],
    ["tolerations in another order", (p) => withSpec(p, { tolerations: [...(p.spec.tolerations ?? [])].reverse() })],
    ["a name still to be generated", (p) => withMeta(p, { name: "" })],
    [
      "quantities in another spelling",
      (p) =>
        firstContainer(p, {
          resources: {
            limits: { memory: "0.5Gi", cpu: "1000m" },
            requests: { cpu: 0.25, memory: "256Mi", "ephemeral-storage": "1024Mi" },
          },
        }),
    ],
  ];
  for (const [name, change] of tolerated) {
    test(`may have ${name}`, () => expect(podDifference(change(admitted(plan)), expectationOf(plan))).toBeUndefined());
  }

  test("is not born without our gate", () => {
    const born = withSpec(admitted(apply), { schedulingGates: [] });
    expect(podDifference(born, expectationOf(apply))).toContain("schedulingGates");
  });

  test("may lose our gate and nothing else of the gates", () => {
    const expected: PodExpectation = { ...expectationOf(apply), moment: "Later" };
    expect(podDifference(withSpec(admitted(apply), { schedulingGates: [] }), expected)).toBeUndefined();
    expect(podDifference(withSpec(admitted(apply), { schedulingGates: [{ name: "other/gate" }] }), expected)).toContain(
      "schedulingGates",
    );
    const gated = withSpec(admitted(plan), { schedulingGates: [{ name: "operator.ptah.run/recorded" }] });
    expect(podDifference(gated, expectationOf(plan))).toContain("schedulingGates");
  });

  test("may get more labels and annotations after it was stored, and lose its finalizer, but not before", () => {
    const later: PodExpectation = { ...expectationOf(plan), moment: "Later" };
    const pod = withMeta(admitted(plan), {
      labels: { ...admitted(plan).metadata.labels, extra: "x" },
      annotations: { ...admitted(plan).metadata.annotations, "cni.example/ip": "x" },
      finalizers: [],
    });
    expect(podDifference(pod, later)).toBeUndefined();
    expect(podDifference(pod, expectationOf(plan))).toContain("label extra");
  });

  const refused: readonly [string, (pod: Pod) => Pod, string][] = [
    ["another image", (p) => firstContainer(p, { image: "evil" }), "spec.containers[0].image"],
    ["another command", (p) => firstContainer(p, { command: ["/bin/sh"] }), "spec.containers[0].command"],
    ["another environment", (p) => firstContainer(p, { env: [] }), "spec.containers[0].env"],
    [
      "more privilege",
      (p) => firstContainer(p, { securityContext: { privileged: true } }),
      "spec.containers[0].securityContext",
    ],
    [
      "an injected container",
      (p) => withSpec(p, { containers: [...p.spec.containers, { name: "sidecar", image: "x" }] }),
      "spec.containers[1]",
    ],
    [
      "an injected init container",
      (p) => withSpec(p, { initContainers: [{ name: "x", image: "x" }, ...(p.spec.initContainers ?? [])] }),
      "spec.initContainers",
    ],
    ["another volume", (p) => withSpec(p, { volumes: [] }), "spec.volumes"],
    ["a mounted token", (p) => withSpec(p, { automountServiceAccountToken: true }), "automountServiceAccountToken"],
    ["another account", (p) => withSpec(p, { serviceAccountName: "root" }), "serviceAccount"],
    ["another account under the old name", (p) => withSpec(p, { serviceAccount: "root" }), "serviceAccount"],
    [
      "no default limit",
      (p) => firstContainer(p, { resources: { requests: {}, limits: {} } }),
      "spec.containers[0].resources",
    ],
    ["another priority", (p) => withSpec(p, { priority: 11 }), "spec.priority"],
    ["a node selector", (p) => withSpec(p, { nodeSelector: { a: "b" } }), "spec.nodeSelector"],
    [
      "other default seconds",
      (p) => withSpec(p, { tolerations: (p.spec.tolerations ?? []).map((t) => ({ ...t, tolerationSeconds: 1 })) }),
      "spec.tolerations",
    ],
    ["no pull secret of its account", (p) => withSpec(p, { imagePullSecrets: [] }), "spec.imagePullSecrets"],
    ["the host's network", (p) => withSpec(p, { hostNetwork: true } as Partial<PodSpec>), "spec.hostNetwork"],
    [
      "another owner",
      (p) => withMeta(p, { ownerReferences: [{ ...p.metadata.ownerReferences?.[0], uid: "x" } as never] }),
      "Job as owner",
    ],
    [
      "two owners",
      (p) =>
        withMeta(p, {
          ownerReferences: [...(p.metadata.ownerReferences ?? []), ...(p.metadata.ownerReferences ?? [])],
        }),
      "Job as owner",
    ],
    ["a chosen name", (p) => withMeta(p, { name: "mine" }), "name"],
    ["another generateName", (p) => withMeta(p, { generateName: "mine-" }), "generateName"],
    [
      "a changed label",
      (p) => withMeta(p, { labels: { ...p.metadata.labels, "controller-uid": "x" } }),
      "label controller-uid",
    ],
    [
      "a changed annotation",
      (p) => withMeta(p, { annotations: { ...p.metadata.annotations, "operator.ptah.run/operation-id": "x" } }),
      "annotation operator.ptah.run/operation-id",
    ],
    ["another finalizer", (p) => withMeta(p, { finalizers: ["mine"] }), "finalizers"],
  ];
  for (const [name, change, place] of refused) {
    test(`may not have ${name}`, () => {
      expect(podDifference(change(admitted(plan)), expectationOf(plan))).toContain(place);
    });
  }

  test("may have a request that equals its admitted limit where the request is a default", () => {
    const objects = {
      ...cluster,
      limitRanges: [
        {
          metadata: meta("limits"),
          spec: { limits: [{ type: "Container", default: { cpu: "1" }, defaultRequest: { cpu: "100m" } }] },
        },
      ],
    };
    const bare: OperationSpec = { ...plan, execution: {} };
    const pod = admitted(bare);
    const set = (cpu: string): Pod => {
      const fix = (list: PodSpec["containers"] = []) =>
        list.map((c) => ({ ...c, resources: { limits: { cpu: "1" }, requests: { cpu } } }));
      return withSpec(pod, { containers: fix(pod.spec.containers), initContainers: fix(pod.spec.initContainers) });
    };
    expect(podDifference(set("100m"), expectationOf(bare, objects))).toBeUndefined();
    expect(podDifference(set("1"), expectationOf(bare, objects))).toBeUndefined();
    expect(podDifference(set("2"), expectationOf(bare, objects))).toContain("resources");
  });
});

describe("the admission snapshot", () => {
  const everything = samples["plan-everything"];
  const objects: EnvelopeObjects = {
    serviceAccount: { metadata: meta("runner") },
    limitRanges: [],
    runtimeClass: {
      metadata: meta("sandboxed"),
      handler: "runsc",
      overhead: { podFixed: { memory: "1024Mi" } },
      scheduling: { nodeSelector: { sandbox: "yes" }, tolerations: [{ key: "sandbox", operator: "Exists" }] },
    },
    priorityClasses: [{ metadata: meta("batch"), value: -5, preemptionPolicy: "Never" }],
  };

  test("binds each object by UID and resourceVersion, in canonical quantities", () => {
    const resolved = resolveEnvelope(everything.execution, objects, DEFAULT_ADMISSION_FLAGS);
    expect(resolved).toMatchObject({
      ok: true,
      snapshot: {
        serviceAccount: { object: { name: "runner", uid: "runner-uid", resourceVersion: "7" } },
        runtimeClass: { handler: "runsc", overheadDefined: true, overhead: { memory: "1Gi" } },
        priorityClass: { name: "batch", value: -5, preemptionPolicy: "Never" },
      },
    });
  });

  test("has another digest when anything it binds is another", () => {
    const digestOf = (o: EnvelopeObjects, flags = DEFAULT_ADMISSION_FLAGS, template = "t"): string => {
      const resolved = resolveEnvelope(everything.execution, o, flags);
      if (!resolved.ok) throw new Error(resolved.sentence);
      return sealSnapshot(resolved.snapshot, template).digest;
    };
    const moved = { ...meta("runner"), resourceVersion: "8" };
    const digests = [
      digestOf(objects),
      digestOf({ ...objects, serviceAccount: { metadata: moved } }),
      digestOf({ ...objects, limitRanges: [{ metadata: meta("l") }] }),
      digestOf({ ...objects, priorityClasses: [{ metadata: meta("batch"), value: -6 }] }),
      digestOf(objects, { ...DEFAULT_ADMISSION_FLAGS, alwaysPullImagesEnabled: true }),
      digestOf(objects, DEFAULT_ADMISSION_FLAGS, "u"),
    ];
    expect(new Set(digests).size).toBe(digests.length);
    expect(digestOf(objects)).toBe(digests[0] ?? "");
  });

  test("defaults a limit from the maximum and a request from limit, then minimum, as the API server does", () => {
    const limitRanges = [
      {
        metadata: meta("l"),
        spec: {
          limits: [
            { type: "Container", max: { cpu: "2" }, min: { memory: "64Mi" } },
            { type: "Pod", max: { cpu: "9" } },
          ],
        },
      },
    ];
    const resolved = resolveEnvelope({}, { ...cluster, limitRanges }, DEFAULT_ADMISSION_FLAGS);
    expect(resolved.ok && resolved.snapshot.limitRanges).toMatchObject([
      { defaultLimits: { cpu: "2" }, defaultRequests: { cpu: "2", memory: "64Mi" } },
    ]);
  });

  const many = Array.from({ length: 33 }, (_, i) => ({ metadata: meta(`l${i}`) }));
  const conflicting = ["1", "2"].map((cpu, i) => ({
    metadata: meta(`l${i}`),
    spec: { limits: [{ type: "Container", default: { cpu } }] },
  }));
  const refusals: readonly [string, OperationSpec["execution"], Partial<EnvelopeObjects>, string][] = [
    ["without its ServiceAccount", {}, { serviceAccount: undefined }, "service_account_missing"],
    ["with another ServiceAccount than named", { serviceAccountName: "x" }, {}, "service_account_missing"],
    ["without its RuntimeClass", { runtimeClassName: "x" }, {}, "runtime_class_missing"],
    [
      "with a RuntimeClass against its node selector",
      { runtimeClassName: "sandboxed", nodeSelector: { sandbox: "no" } },
      { runtimeClass: objects.runtimeClass },
      "runtime_class_conflict",
    ],
    ["without its PriorityClass", { priorityClassName: "x" }, {}, "priority_class_missing"],
    [
      "with two default PriorityClasses",
      {},
      { priorityClasses: ["a", "b"].map((n) => ({ metadata: meta(n), value: 1, globalDefault: true })) },
      "priority_class_ambiguous",
    ],
    ["with contradicting defaults for an unset limit", {}, { limitRanges: conflicting }, "limit_range_conflict"],
    ["with more LimitRanges than can be bound", {}, { limitRanges: many }, "envelope_too_large"],
  ];
  for (const [name, execution, change, code] of refusals) {
    test(`is refused ${name}: ${code}`, () => {
      expect(resolveEnvelope(execution, { ...cluster, ...change }, DEFAULT_ADMISSION_FLAGS)).toMatchObject({
        ok: false,
        code,
      });
    });
  }

  test("accepts contradicting defaults for a limit the resource sets itself", () => {
    const execution = { resources: { limits: { cpu: "3" } } };
    expect(resolveEnvelope(execution, { ...cluster, limitRanges: conflicting }, DEFAULT_ADMISSION_FLAGS).ok).toBe(true);
  });

  test("without a default PriorityClass has priority zero", () => {
    const resolved = resolveEnvelope({}, { ...cluster, priorityClasses: [] }, DEFAULT_ADMISSION_FLAGS);
    expect(resolved).toMatchObject({
      snapshot: { priorityClass: { value: 0, preemptionPolicy: "PreemptLowerPriority" } },
    });
  });
});

describe("a Job read back", () => {
  const job = buildJob(apply);
  const expected: JobExpectation = {
    namespace: "team-a",
    name: apply.jobName,
    owner: { kind: "PtahSchema", name: "orders", uid: "schema-uid" },
    operationID: "operation-01",
    epoch: apply.binding.epoch,
    templateDigest: templateDigest(job.spec.template),
    uid: JOB_UID,
  };
  const stored: Job = {
    ...job,
    metadata: { ...job.metadata, uid: JOB_UID, resourceVersion: "9" },
    spec: {
      ...job.spec,
      ttlSecondsAfterFinished: 300,
      selector: { matchLabels: { "batch.kubernetes.io/controller-uid": JOB_UID } },
      template: {
        ...job.spec.template,
        metadata: {
          ...job.spec.template.metadata,
          labels: { ...job.spec.template.metadata?.labels, "controller-uid": JOB_UID, "job-name": apply.jobName },
        },
      },
    },
  };
  test("is the one the claim stored", () => expect(jobDifference(stored, expected)).toBeUndefined());

  const others: readonly [string, Job, Partial<JobExpectation>, string][] = [
    ["another name", stored, { name: "other" }, "another name"],
    ["another object of that name", stored, { uid: "other" }, "another object"],
    ["another owner", stored, { owner: { ...expected.owner, uid: "other" } }, "another resource"],
    ["no owner", { ...stored, metadata: { ...stored.metadata, ownerReferences: [] } }, {}, "exactly one owner"],
    ["another operation", stored, { operationID: "other" }, "operation id"],
    ["another binding", stored, { epoch: "other" }, "execution binding"],
    ["another template", stored, { templateDigest: "other" }, "Pod template"],
    ["a second try", { ...stored, spec: { ...stored.spec, backoffLimit: 1 } }, {}, "runs once"],
    ["two Pods", { ...stored, spec: { ...stored.spec, completions: 2 } }, {}, "runs once"],
  ];
  for (const [name, found, change, text] of others) {
    test(`is not one with ${name}`, () => expect(jobDifference(found, { ...expected, ...change })).toContain(text));
  }
});
