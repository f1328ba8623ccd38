/** The named scenarios: where each starts and what may happen in it, how often. Each runs to a fixpoint. */
import type { FamilyName, Status } from "../families/types.ts";
import type { Decider } from "./decision.ts";
import { PLAYED } from "./played.ts";
import { successors } from "./steps.ts";
import { EPOCH_MS, SERVER_MAJOR, type SpecInputs } from "./values.ts";
import { type Budgets, budgetsOf, type World } from "./world.ts";

export interface Scenario {
  /** A schema's where it is not said. */
  readonly family?: FamilyName;
  readonly name: string;
  /** What it plays, in one line. */
  readonly plays: string;
  readonly budgets: Budgets;
  /** More of it with DEEP=1. */
  readonly deeper?: Budgets;
  readonly inputs?: Partial<SpecInputs>;
  readonly managers?: number;
  readonly contender?: boolean;
  readonly databases?: number;
  /** Begins where the resource first rests in this verdict, nothing having failed; otherwise as it is created. */
  readonly from?: "AwaitingApproval";
  /** Phases, conditions and journal are written too. */
  readonly narrated?: boolean;
}

export const SCENARIOS: Scenario[] = [
  {
    name: "plain",
    plays: "nothing fails; a person approves, and clocks are slow",
    budgets: { approve: 1, slow: 1 },
  },
  {
    name: "faults",
    plays: "a crash, a kill, an API error, a bad log, from a waiting plan on",
    from: "AwaitingApproval",
    budgets: { crash: 1, kill: 1, error: 1, log: 1, approve: 1 },
    deeper: { readFailed: 1 },
  },
  {
    name: "readings",
    plays: "readings that fail, beside a crash, an API error and a bad log",
    from: "AwaitingApproval",
    budgets: { readFailed: 1, crash: 1, error: 1, log: 1, approve: 1 },
  },
  {
    name: "pods",
    plays: "a second Pod, a kill, an eviction or a silent node, behind the scheduling gate",
    from: "AwaitingApproval",
    budgets: { duplicate: 1, kill: 1, evict: 1, approve: 1 },
    deeper: { jobDeleted: 1 },
  },
  {
    name: "gone",
    plays: "the Job is deleted beside a second Pod, an eviction, a force-deletion or a silent node",
    from: "AwaitingApproval",
    budgets: { duplicate: 1, jobDeleted: 1, evict: 1, approve: 1 },
  },
  {
    name: "edits",
    plays: "the source changes A→B→A, suspend, resume",
    from: "AwaitingApproval",
    budgets: { edit: 2, suspend: 1, approve: 1 },
  },
  {
    name: "approvals",
    plays: "approvals of the standing plan and of older ones while the source changes",
    from: "AwaitingApproval",
    budgets: { edit: 1, approve: 2, approveStale: 1 },
  },
  {
    name: "restore",
    plays: "the status is lost in a restore; delete, settle",
    from: "AwaitingApproval",
    budgets: { restore: 1, delete: 1, settle: 1, approve: 1 },
    deeper: { suspend: 1, error: 1 },
  },
  {
    name: "lost",
    plays: "the status is lost in a restore; suspend, an API error",
    from: "AwaitingApproval",
    budgets: { restore: 1, suspend: 1, error: 1, approve: 1 },
    deeper: { settle: 1 },
  },
  {
    name: "restored",
    plays: "the status is lost in a restore, and somebody removes the finalizer",
    from: "AwaitingApproval",
    budgets: { restore: 1, unhold: 1, approve: 1 },
    deeper: { suspend: 1, error: 1 },
  },
  {
    name: "recreate",
    plays: "the resource is restored as a new object while its Apply may run",
    from: "AwaitingApproval",
    budgets: { recreate: 1, approve: 1, kill: 1, settle: 1 },
    deeper: { approve: 2, slow: 1 },
  },
  {
    name: "late",
    plays: "creates of Jobs and Pods that commit after everybody gave up on them, and a slow clock",
    from: "AwaitingApproval",
    budgets: { late: 1, slow: 1, crash: 1, approve: 1 },
  },
  {
    name: "envelope",
    plays: "the admission envelope does not resolve, or changes",
    budgets: { envelope: 1, approve: 1, suspend: 1 },
  },
  {
    name: "refused",
    plays: "Pods are refused, a Job is tampered with, a Job is deleted",
    from: "AwaitingApproval",
    budgets: { podRefused: 1, drift: 1, jobDeleted: 1, approve: 1 },
    deeper: { error: 1 },
  },
  {
    name: "binding",
    plays: "the execution binding changes twice, with a kill",
    from: "AwaitingApproval",
    budgets: { upgrade: 2, approve: 1, kill: 1 },
  },
  {
    name: "requests",
    plays: "read requests, one of them no instant, beside failed reads and a moved source",
    budgets: { request: 2, readFailed: 1, edit: 1 },
  },
  {
    name: "target",
    plays: "the Secret names another database, and the old one again; a person settles",
    from: "AwaitingApproval",
    databases: 2,
    budgets: { retarget: 2, approve: 1, settle: 1 },
  },
  {
    name: "always",
    plays: "apply: Always beside somebody who changes the database",
    inputs: { apply: "Always" },
    budgets: { foreign: 3, kill: 1 },
  },
  {
    name: "gates",
    plays: "policy, engine and source are taken away and given back; delete",
    from: "AwaitingApproval",
    budgets: { policy: 1, engine: 1, refuseSource: 1, delete: 1 },
    deeper: { approve: 1 },
  },
  {
    name: "kept",
    plays: "engine and source are taken away and given back while an Apply runs; delete",
    from: "AwaitingApproval",
    budgets: { engine: 1, refuseSource: 1, delete: 1, approve: 1 },
  },
  {
    name: "realm",
    plays: "another claimant, a suspension and a changed policy",
    from: "AwaitingApproval",
    budgets: { conflict: 1, policy: 1, suspend: 1, approve: 1 },
  },
  {
    name: "newer",
    plays: "a newer contract writes and is rolled back, a restore follows",
    from: "AwaitingApproval",
    budgets: { newer: 1, approve: 1, restore: 1 },
  },
  {
    name: "lease",
    plays: "a contender for the Lease, slow clocks",
    contender: true,
    inputs: { shared: true },
    from: "AwaitingApproval",
    budgets: { contend: 2, slow: 1, approve: 1 },
    deeper: { kill: 1 },
  },
  {
    name: "stale",
    plays: "two managers, one with an old view, a kill and a bad log",
    managers: 2,
    from: "AwaitingApproval",
    budgets: { stale: 1, approve: 1, kill: 1, log: 1 },
  },
  {
    name: "retired",
    plays: "two managers, an old view across a retirement",
    managers: 2,
    from: "AwaitingApproval",
    budgets: { stale: 1, upgrade: 1, approve: 1 },
    deeper: { edit: 1 },
  },
  {
    name: "pruned",
    plays: "two managers, an old view across edits and pruning",
    managers: 2,
    from: "AwaitingApproval",
    budgets: { stale: 1, edit: 2 },
    deeper: { approve: 1 },
  },
  {
    name: "stops",
    plays: "a crash or an API error at any effect, from a new resource on, while the source changes",
    budgets: { crash: 1, error: 1, edit: 1 },
  },
  {
    name: "cleaning",
    plays: "a paused manager, resuming late, while plans and snapshots are pruned",
    managers: 2,
    from: "AwaitingApproval",
    budgets: { hold: 1, edit: 2 },
    deeper: { crash: 1, error: 1 },
  },
  {
    name: "paused",
    plays: "a manager paused before any effect, resuming late, beside a changed source",
    managers: 2,
    from: "AwaitingApproval",
    budgets: { hold: 1, edit: 1, approve: 1 },
    deeper: { kill: 1 },
  },
  {
    name: "worst",
    plays: "two managers, a contender for the Lease, an old view, a Pod accident",
    managers: 2,
    contender: true,
    inputs: { shared: true },
    from: "AwaitingApproval",
    budgets: { stale: 1, contend: 1, kill: 1, approve: 1 },
    deeper: { slow: 1 },
  },
  {
    name: "pruning",
    plays: "a crash or an API error while plans and snapshots of changed sources are pruned",
    from: "AwaitingApproval",
    budgets: { crash: 1, error: 1, edit: 2 },
  },
  {
    name: "garbled",
    plays: "a restore loses the status, and leaves a mirror nobody can read until a person removes it",
    from: "AwaitingApproval",
    budgets: { garble: 1, restore: 1, approve: 1 },
  },
  {
    name: "rollout",
    plays: "another image of the manager, twice, between a claim and its Job",
    from: "AwaitingApproval",
    budgets: { rollout: 2, approve: 1 },
  },
  {
    name: "server",
    plays: "the server is upgraded, to a major with or without a scratch image",
    from: "AwaitingApproval",
    budgets: { serverUpgrade: 1, approve: 1 },
  },
  {
    name: "squatted",
    plays: "somebody creates a Job under the name of a claim that has none yet",
    from: "AwaitingApproval",
    budgets: { squat: 1, approve: 1 },
  },
  {
    name: "adopted",
    plays: "two managers, one with an old view; somebody deletes the Lease",
    managers: 2,
    from: "AwaitingApproval",
    budgets: { stale: 1, leaseDeleted: 1, approve: 1 },
    deeper: { kill: 1 },
  },
  {
    name: "moved",
    plays: "the status is lost in a restore, and the Secret names another database",
    databases: 2,
    from: "AwaitingApproval",
    budgets: { restore: 1, retarget: 1, approve: 1 },
  },
  {
    name: "sourceless",
    plays: "the status is lost in a restore, and the source is missing",
    from: "AwaitingApproval",
    budgets: { restore: 1, refuseSource: 1, approve: 1 },
  },
  {
    name: "fenced",
    plays: "narrated; a Plan is refused a protected table or can not be made, a killed Pod",
    narrated: true,
    from: "AwaitingApproval",
    budgets: { planRefused: 1, kill: 1, approve: 1 },
  },
  {
    name: "waiting",
    plays: "narrated; a quota refuses a Pod, of an Apply too",
    narrated: true,
    from: "AwaitingApproval",
    budgets: { podRefused: 1, approve: 1 },
  },
  {
    name: "narrated",
    plays: "phases, conditions and journal written as in the product; bad logs",
    narrated: true,
    from: "AwaitingApproval",
    budgets: { approve: 1, log: 1 },
    deeper: { suspend: 1, kill: 1 },
  },
  {
    name: "told",
    plays: "the same, with Pods that are refused and a failing reading",
    narrated: true,
    from: "AwaitingApproval",
    budgets: { podRefused: 1, readFailed: 1 },
    deeper: { approve: 1 },
  },
];

