import { describe, expect, test } from "bun:test";
import type { Claim } from "../../crds/status/lifecycle.ts";
import type { Requester, ReviewedObject, Verdict } from "../review.ts";
import {
  ANN,
  awaiting,
  claim,
  collector,
  config,
  controller,
  job,
  manager,
  NOW,
  podObject,
  readsOf,
  request,
  SCHEMA_LABEL,
  schema,
  storedJob,
} from "../testing.ts";
import { reviewJob } from "./job.ts";
import { reviewPod } from "./pod.ts";

const message = (verdict: Verdict): string => (verdict.allowed ? "allowed" : verdict.message);
const claimed = (over: Partial<Claim> = {}) => ({
  schema: schema({ ...awaiting, activeOperation: { ...claim, ...over } }),
});
const without = (key: keyof Claim) => {
  const { [key]: _, ...rest } = claim;
  return { schema: schema({ ...awaiting, activeOperation: rest as Claim }) };
};
const binding = awaiting.executionBinding as NonNullable<typeof awaiting.executionBinding>;
type Stored = Parameters<typeof readsOf>[0];

describe("creating an operation's Job", () => {
  const judge = async (stored: Stored, object: ReviewedObject = job, user: Requester = manager) =>
    message(await reviewJob(request({ object, user }), readsOf(stored), config()));
  const edited = (edit: (copy: Record<string, never>) => void): ReviewedObject => {
    const copy = structuredClone(job) as unknown as Record<string, never>;
    edit(copy);
    return copy as unknown as ReviewedObject;
  };
  const container = (copy: unknown) =>
    (copy as { spec: { template: { spec: { containers: { image: string }[] } } } }).spec.template.spec.containers[0];

  test("by the manager while the claim waits for it is allowed", async () =>
    expect(await judge(claimed())).toBe("allowed"));

  const table: readonly [string, Stored, ReviewedObject, Requester, string][] = [
    ["by anybody else", claimed(), job, ANN, "by the operator alone"],
    [
      "without an owner",
      claimed(),
      { ...job, metadata: { ...job.metadata, ownerReferences: [] } },
      manager,
      "owned by exactly one PtahSchema or PtahMigration",
    ],
    ["of a schema that is gone", {}, job, manager, "does not exist"],
    [
      "of a schema that was replaced",
      { schema: { ...schema(), metadata: { ...schema().metadata, uid: "other" } } },
      job,
      manager,
      "does not exist",
    ],
    ["without a claim", { schema: schema() }, job, manager, "does not name this Job"],
    [
      "of a newer contract",
      {
        schema: schema({
          ...awaiting,
          executionBinding: { ...binding, controllerStateVersion: 2 },
          activeOperation: claim,
        }),
      },
      job,
      manager,
      "upgrade the operator",
    ],
    ["of another claim", claimed({ jobName: "ptah-apply-other" }), job, manager, "does not name this Job"],
    ["before the dispatch", without("dispatchStarted"), job, manager, "is not dispatched"],
    ["a second time", claimed({ jobUID: "job-1" }), job, manager, "already has its Job"],
    ["without a snapshot", without("admissionSnapshot"), job, manager, "holds no admission snapshot"],
    ["of another operation", claimed({ id: `sha256:${"b".repeat(64)}` }), job, manager, "another operation id"],
    [
      "of another binding",
      claimed({ executionBindingID: `v1-${"9".repeat(32)}` }),
      job,
      manager,
      "another execution binding",
    ],
    [
      "with another image",
      claimed(),
      edited((copy) => Object.assign(container(copy) ?? {}, { image: "evil" })),
      manager,
      "its Pod template is another",
    ],
    [
      "that tries more than once",
      claimed(),
      edited((copy) => Object.assign((copy as unknown as { spec: object }).spec, { backoffLimit: 3 })),
      manager,
      "runs once",
    ],
  ];
  for (const [name, stored, object, user, expected] of table) {
    test(`${name} is refused`, async () => expect(await judge(stored, object, user)).toContain(expected));
  }
});

