import { beforeAll, describe, expect, test } from "bun:test";
import { loadParser } from "../sql/index.ts";
import type { OperationSpec, Work } from "../workload/operation.ts";
import { TestWorld } from "./testing.ts";
import { sourceOf, TARGET } from "./testing-facts.ts";
import { CREATE, database, planOf, SPEC } from "./testing-plans.ts";
import { realTools, type Tools } from "./tools.ts";

let tools: Tools;
beforeAll(async () => {
  const parser = await loadParser();
  if ("error" in parser) throw new Error("no parser");
  tools = realTools(parser);
});

const withPolicy = (policy: Record<string, unknown>) => ({ ...SPEC, policy });
const ALWAYS = withPolicy({ apply: "Always" });
const outcomes = (w: TestWorld) =>
  w.status.journal?.entries?.map((e) => `${e.type} ${e.outcome ?? e.reason ?? ""}`.trim());
const suspendTo = (suspend: boolean) => (spec: Record<string, unknown>) => ({ ...spec, suspend });
const dispatchedApplies = (w: TestWorld) =>
  w.moves.filter((move) => move.kind === "dispatch" && move.job.work.type === "Apply").length;
const mirrorOf = (w: TestWorld) => w.annotations["operator.ptah.run/unsettled-apply"];

describe("policy", () => {
  test("Never records the plan, runs nothing and is not stalled", () => {
    const w = new TestWorld(tools, withPolicy({ apply: "Never" }), database(planOf(CREATE)).answer);
    w.settle();
    w.approve();
    w.settle();
    expect(w.status.phase).toBe("Blocked");
    expect(w.condition("Ready")).toBe("False ApplyDisabled");
    expect(w.condition("Stalled")).toBeUndefined();
    expect(dispatchedApplies(w)).toBe(0);
  });

  test("Always applies a safe plan without an approval", () => {
    const w = new TestWorld(tools, ALWAYS, database(planOf(CREATE)).answer);
    w.settle();
    expect(w.status.phase).toBe("InSync");
    expect(dispatchedApplies(w)).toBe(1);
  });

  test("a destructive plan that is not allowed is blocked and stalled", () => {
    const w = new TestWorld(tools, SPEC, database(planOf("DROP TABLE old", true)).answer);
    w.settle();
    w.approve();
    w.settle();
    expect(w.status.phase).toBe("Blocked");
    expect(w.condition("Stalled")).toBe("True PolicyBlocked");
    expect(dispatchedApplies(w)).toBe(0);
  });

  test("Applies that do not make a difference go away wait for a person even under Always", () => {
    const w = new TestWorld(tools, ALWAYS, (job) => (job.work.type === "Plan" ? planOf(CREATE) : {}));
    w.run(() => w.status.phase === "AwaitingApproval");
    expect(w.condition("ApprovalRequired")).toBe("True UnprovenChanges");
    expect(dispatchedApplies(w)).toBe(1);
  });

  test("a protected table blocks without a plan", () => {
    const refusal = { error: { code: "protected_table", message: "orders is protected." }, planOutcome: undefined };
    const w = new TestWorld(tools, SPEC, (job) => (job.work.type === "Plan" ? refusal : {}));
    w.settle();
    expect(w.status.phase).toBe("Blocked");
    expect(w.condition("Ready")).toBe("False ProtectedTable");
    expect(w.status.plan).toBeUndefined();
  });
});