const RUNS: readonly Scenario[] = [
  {
    name: "runs",
    plays: "nothing fails; a person approves, and clocks are slow",
    budgets: { approve: 1, slow: 1 },
  },
  {
    name: "run-ends",
    plays: "a run fails, stops half-way or loses its answer, with or without its row; acknowledged, or read",
    from: "AwaitingApproval",
    budgets: { approve: 1, runFails: 1, acknowledge: 1, kill: 1 },
  },
].map((one) => ({ ...one, family: "migration" as const })) as Scenario[];
SCENARIOS.push(...RUNS);

const INPUTS: SpecInputs = { apply: "OnApproval", suspend: false, exclude: false, shared: false, engine: "PostgreSQL" };
const NOTHING: Status = { observedGeneration: -1 };

/** Fair steps within which a resource first comes to rest. */
const FIRST_REST_MAX = 200;

/** The world a scenario starts from: a new resource before an empty database, or where it first rests. */
export function startOf(scenario: Scenario, deep: boolean, decider: Decider): World {
  const budgets = budgetsOf(deep ? { ...scenario.budgets, ...scenario.deeper } : scenario.budgets);
  let world = created(scenario);
  for (let step = 0; scenario.from !== undefined && step < FIRST_REST_MAX; step += 1) {
    const { decision, steps } = successors(world, decider);
    if (decision?.move.kind === "rest" && decision.move.verdict === scenario.from) break;
    const fair = steps.find((s) => s.unfair !== true);
    if (fair === undefined) throw new Error(`scenario ${scenario.name} never comes to ${scenario.from}`);
    world = fair.next;
  }
  return { ...world, left: budgets };
}