describe("changing an operation's Job", () => {
  const judge = async (metadata: object, spec: object, user: Requester) => {
    const object = {
      ...job,
      metadata: { ...job.metadata, ...metadata },
      spec: { ...(job["spec"] as object), ...spec },
    };
    return message(await reviewJob(request({ object, oldObject: job, user }), readsOf(), config()));
  };
  const table: readonly [string, object, object, Requester, string][] = [
    ["nothing", {}, {}, ANN, "allowed"],
    ["its TTL by the manager", {}, { ttlSecondsAfterFinished: 300 }, manager, "allowed"],
    ["its TTL by somebody else", {}, { ttlSecondsAfterFinished: 0 }, ANN, "is set by the operator alone"],
    ["its suspension", {}, { suspend: true }, manager, "cannot be changed"],
    ["its labels", { labels: {} }, {}, ANN, "keeps its labels"],
    ["its annotations", { annotations: {} }, {}, manager, "keeps its annotations"],
    ["its owner", { ownerReferences: [] }, {}, ANN, "keeps its owner"],
    ["its owner by the garbage collector", { ownerReferences: [] }, {}, collector, "allowed"],
    ["its finalizers by the garbage collector", { finalizers: ["foregroundDeletion"] }, {}, collector, "allowed"],
  ];
  for (const [name, metadata, spec, user, expected] of table) {
    test(`${name}: ${expected}`, async () => expect(await judge(metadata, spec, user)).toContain(expected));
  }
});

describe("creating an operation's Pod", () => {
  const judge = async (stored: Stored, object = podObject(), user: Requester = controller) =>
    message(
      await reviewPod(
        request({ object, user, resource: "pods" }),
        readsOf({ job: storedJob(), ...stored }),
        config(),
        NOW,
      ),
    );
  const meta = podObject().metadata;

  test("by the Job controller, equal to its template, is allowed", async () =>
    expect(await judge(claimed())).toBe("allowed"));
  test("after the Job was confirmed is allowed", async () =>
    expect(await judge(claimed({ jobUID: "job-1" }))).toBe("allowed"));
  test("reads two objects, both at once", async () => {
    const reads = readsOf({ job: storedJob(), ...claimed() });
    await reviewPod(request({ object: podObject(), user: controller }), reads, config(), NOW);
    expect(reads.count()).toBe(2);
  });

  const container = { name: "ptah", image: "evil" };
  const table: readonly [string, Stored, ReviewedObject, Requester, string][] = [
    ["by a person", claimed(), podObject(), ANN, "by the Job controller alone"],
    ["by the manager", claimed(), podObject(), manager, "by the Job controller alone"],
    ["without a Job", claimed(), podObject({}, { ownerReferences: [] }), controller, "owned by its operation's Job"],
    ["of a Job that is gone", { job: undefined, ...claimed() }, podObject(), controller, "does not exist"],
    [
      "of a Job that was replaced",
      claimed({ jobUID: "job-2" }),
      podObject(),
      controller,
      "another object under the same name",
    ],
    ["while no claim names its Job", { schema: schema() }, podObject(), controller, "does not name this Job"],
    [
      "of a record's Job",
      { schema: schema({ ...awaiting, pendingObservation: { job: { name: claim.jobName } } as never }) },
      podObject(),
      controller,
      "does not name this Job",
    ],
    [
      "of another schema's label",
      claimed(),
      podObject({}, { labels: { ...meta.labels, [SCHEMA_LABEL]: "other" } }),
      controller,
      "reserved for operations",
    ],
    ["without its labels", claimed(), podObject({}, { labels: {} }), controller, "reserved for operations"],
    [
      "with another image",
      claimed(),
      podObject({ containers: [container] }),
      controller,
      "differs from its template at spec.containers",
    ],
    [
      "with a container more",
      claimed(),
      podObject({ initContainers: [container] }),
      controller,
      "differs from its template at spec.initContainers",
    ],
    [
      "on the host's network",
      claimed(),
      podObject({ hostNetwork: true }),
      controller,
      "differs from its template at spec.hostNetwork",
    ],
    [
      "with an annotation more",
      claimed(),
      podObject({}, { annotations: { ...meta.annotations, "sidecar.example/inject": "true" } }),
      controller,
      "annotation sidecar.example/inject",
    ],
    [
      "without the default tolerations",
      claimed(),
      podObject({ tolerations: [] }),
      controller,
      "differs from its template at spec.tolerations",
    ],
    [
      "with another gate",
      claimed(),
      podObject({ schedulingGates: [{ name: "x/y" }] }),
      controller,
      "spec.schedulingGates",
    ],
    [
      "under another snapshot",
      claimed({
        admissionSnapshot: {
          ...(claim.admissionSnapshot as NonNullable<Claim["admissionSnapshot"]>),
          digest: `sha256:${"c".repeat(64)}`,
        },
      }),
      podObject(),
      controller,
      "another admission snapshot",
    ],
  ];
  for (const [name, stored, object, user, expected] of table) {
    test(`${name} is refused`, async () => expect(await judge(stored, object, user)).toContain(expected));
  }
});