describe("a plan that stands", () => {
  test("is kept over suspension and the interval, under its number, when nothing moved", () => {
    const w = new TestWorld(tools, SPEC, database(planOf(CREATE)).answer);
    w.settle();
    const name = w.status.plan?.name;
    w.edit(suspendTo(true));
    w.settle();
    expect(w.status.phase).toBe("Suspended");
    expect(w.condition("Stalled")).toBeUndefined();
    w.edit(suspendTo(false));
    w.settle();
    expect(w.status.phase).toBe("AwaitingApproval");
    expect(w.status.plan?.name).toBe(name ?? "");
    w.wallMs += 11 * 60_000;
    w.settle();
    expect(w.status.plan?.name).toBe(name ?? "");
    expect(w.plans.size).toBe(1);
  });

  test("never comes back with its approval after an edit and an edit back", () => {
    const w = new TestWorld(tools, SPEC, database(planOf(CREATE)).answer);
    w.settle();
    w.approve();
    w.source = sourceOf("two");
    w.settle();
    expect(w.status.phase).toBe("AwaitingApproval");
    w.source = sourceOf("one");
    w.settle();
    expect(w.status.phase).toBe("AwaitingApproval");
    expect(w.approvals[0]?.status.conditions?.find((c) => c.type === "Stale")?.status).toBe("True");
    expect(dispatchedApplies(w)).toBe(0);
    expect(w.plans.size).toBe(3);
  });

  test("retires when an execution component changes, and its approvals are marked stale for it", () => {
    const w = new TestWorld(tools, SPEC, database(planOf(CREATE)).answer);
    w.settle();
    w.approve();
    w.configuration = {
      ...w.configuration,
      components: { ...w.configuration.components, ptahVersion: "0.2.0" },
    };
    const plan = w.status.plan?.uid;
    w.settle();
    expect(w.status.phase).toBe("AwaitingApproval");
    expect(w.status.plan?.uid).not.toBe(plan);
    expect(w.approvals[0]?.status.conditions?.find((c) => c.type === "Stale")?.reason).toBe("ExecutionBindingChanged");
  });

  test("withdraws an undispatched Apply when the source moves, and the approval stays unspent", () => {
    const w = new TestWorld(tools, SPEC, database(planOf(CREATE)).answer);
    w.settle();
    w.approve();
    w.envelope = { state: "unresolved", sentence: "ServiceAccount default does not exist." };
    w.settle();
    expect(w.status.phase).toBe("Failed");
    expect(w.status.activeOperation?.type).toBe("Apply");
    expect(w.status.activeOperation?.executionNotAfter).toBeUndefined();
    expect(w.lease?.holder).toBe("");
    w.source = sourceOf("two");
    w.envelope = new TestWorld(tools, SPEC, () => ({})).envelope;
    w.run(() => w.status.phase === "AwaitingApproval");
    expect(w.approvals[0]?.status.consumedBy).toBeUndefined();
    expect(w.status.closedOperationID).toBeDefined();
    expect(dispatchedApplies(w)).toBe(0);
  });
});