function created(scenario: Scenario): World {
  const family = scenario.family ?? "schema";
  const { untouched, elsewhere } = PLAYED[family];
  const states = [untouched, elsewhere].slice(0, scenario.databases ?? 1);
  return {
    now: EPOCH_MS,
    resource: {
      family,
      uid: `${family}-1`,
      version: 1,
      generation: 1,
      deleting: false,
      finalizer: false,
      inputs: { ...INPUTS, ...scenario.inputs },
      status: NOTHING,
    },
    source: { content: "A", version: 1, missing: false },
    envelope: { resolves: true, version: 1 },
    release: 0,
    knows: 1,
    rollout: 0,
    major: SERVER_MAJOR,
    secret: 0,
    databases: states.map((state) => ({ state })),
    plans: [],
    projections: [],
    approvals: [],
    words: [],
    snapshots: [],
    lease: null,
    jobs: [],
    pods: [],
    creating: [],
    other: { state: scenario.contender === true ? "idle" : "none", conflicting: false, epoch: 0, writesUntil: 0 },
    managers: Array.from({ length: scenario.managers ?? 1 }, () => ({})),
    left: budgetsOf({}),
    ghost: { unsettled: [], dispatchedSerial: 0, executed: [0, 0], spent: [], created: [] },
  };
}
