/** The named scenarios: where each starts and what may happen in it, how often. Each runs to a fixpoint. */
import type { SchemaStatus } from "../../crds/status/index.ts";
import { EPOCH_MS, type SpecInputs } from "./values.ts";
import { type Budgets, budgetsOf, type World } from "./world.ts";

export interface Scenario {
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
  /** Phases, conditions and journal are written too. */
  readonly narrated?: boolean;
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "plain",
    plays: "nothing fails; a person approves",
    budgets: { approve: 1 },
  },
  {
    name: "faults",
    plays: "a crash, a kill, an API error, a bad log, a failed read, an approval",
    budgets: { crash: 1, kill: 1, error: 1, log: 1, readFailed: 1, approve: 1 },
  },
  {
    name: "pods",
    plays: "a second Pod, a kill, an eviction or silent node, a deleted Job, behind the scheduling gate",
    budgets: { duplicate: 1, kill: 1, evict: 1, jobDeleted: 1, approve: 1 },
  },
  {
    name: "edits",
    plays: "the source changes A→B→A, suspend, resume, approvals old and new",
    budgets: { edit: 2, suspend: 1, approve: 2, approveStale: 1 },
  },
  {
    name: "restore",
    plays: "status lost in a restore, delete, settle, suspend, an API error, a kill",
    budgets: { restore: 1, delete: 1, settle: 1, suspend: 1, error: 1, approve: 1, kill: 1 },
  },
  {
    name: "recreate",
    plays: "the resource is restored as a new object while its Apply may run",
    budgets: { recreate: 1, approve: 2, approveStale: 1, kill: 1, settle: 1, slow: 1 },
  },
  {
    name: "late",
    plays: "creates of Jobs and Pods that commit after everybody gave up on them, and a slow clock",
    budgets: { late: 1, slow: 2, crash: 1, approve: 1 },
  },
  {
    name: "envelope",
    plays: "the admission envelope does not resolve, or changes twice",
    budgets: { envelope: 2, approve: 1, slow: 1, suspend: 1 },
  },
  {
    name: "refused",
    plays: "creates and Pods are refused, a Job is tampered with",
    budgets: { podRefused: 1, error: 1, drift: 1, approve: 1, slow: 1 },
  },
  {
    name: "binding",
    plays: "the execution binding changes twice",
    budgets: { upgrade: 2, approve: 2, crash: 1, kill: 1 },
  },
  {
    name: "requests",
    plays: "read requests, one of them no instant, beside failed reads and a moved source",
    budgets: { request: 2, readFailed: 2, edit: 1, approve: 1 },
  },
  {
    name: "target",
    plays: "the Secret names another database, and the old one again",
    databases: 2,
    budgets: { retarget: 2, approve: 1, settle: 1, kill: 1 },
  },
  {
    name: "always",
    plays: "apply: Always beside somebody who changes the database",
    inputs: { apply: "Always" },
    budgets: { foreign: 3, kill: 1, log: 1 },
  },
  {
    name: "gates",
    plays: "policy, engine, realm and source are taken away and given back",
    budgets: { policy: 2, engine: 1, conflict: 1, refuseSource: 1, approve: 1, delete: 1 },
  },
  {
    name: "newer",
    plays: "a newer contract writes and is rolled back, a restore follows",
    budgets: { newer: 1, approve: 1, delete: 1, suspend: 1, restore: 1 },
  },
  {
    name: "lease",
    plays: "a contender for the Lease, slow clocks, a killed Pod",
    contender: true,
    inputs: { shared: true },
    budgets: { contend: 2, slow: 2, approve: 1, kill: 1 },
  },
  {
    name: "stale",
    plays: "two managers, one with an old view, a kill and a bad log",
    managers: 2,
    budgets: { stale: 1, approve: 1, kill: 1, log: 1 },
  },
  {
    name: "retired",
    plays: "two managers, an old view or a paused effect across a retirement and pruning",
    managers: 2,
    budgets: { stale: 1, hold: 1, upgrade: 1, edit: 1, approve: 1 },
  },
  {
    name: "paused",
    plays: "a manager paused before any effect, resuming late, beside a slow clock and a kill",
    managers: 2,
    budgets: { hold: 1, slow: 1, approve: 1, kill: 1, error: 1 },
  },
  {
    name: "worst",
    plays: "two managers, a contender for the Lease, an old view, a Pod accident",
    managers: 2,
    contender: true,
    inputs: { shared: true },
    budgets: { stale: 1, contend: 1, kill: 1, approve: 1 },
    deeper: { slow: 1 },
  },
  {
    name: "narrated",
    plays: "phases, conditions and journal written as in the product",
    narrated: true,
    budgets: { approve: 1, kill: 1, readFailed: 1, suspend: 1, edit: 1 },
  },
];

const INPUTS: SpecInputs = { apply: "OnApproval", suspend: false, exclude: false, shared: false, engine: "PostgreSQL" };
const NOTHING: SchemaStatus = { observedGeneration: -1 };

/** The world a scenario starts from: a new resource before an empty database. */
export function startOf(scenario: Scenario, deep: boolean): World {
  const budgets = deep ? { ...scenario.budgets, ...scenario.deeper } : scenario.budgets;
  return {
    now: EPOCH_MS,
    resource: {
      uid: "schema-1",
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
    secret: 0,
    databases: Array.from({ length: scenario.databases ?? 1 }, () => ({ state: "empty" })),
    plans: [],
    projections: [],
    approvals: [],
    snapshots: [],
    lease: null,
    jobs: [],
    pods: [],
    creating: [],
    other: { state: scenario.contender === true ? "idle" : "none", conflicting: false, epoch: 0, writesUntil: 0 },
    managers: Array.from({ length: scenario.managers ?? 1 }, () => ({})),
    left: budgetsOf(budgets),
    ghost: { unsettled: [], dispatchedSerial: 0, executed: [0, 0], spent: [], created: [] },
  };
}