describe("an Apply nobody can account for", () => {
  const failing = (job: OperationSpec<Work>) =>
    job.work.type === "Apply"
      ? {
          uncertain: true,
          error: { code: "apply_failed", message: "Statement 1 was refused." },
          childExitCode: 1,
        }
      : {};

  test("is proved by a fresh reading, and nothing is attributed when it converged", () => {
    const db = database(planOf(CREATE));
    const w = new TestWorld(tools, ALWAYS, (job) => ({ ...db.answer(job), ...failing(job) }));
    w.settle();
    expect(w.status.phase).toBe("InSync");
    expect(w.condition("InSync")).toBe("True ConvergedAfterUnknownOutcome");
    expect(w.status.applied).toBeUndefined();
    expect(outcomes(w)).toEqual(["PlanPublished", "ApplyFinished Unknown", "Verified InSync"]);
  });

  test("is told until something else is proved, also while the next plan waits", () => {
    const db = database(planOf(CREATE));
    const w = new TestWorld(tools, SPEC, (job) => (job.work.type === "Apply" ? failing(job) : db.answer(job)));
    w.settle();
    w.approve();
    w.run(() => w.status.phase === "AwaitingApproval" && w.status.unproven !== undefined);
    expect(w.condition("ReconciliationFailed")).toBe("True ApplyOutcomeUnknown");
  });

  test("is recorded at once when the create is answered with an error, and never created again", () => {
    const db = database(planOf(CREATE));
    const w = new TestWorld(tools, ALWAYS, db.answer);
    w.createJob = (spec) => {
      if (spec.work.type === "Apply") w.memory = { createFailed: { jobName: spec.jobName, code: "Timeout" } };
      else TestWorld.prototype.createJob.call(w, spec);
    };
    w.settle();
    expect(w.status.pendingObservation?.identityUncertain).toBe(true);
    expect(w.condition("Ready")).toBe("False OutcomeUnknown");
    w.run(() => w.status.phase === "AwaitingApproval");
    expect(w.condition("ApprovalRequired")).toBe("True UnprovenChanges");
    expect(dispatchedApplies(w)).toBe(3);
    expect(new Set(w.moves.flatMap((m) => (m.kind === "dispatch" ? [m.job.jobName] : []))).size).toBe(
      w.moves.filter((m) => m.kind === "dispatch").length,
    );
  });

  test("more than one Pod makes it unknown, whatever the frame says", () => {
    const db = database(planOf(CREATE));
    const w = new TestWorld(tools, ALWAYS, db.answer);
    w.holdJobs = false;
    const create = TestWorld.prototype.createJob;
    w.createJob = (spec) => {
      create.call(w, spec);
      const held = w.jobs.get(spec.jobName);
      if (spec.work.type !== "Apply" || held?.pods[0] === undefined) return;
      held.pods.push({ ...held.pods[0], uid: "second", name: "second", gated: false });
    };
    w.run((world) => world.status.phase === "AwaitingApproval");
    expect(outcomes(w)).toContain("ApplyFinished Unknown");
    expect(db.state.applied).toBe(0);
  });

  test("outlives a restore that loses status, holds the resource, and is settled by a reading", () => {
    const db = database(planOf(CREATE));
    const w = new TestWorld(tools, ALWAYS, db.answer);
    w.holdJobs = true;
    w.settle();
    for (let i = 0; i < 8 && mirrorOf(w) === undefined; i += 1) {
      w.endJobs();
      w.settle();
    }
    expect(w.status.activeOperation?.dispatchStarted).toBe(true);
    w.status = {};
    w.finalizer = false;
    w.jobs.clear();
    w.holdJobs = false;
    w.generation = 1;
    w.settle();
    expect(w.status.pendingObservation?.restored).toBe(true);
    expect(w.finalizer).toBe(true);
    expect(w.condition("Ready")).toBe("False OutcomeUnknown");
    w.run((world) => world.status.phase === "InSync" || world.status.phase === "AwaitingApproval");
    expect(w.status.resolvedRun?.resolution).toBe("Reading");
    expect(mirrorOf(w)).toBeUndefined();
  });

  test("put back from metadata takes no Lease of another database, and is read again when the declaration changes", () => {
    const db = database(planOf(CREATE));
    const w = new TestWorld(tools, ALWAYS, db.answer);
    w.holdApply = true;
    w.stepTo(
      ({ status }) => status.activeOperation?.dispatchStarted === true && status.activeOperation.type === "Apply",
    );
    w.status = {};
    w.jobs.clear();
    w.lease = null;
    w.answer = (job) => ({ ...db.answer(job), targetIdentityDigest: `sha256:${"e".repeat(64)}` });
    w.run((world) => world.status.phase === "Blocked");
    expect(w.condition("Stalled")).toBe("True TargetIdentityChanged");
    expect(w.lease).toBeNull();
    w.answer = db.answer;
    w.edit((spec) => ({ ...spec, interval: "20m" }));
    w.run((world) => world.status.pendingObservation === undefined);
    expect(w.status.resolvedRun?.resolution).toBe("Reading");
  });

  test("stops Blocked with its claim and Lease when the proof reads another database, until that one is back", () => {
    const db = database(planOf(CREATE));
    const elsewhere = { targetIdentityDigest: `sha256:${"e".repeat(64)}` };
    let away = true;
    const w = new TestWorld(tools, ALWAYS, (job) => ({
      ...db.answer(job),
      ...(db.state.applied > 0 && away && job.work.type !== "Apply" ? elsewhere : { targetIdentityDigest: TARGET }),
    }));
    w.settle();
    expect(w.status.phase).toBe("Blocked");
    expect(w.condition("Stalled")).toBe("True TargetIdentityChanged");
    expect(w.status.activeOperation?.type).toBe("Plan");
    expect(w.lease?.holder).not.toBe("");
    away = false;
    w.run((world) => world.status.phase === "InSync");
    expect(w.status.resolvedRun?.resolution).toBe("Reading");
    expect(w.lease?.holder).toBe("");
  });

  test("is ended by a named person, also while the resource is suspended", () => {
    const db = database(planOf(CREATE));
    const w = new TestWorld(tools, ALWAYS, (job) =>
      job.work.type !== "Apply" && db.state.applied > 0
        ? {
            error: { code: "connection_failed", message: "No route." },
            planOutcome: undefined,
            driftReportDigest: undefined,
          }
        : db.answer(job),
    );
    w.settle();
    expect(w.status.phase).toBe("Failed");
    const id = w.status.pendingObservation?.operationID ?? "";
    w.edit(suspendTo(true));
    w.settle();
    expect(w.status.pendingObservation).toBeDefined();
    w.annotations["operator.ptah.run/settled-apply"] = "sha256:other";
    w.annotations["operator.ptah.run/settled-apply-by"] = "bob";
    w.settle();
    expect(w.status.pendingObservation).toBeDefined();
    w.annotations["operator.ptah.run/settled-apply"] = id;
    w.annotations["operator.ptah.run/settled-apply-by"] = "bob";
    w.settle();
    expect(w.status.pendingObservation).toBeUndefined();
    expect(w.status.resolvedRun).toMatchObject({ resolution: "Settled", by: { username: "bob" } });
    expect(w.annotations["operator.ptah.run/settled-apply"]).toBeUndefined();
    expect(w.status.phase).toBe("Suspended");
  });

  test("says how a person ends it when its proof's Job cannot be built", () => {
    const w = new TestWorld(tools, ALWAYS, database(planOf(CREATE)).answer);
    w.stepTo(({ status }) => status.pendingObservation !== undefined);
    w.envelope = { state: "unresolved", sentence: "ServiceAccount default does not exist." };
    w.settle();
    expect(w.status.conditions?.find((c) => c.type === "Ready")?.message).toContain("kubectl ptah settle");
  });

  test("keeps the resource from being deleted until it is settled", () => {
    const db = database(planOf(CREATE));
    const w = new TestWorld(tools, ALWAYS, (job) =>
      job.work.type !== "Apply" && db.state.applied > 0
        ? {
            error: { code: "connection_failed", message: "No route." },
            planOutcome: undefined,
            driftReportDigest: undefined,
          }
        : db.answer(job),
    );
    w.settle();
    w.deleting = true;
    w.settle();
    expect(w.finalizer).toBe(true);
    w.annotations["operator.ptah.run/settled-apply"] = w.status.pendingObservation?.operationID ?? "";
    w.annotations["operator.ptah.run/settled-apply-by"] = "bob";
    w.settle();
    expect(w.finalizer).toBe(false);
  });
});