describe("changing an operation's Pod", () => {
  const recorded = { jobUID: "job-1", pods: [{ uid: "pod-1" }], podCount: 1 };
  const judge = async (
    object: ReviewedObject,
    user: Requester,
    stored: Stored = claimed(recorded),
    subresource = "",
  ) => {
    const given = request({ object, oldObject: podObject(), user, resource: "pods", subresource });
    return message(await reviewPod(given, readsOf({ job: storedJob(), ...stored }), config(), NOW));
  };
  const meta = podObject().metadata;
  const open = podObject({ schedulingGates: [] });

  const table: readonly [string, ReviewedObject, Requester, Stored, string][] = [
    ["opening the recorded Pod's gate", open, manager, claimed(recorded), "allowed"],
    ["opening it as somebody else", open, ANN, claimed(recorded), "by the operator alone"],
    ["opening it before it is recorded", open, manager, claimed({ jobUID: "job-1" }), "recorded first"],
    [
      "opening the second Pod's gate",
      open,
      manager,
      claimed({ ...recorded, pods: [{ uid: "pod-0" }, { uid: "pod-1" }] }),
      "recorded first",
    ],
    ["opening it for another Job", open, manager, claimed({ ...recorded, jobUID: "job-2" }), "no Apply of this schema"],
    ["opening it without a claim", open, manager, { schema: schema() }, "no Apply of this schema"],
    [
      "opening it too late",
      open,
      manager,
      claimed({ ...recorded, dispatchNotAfter: "2026-03-01T11:59:59Z" }),
      "has passed",
    ],
    [
      "exchanging the gate",
      podObject({ schedulingGates: [{ name: "x/y" }] }),
      manager,
      claimed(recorded),
      "only the operator's own",
    ],
    ["another label of others", podObject({}, { labels: { ...meta.labels, seen: "yes" } }), ANN, {}, "allowed"],
    [
      "an annotation of a network plugin",
      podObject({}, { annotations: { ...meta.annotations, "cni.example/ip": "10.0.0.1" } }),
      ANN,
      {},
      "allowed",
    ],
    [
      "stripping our label",
      podObject({}, { labels: { ...meta.labels, [SCHEMA_LABEL]: "x" } }),
      ANN,
      {},
      "keeps its label",
    ],
    ["stripping the snapshot's digest", podObject({}, { annotations: {} }), ANN, {}, "keeps its label or annotation"],
    ["taking its owner", podObject({}, { ownerReferences: [] }), ANN, {}, "keeps its owner"],
    ["taking its owner as garbage collector", podObject({}, { ownerReferences: [] }), collector, {}, "allowed"],
    ["ending its tracking as Job controller", podObject({}, { finalizers: [] }), controller, {}, "allowed"],
    ["ending its tracking as somebody else", podObject({}, { finalizers: [] }), ANN, {}, "by the Job controller alone"],
    ["another image", podObject({ containers: [{ name: "ptah", image: "evil" }] }), manager, {}, "cannot be changed"],
    ["a toleration more", podObject({ tolerations: [{ operator: "Exists" }] }), ANN, {}, "cannot be changed"],
  ];
  for (const [name, object, user, stored, expected] of table) {
    test(`${name}: ${expected}`, async () => expect(await judge(object, user, stored)).toContain(expected));
  }
  test("by an ephemeral container or a resize is refused", async () => {
    expect(await judge(podObject(), ANN, {}, "ephemeralcontainers")).toContain("credentials");
    expect(await judge(podObject(), manager, {}, "resize")).toContain("credentials");
  });
  test("another Pod does not become one of ours", async () => {
    const plain = podObject({}, { labels: { app: "x" }, annotations: {} });
    const given = request({
      object: podObject({}, { annotations: {} }),
      oldObject: plain,
      user: ANN,
      resource: "pods",
    });
    expect(message(await reviewPod(given, readsOf(), config(), NOW))).toContain("not put on another Pod");
  });
});
