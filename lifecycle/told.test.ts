import { beforeAll, describe, expect, test } from "bun:test";
import { loadParser } from "../sql/index.ts";
import { TestWorld } from "./testing.ts";
import { sourceOf } from "./testing-facts.ts";
import { CREATE, database, planOf, SPEC } from "./testing-plans.ts";
import { realTools, type Tools } from "./tools.ts";
import type { JobFacts, PodFacts } from "./view.ts";

let tools: Tools;
beforeAll(async () => {
  const parser = await loadParser();
  if ("error" in parser) throw new Error("no parser");
  tools = realTools(parser);
});

const message = (w: TestWorld, type: string): string | undefined =>
  w.status.conditions?.find((condition) => condition.type === type)?.message;

describe("what people are told", () => {
  test("an edited source is not in sync from the moment it is read again", () => {
    const w = new TestWorld(tools, SPEC, () => ({}));
    w.settle();
    expect(w.condition("InSync")).toBe("True ScopedConverged");
    w.holdJobs = true;
    w.source = sourceOf("two");
    w.settle();
    expect(w.condition("InSync")).toBe("False DesiredStateChanged");
    w.holdJobs = false;
    w.endJobs();
    w.settle();
    expect(w.condition("InSync")).toBe("True ScopedConverged");
  });

  test("an interval's reading of the same source leaves what was proved", () => {
    const w = new TestWorld(tools, SPEC, () => ({}));
    w.settle();
    w.holdJobs = true;
    w.wallMs += 3_600_000;
    w.settle();
    expect(w.status.phase).toBe("Observing");
    expect(w.condition("InSync")).toBe("True ScopedConverged");
  });

  test("a source that cannot be read any more leaves unknown whether the database is in sync", () => {
    const w = new TestWorld(tools, SPEC, () => ({}));
    w.settle();
    w.source = { state: "refused", reason: "SourceNotFound", sentence: "ConfigMap orders-schema does not exist." };
    w.settle();
    expect(w.condition("InSync")).toBe("Unknown SourceFreshnessUnknown");
  });

  test("a refused plan leaves the difference unknown, whatever was found before", () => {
    let refused = false;
    const db = database(planOf(CREATE));
    const refusal = { error: { code: "plan_refused", message: "A domain is not managed." }, planOutcome: undefined };
    const w = new TestWorld(tools, SPEC, (job) => (refused && job.work.type === "Plan" ? refusal : db.answer(job)));
    w.settle();
    expect(w.condition("DriftDetected")).toBe("True ScopedChanges");
    refused = true;
    w.source = sourceOf("two");
    w.settle();
    expect(w.status.phase).toBe("Blocked");
    expect(w.condition("DriftDetected")).toBe("Unknown PlanRefused");
    expect(w.condition("InSync")).toBe("Unknown PlanRefused");
    expect(message(w, "Ready")).toBe("A domain is not managed.");
  });

  test("a refused plan names the executor's own code, which can be explained", () => {
    const refusal = {
      error: { code: "plan_refused", message: "orders.sql:2: syntax error." },
      refusal: { code: "invalid_schema" },
      planOutcome: undefined,
    };
    const w = new TestWorld(tools, SPEC, (job) => (job.work.type === "Plan" ? refusal : {}));
    w.settle();
    expect(w.condition("Ready")).toBe("False PlanRefused");
    expect(message(w, "Ready")).toBe("Refused with invalid_schema: orders.sql:2: syntax error.");
  });

  test("a sentence that quotes what a Job reported ends once, whoever wrote that", () => {
    for (const end of ["", "."]) {
      const said = { error: { code: "invalid_target", message: `The database URL names no host${end}` } };
      const reading = new TestWorld(tools, SPEC, () => ({ ...said, childExitCode: 1 }));
      reading.settle();
      expect(message(reading, "Ready")).toBe(
        "Observe ended with invalid_target: The database URL names no host. It is tried again after 30s.",
      );
      const refusal = { ...said, error: { ...said.error, code: "plan_refused" }, planOutcome: undefined };
      const plan = new TestWorld(tools, SPEC, (job) => (job.work.type === "Plan" ? refusal : {}));
      plan.settle();
      expect(message(plan, "Ready")).toBe("The database URL names no host.");
    }
  });

  test("a create that was refused is told with what the API server answered", () => {
    const sentence = 'jobs.batch "o" is forbidden: exceeded quota: small';
    const refused = (type: string, world: TestWorld) => {
      const create = TestWorld.prototype.createJob;
      world.createJob = (spec) => {
        if (spec.work.type !== type) return create.call(world, spec);
        world.memory = { createFailed: { jobName: spec.jobName, code: "Forbidden", sentence } };
      };
      world.settle();
      return world;
    };
    const reading = refused("Observe", new TestWorld(tools, SPEC, () => ({})));
    expect(message(reading, "Ready")).toBe(
      `The Job of Observe could not be created (Forbidden: ${sentence}). It is tried again.`,
    );
    const spec = { ...SPEC, policy: { apply: "Always" as const } };
    const run = refused("Apply", new TestWorld(tools, spec, database(planOf(CREATE)).answer));
    expect(
      run.moves
        .flatMap((m) => (m.kind === "patchStatus" ? (m.events ?? []) : []))
        .map(({ note }) => note)
        .join(" "),
    ).toContain(`(Forbidden: ${sentence})`);
  });

  test("an end that the cluster chose is told as its choice, with a result and without", () => {
    const ended = (change: (held: { job: JobFacts; pods: PodFacts[] }) => void, answer: object = {}) => {
      const w = new TestWorld(tools, SPEC, () => answer);
      w.holdJobs = true;
      w.settle();
      for (const held of w.jobs.values()) change(held);
      w.holdJobs = false;
      w.endJobs();
      w.settle();
      return message(w, "Ready");
    };
    const late = "Its Job had reached its deadline (spec.execution.activeDeadlineSeconds)";
    const stopped = { error: { code: "canceled", message: "It was asked to end." }, childExitCode: 1 };
    const cut = (held: { job: JobFacts }) => {
      held.job = { ...held.job, cutByDeadline: true };
    };
    expect(ended(cut, stopped)).toContain(`canceled: It was asked to end. ${late}. It is tried again`);
    const gone = (held: { job: JobFacts; pods: PodFacts[] }) => {
      cut(held);
      held.pods = [];
    };
    expect(ended(gone)).toContain(`no Pod is left, so there is no account of it. ${late}. It is tried again`);
    const killed = (held: { pods: PodFacts[] }) => {
      held.pods = held.pods.map((pod) => ({ ...pod, accepted: false, endedBy: "OOMKilled" }));
    };
    expect(ended(killed)).toContain("The cluster ended it: OOMKilled. It is tried again");
  });

  test("a blocked resource keeps no verdict of earlier, and gets none it never had", () => {
    const other = { family: "schema", namespace: "a", name: "b", uid: "c", sharedRealm: false } as const;
    const others = [{ ...other, suspended: false, deleting: false, engineSupported: true, owes: false }];
    const w = new TestWorld(tools, SPEC, () => ({}));
    w.settle();
    w.others = others;
    w.settle();
    expect(w.condition("DriftDetected")).toBe("Unknown RealmConflict");
    expect(w.condition("InSync")).toBe("Unknown RealmConflict");
    const fresh = new TestWorld(tools, SPEC, () => ({}));
    fresh.others = others;
    fresh.settle();
    expect(fresh.condition("DriftDetected")).toBeUndefined();
    expect(fresh.condition("InSync")).toBeUndefined();
  });

  test("Applying and ReconciliationFailed are absent until an Apply ran, or something failed", () => {
    const db = database(planOf(CREATE));
    const w = new TestWorld(tools, SPEC, db.answer);
    w.settle();
    expect(w.condition("Applying")).toBeUndefined();
    expect(w.condition("ReconciliationFailed")).toBeUndefined();
    w.approve();
    w.settle();
    expect(w.condition("Applying")).toBe("False JobCompleted");
    expect(w.condition("ReconciliationFailed")).toBeUndefined();
  });

  test("a failure that is over is told as over", () => {
    let broken = true;
    const w = new TestWorld(tools, SPEC, () =>
      broken ? { error: { code: "connection_failed", message: "No route." }, driftReportDigest: undefined } : {},
    );
    w.settle();
    expect(w.condition("ReconciliationFailed")).toBe("True OperationFailed");
    broken = false;
    w.run(() => w.status.phase === "InSync");
    expect(w.condition("ReconciliationFailed")).toBe("False Succeeded");
  });

  test("a password that is refused, a Secret that is gone and a suspension each tell only what is known", () => {
    let refused = false;
    const wrong = { error: { code: "authentication_failed", message: "No." }, driftReportDigest: undefined };
    const w = new TestWorld(tools, SPEC, () => (refused ? wrong : {}));
    w.settle();
    expect(w.condition("DatabaseReachable")).toBe("True Observed");
    refused = true;
    w.wallMs += 3_600_000;
    w.settle();
    expect(w.status.phase).toBe("Failed");
    expect(w.condition("DatabaseReachable")).toBe("False OperationFailed");
    expect(w.condition("InSync")).toBe("Unknown OperationFailed");
    expect(message(w, "ReconciliationFailed")).toContain("tried again after");
    w.edit((spec) => ({ ...spec, suspend: true }));
    w.settle();
    expect(w.status.phase).toBe("Suspended");
    expect(w.condition("ReconciliationFailed")).toBeUndefined();
  });

  test("no approval is asked for while a plan that waits is read again, and then it is again", () => {
    const w = new TestWorld(tools, SPEC, database(planOf(CREATE)).answer);
    w.settle();
    expect(w.condition("ApprovalRequired")).toBe("True PlanReady");
    w.holdJobs = true;
    w.wallMs += 3_600_000;
    w.settle();
    expect(w.status.phase).toBe("Observing");
    expect(w.condition("ApprovalRequired")).toBe("Unknown StaleObservation");
    w.holdJobs = false;
    w.endJobs();
    w.settle();
    expect(w.status.phase).toBe("AwaitingApproval");
    expect(w.condition("ApprovalRequired")).toBe("True PlanReady");
  });

  test("an unreadable mirror names every step out of it, the finalizer included", () => {
    const w = new TestWorld(tools, SPEC, () => ({}));
    w.annotations["operator.ptah.run/unsettled-apply"] = "{}";
    w.settle();
    expect(w.moves.at(-1)?.rule).toBe("2/unreadable");
    expect(message(w, "Ready")).toContain("operator.ptah.run/active-operation");
  });

  test("what keeps a Pod from starting is named as the Pod says it", () => {
    const w = new TestWorld(tools, SPEC, () => ({}));
    w.holdJobs = true;
    w.settle();
    const held = [...w.jobs.values()][0];
    const pod = held?.pods[0];
    if (held === undefined || pod === undefined) throw new Error("no Pod");
    held.pods = [{ ...pod, waiting: "ConfigMap ca of spec.target.caFrom does not exist" }];
    w.seesPods = true;
    w.settle();
    expect(w.condition("Ready")).toBe("False PodCannotStart");
    expect(message(w, "Ready")).toBe(
      `Pod ${pod.name} of Observe cannot start: ConfigMap ca of spec.target.caFrom does not exist.`,
    );
  });

  test("of an Apply that failed the message says what the run reported and that only a reading is believed", () => {
    const db = database(planOf(CREATE));
    const why = "statement 1 of 3 failed; everything was rolled back, nothing is kept";
    const failing = { error: { code: "apply_failed", message: why }, uncertain: true, childExitCode: 1 };
    const w = new TestWorld(tools, SPEC, (job) => (job.work.type === "Apply" ? failing : db.answer(job)));
    w.settle();
    w.approve();
    w.stepTo(({ status }) => status.pendingObservation !== undefined);
    for (const type of ["Ready", "ReconciliationFailed"]) {
      const said = message(w, type);
      expect(said).toContain(`Apply ended with apply_failed: ${why}.`);
      expect(said).toContain("a fresh reading says what the database holds, and that plan is never run again");
      expect(said).not.toContain("unknown");
    }
    w.settle();
    expect(w.status.phase).toBe("AwaitingApproval");
    expect(w.condition("ReconciliationFailed")).toBe("True ApplyOutcomeUnknown");
    expect(message(w, "ReconciliationFailed")).toContain("apply_failed");
  });
});