describe("what stops before anything ran", () => {
  test("a source that is not there fails without a claim and is read once it is there", () => {
    const w = new TestWorld(tools, SPEC, database(planOf(CREATE)).answer);
    w.source = {
      state: "refused",
      reason: "SourceNotFound",
      sentence: "ConfigMap orders-schema does not exist. Create it.",
    };
    w.settle();
    expect(w.status.phase).toBe("Failed");
    expect(w.condition("ArtifactResolved")).toBe("False SourceNotFound");
    expect(w.jobs.size).toBe(0);
    w.source = sourceOf("one");
    w.run(() => w.status.phase === "AwaitingApproval");
  });

  test("a reading that fails keeps its claim and merges its failures in the journal", () => {
    let broken = true;
    const db = database(planOf(CREATE));
    const w = new TestWorld(tools, SPEC, (job) =>
      broken
        ? { error: { code: "connection_failed", message: "No route." }, driftReportDigest: undefined }
        : db.answer(job),
    );
    w.settle();
    expect(w.status.phase).toBe("Failed");
    expect(w.condition("DatabaseReachable")).toBe("False OperationFailed");
    const id = w.status.activeOperation?.id;
    w.wallMs += 31_000;
    w.settle();
    expect(w.status.activeOperation).toMatchObject({ id: id ?? "", attempt: 3 });
    expect(w.status.journal?.entries).toHaveLength(1);
    expect(w.status.journal?.entries?.[0]).toMatchObject({ type: "OperationFailed", operation: "Observe", count: 2 });
    broken = false;
    w.run(() => w.status.phase === "AwaitingApproval");
  });

  test("a contested realm blocks every claimant without a Job and is looked at again within a minute", () => {
    const w = new TestWorld(tools, SPEC, database(planOf(CREATE)).answer);
    const other = {
      family: "schema",
      namespace: "application",
      name: "other",
      uid: "other",
      sharedRealm: false,
    } as const;
    w.others = [{ ...other, suspended: false, deleting: false, engineSupported: true, owes: false }];
    const move = w.settle();
    expect(w.status.phase).toBe("Blocked");
    expect(w.condition("Ready")).toBe("False RealmConflict");
    expect(w.status.conditions?.find(({ type }) => type === "Ready")?.message).toContain(
      "PtahSchema application/other claims the same database realm, spec.target.coordinationKey orders.",
    );
    expect(w.jobs.size).toBe(0);
    expect(move.kind === "rest" && (move.untilMs ?? 0) - w.wallMs).toBeLessThanOrEqual(60_000);
    w.others = [];
    w.run(() => w.status.phase === "AwaitingApproval");
  });

  test("an unsupported source or engine is refused by name", () => {
    const git = new TestWorld(
      tools,
      { ...SPEC, desired: { git: { repository: "https://git.example/x", ref: "main" } } },
      () => ({}),
    );
    git.settle();
    expect(git.condition("Ready")).toBe("False UnsupportedSource");
    const mysql = new TestWorld(tools, { ...SPEC, target: { ...SPEC.target, engine: "MySQL" } }, () => ({}));
    mysql.settle();
    expect(mysql.condition("Ready")).toBe("False UnsupportedEngine");
    expect(mysql.status.conditions?.find((c) => c.type === "Ready")?.message).toContain(
      "which runs a schema on PostgreSQL.",
    );
    expect(mysql.jobs.size + git.jobs.size).toBe(0);
  });

  test("a server major without a scratch image blocks with its name, and is read again at the interval", () => {
    const w = new TestWorld(tools, SPEC, () => ({ serverVersion: "14.1", serverMajor: 14 }));
    w.settle();
    expect(w.condition("Ready")).toBe("False UnsupportedServerVersion");
    expect(w.jobs.size).toBe(1);
    w.wallMs += 11 * 60_000;
    w.settle();
    expect(w.jobs.size).toBe(2);
    expect(w.status.phase).toBe("Blocked");
  });

  test("a state of a newer contract is refused without a write", () => {
    const w = new TestWorld(tools, SPEC, () => ({}));
    w.status = {
      executionBinding: { ...w.configuration.components, epoch: `v1-${"0".repeat(32)}`, controllerStateVersion: 2 },
    };
    expect(w.settle()).toMatchObject({ kind: "rest", rule: "1" });
    expect(w.version).toBe(1);
  });
});

