/**
 * One deliberately broken variant of the rules per property; each has to be caught, by exactly that property. A canary lies
 * to the shipped decision about what it sees, or bends what it answers, the way a wrong rule would.
 */
import type { Status } from "../families/types.ts";
import type { Move } from "../move.ts";
import { instantOf } from "../time.ts";
import type { View } from "../view.ts";
import type { Decider } from "./decision.ts";
import type { Scenario } from "./scenario.ts";
import { SECRET_MARK } from "./values.ts";
import type { Budgets } from "./world.ts";

export interface Canary extends Pick<Scenario, "family" | "databases" | "from" | "inputs" | "beside" | "approved"> {
  /** Its part is named `canary-` and this; the number of its property where a property has one canary. */
  readonly name: string;
  readonly property: number;
  /** What is broken, in one sentence. */
  readonly breaks: string;
  readonly budgets: Budgets;
  readonly bend: (decide: Decider) => Decider;
}

export const withResource = (view: View, change: Partial<View["resource"]["value"]>): View => ({
  ...view,
  resource: { ...view.resource, value: { ...view.resource.value, ...change } },
});

export const onResource = (view: View) => ({
  uid: view.resource.value.uid,
  resourceVersion: view.resource.value.resourceVersion,
});

export const statusOf = (view: View): Status => view.resource.value.status;

/** One for each property, with a schema. */
export const FIRST_CANARIES: readonly Omit<Canary, "name">[] = [
  {
    property: 1,
    breaks: "a plan that asks for a person's approval is applied without one",
    budgets: {},
    bend: (decide) => (view) => {
      const { spec } = view.resource.value;
      const always = { ...spec, policy: { ...spec.policy, apply: "Always" } } as typeof spec;
      return decide(withResource(view, { spec: always }));
    },
  },
  {
    property: 2,
    breaks: "a dispatched Apply whose Job is not found is dispatched again",
    budgets: { approve: 1, crash: 1, jobDeleted: 1 },
    bend: (decide) => (view) => {
      const status = statusOf(view);
      const claim = status.activeOperation;
      const missing = view.job !== undefined && view.job.value.job === null;
      if (claim?.type !== "Apply" || claim.dispatchStarted !== true || !missing) return decide(view);
      const again = { ...claim, dispatchStarted: undefined, jobUID: undefined, pods: undefined, podCount: undefined };
      const plan = status.plan === undefined ? undefined : { ...status.plan, dispatched: undefined };
      return decide(withResource(view, { status: { ...status, activeOperation: again, plan } }));
    },
  },
  {
    property: 3,
    breaks: "the gate of a second Pod of one Apply is opened too",
    budgets: { approve: 1, duplicate: 1 },
    bend: (decide) => (view) => {
      const move = decide(view);
      const claim = statusOf(view).activeOperation;
      const second = view.pods?.value.pods.find((p) => p.gated && p.uid !== claim?.pods?.[0]?.uid);
      if (claim?.type !== "Apply" || move.kind !== "wait" || second === undefined) return move;
      const { name: podName, uid: podUID, resourceVersion } = second;
      return { kind: "openGate", rule: "4/gate", podName, podUID, resourceVersion, notAfterMs: view.now.wallMs };
    },
  },
  {
    property: 4,
    breaks: "a deleted resource lets its finalizer go while a record stands",
    budgets: { approve: 1, delete: 1 },
    bend: (decide) => (view) => {
      const { deleting, finalizer, status } = view.resource.value;
      if (!deleting || !finalizer || status.pendingObservation === undefined) return decide(view);
      return { kind: "patchMetadata", rule: "9", ...onResource(view), finalizer: "remove" };
    },
  },
  {
    property: 5,
    breaks: "an Apply that reports success clears its own record",
    budgets: { approve: 1 },
    bend: (decide) => (view) => {
      const status = statusOf(view);
      const record = status.pendingObservation;
      if (record?.outcome !== "ApplySucceeded" || status.activeOperation !== undefined) return decide(view);
      const { operationID, outcome } = record;
      const resolvedAt = instantOf(view.now.wallMs);
      return {
        kind: "patchStatus",
        rule: "8",
        ...onResource(view),
        status: {
          ...status,
          pendingObservation: undefined,
          resolvedRun: { operationID, outcome, resolution: "Reading", resolvedAt },
        },
      };
    },
  },
  {
    property: 6,
    breaks: "an approval of an older plan is taken for the plan that stands",
    budgets: { approve: 1, edit: 1 },
    bend: (decide) => (view) => {
      const { plan } = statusOf(view);
      if (plan === undefined || view.approvals === undefined) return decide(view);
      const value = view.approvals.value.map((a) => ({
        ...a,
        planName: plan.name,
        planUID: plan.uid,
        planFingerprint: plan.fingerprint,
      }));
      return decide({ ...view, approvals: { ...view.approvals, value } });
    },
  },
  {
    property: 7,
    breaks: "the Lease is released once an Apply's Job was created",
    budgets: { approve: 1 },
    bend: (decide) => (view) => {
      const move = decide(view);
      const claim = statusOf(view).activeOperation;
      const lease = view.lease?.value.lease;
      const running = claim?.type === "Apply" && claim.jobUID !== undefined && move.kind === "wait";
      if (!running || lease === null || lease === undefined || lease.holder === "") return move;
      const { uid, resourceVersion, owner: _owner, ...content } = lease;
      const over = { uid, resourceVersion };
      const digest = view.lease?.value.digest ?? "";
      return { kind: "writeLease", rule: "3", purpose: "release", digest, over, content: { ...content, holder: "" } };
    },
  },
  {
    property: 8,
    breaks: "a resource that says InSync is not looked at again",
    budgets: {},
    bend: (decide) => (view) =>
      statusOf(view).phase === "InSync"
        ? { kind: "rest", rule: "18", verdict: "InSync", untilMs: view.now.wallMs + 60_000 }
        : decide(view),
  },
  {
    property: 9,
    breaks: "a plan's text is repeated in an Event",
    budgets: {},
    bend: (decide) => (view) => {
      const move = decide(view);
      const text = view.result?.state === "frame" ? view.result.result.stdout : "";
      if (move.kind !== "scheduleTtl" || !text.includes(SECRET_MARK)) return move;
      return { ...move, events: [{ type: "Normal", reason: "PlanPublished", note: text }] };
    },
  },
  {
    property: 10,
    breaks: "the version of a stored state is not looked at",
    budgets: { newer: 1 },
    bend: (decide) => (view) => {
      const status = statusOf(view);
      const { executionBinding } = status;
      if (executionBinding === undefined) return decide(view);
      const { controllerStateVersion } = view.configuration.components;
      const lied = { ...status, executionBinding: { ...executionBinding, controllerStateVersion } };
      return decide(withResource(view, { status: lied }));
    },
  },
  {
    property: 11,
    breaks: "a failed reading waits for nothing",
    budgets: { readFailed: 1 },
    bend: (decide) => (view) => {
      const move = decide(view);
      return move.kind === "wait" && move.rule === "6/retry" ? forgetful(move) : move;
    },
  },
];

/** A wait without an end, told as a rest. */
const forgetful = (move: Move): Move => ({ kind: "rest", rule: move.rule, verdict: "Blocked" });