describe("a read request", () => {
  const asked = (w: TestWorld, value: string) => {
    w.annotations["operator.ptah.run/read-requested-at"] = value;
    w.version += 1;
  };

  test("starts the reading the interval would have started, once", () => {
    const w = new TestWorld(tools, SPEC, () => ({}));
    w.settle();
    const jobs = w.jobs.size;
    asked(w, "2026-01-01T00:00:00Z");
    w.settle();
    expect(w.status.lastReadRequest).toBe("2026-01-01T00:00:00Z");
    expect(w.jobs.size).toBe(jobs + 2);
    w.settle();
    expect(w.jobs.size).toBe(jobs + 2);
  });

  test("that is no instant is recorded once with a warning and starts nothing", () => {
    const w = new TestWorld(tools, SPEC, () => ({}));
    w.settle();
    const jobs = w.jobs.size;
    asked(w, "soon");
    w.settle();
    expect(w.status.lastReadRequest).toBe("soon");
    expect(w.jobs.size).toBe(jobs);
    const events = w.moves.flatMap((move) => move.events ?? []).map((event) => event.reason);
    expect(events.filter((reason) => reason === "ReadRequestInvalid")).toHaveLength(1);
  });

  test("longer than 64 bytes is recorded as its digest", () => {
    const w = new TestWorld(tools, SPEC, () => ({}));
    w.settle();
    asked(w, "x".repeat(65));
    w.settle();
    expect(w.status.lastReadRequest).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  test("makes a reading that keeps failing give way to the source, at the end of its delay", () => {
    const w = new TestWorld(tools, SPEC, () => ({
      error: { code: "connection_failed", message: "No route." },
      driftReportDigest: undefined,
    }));
    w.settle();
    const id = w.status.activeOperation?.id;
    asked(w, "2026-01-01T00:00:01Z");
    w.settle();
    expect(w.status.activeOperation?.id).toBe(id ?? "");
    w.wallMs += 31_000;
    w.settle();
    expect(w.status.activeOperation?.id).not.toBe(id);
    expect(w.status.lastReadRequest).toBe("2026-01-01T00:00:01Z");
    expect(w.rules()).toContain("6/giveway");
  });
});
