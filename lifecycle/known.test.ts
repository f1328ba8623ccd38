import { expect, test } from "bun:test";
import { MIGRATION_PHASES } from "../crds/status/migration.ts";
import { SCHEMA_PHASES } from "../crds/status/schema.ts";
import type { Context, Status } from "./context.ts";
import { FAMILIES } from "./families/index.ts";
import { type Cause, present } from "./present.ts";
import { CAUSES } from "./testing-causes.ts";

type Name = keyof typeof CAUSES;
type Said = "True" | "False";

const contextOf = (name: Name): Context =>
  ({ family: FAMILIES[name], resource: { generation: 1 }, nowMs: 0 }) as unknown as Context;
const after = (name: Name, causes: readonly Cause[], from: Status = {}): Status =>
  causes.reduce((status, cause) => present(contextOf(name), status, cause), from);
const says = (status: Status, type: string): string | undefined =>
  status.conditions?.find((condition) => condition.type === type)?.status;

const sentence = "Observe ended with connection_failed: no answer. It is tried again after 30s.";
/** What stood before: a plan that waits, a proof, a failure, a source that could not be read. */
const BEFORE: Readonly<Record<Name, readonly (readonly Cause[])[]>> = {
  schema: [
    [{ at: "decided", verdict: { kind: "AwaitingApproval", reason: "PlanReady" }, statementCount: 1 }],
    [
      { at: "observed", proving: false },
      { at: "converged", unknownOutcome: false },
    ],
    [
      { at: "converged", unknownOutcome: false },
      { at: "readFailed", type: "Observe", reason: "OperationFailed", sentence, unreachable: true },
    ],
    [{ at: "sourceRefused", reason: "SourceNotFound", sentence }],
  ],
  migration: [
    [{ at: "sequenceReady", apply: "OnApproval", count: 1 }],
    [{ at: "historyMatched", version: 1 }],
    [{ at: "readFailed", type: "History", reason: "OperationFailed", sentence, unreachable: true }],
    [{ at: "sourceRefused", reason: "SourceNotFound", sentence }],
  ],
};

const BOTH: readonly Said[] = ["True", "False"];
const ASKS = ["ApprovalRequired", ["True"]] as const;
const FAILS = ["ReconciliationFailed", ["True"]] as const;
const UNPROVED = ["InSync", ["True"]] as const;
type Row = readonly (readonly [type: string, never: readonly Said[]])[];

/** What a phase cannot know, whatever was told before: a condition may be absent then, or Unknown. */
const CANNOT_SAY: Readonly<Record<string, Row>> = {
  Pending: [ASKS],
  Resolving: [ASKS],
  Verifying: [ASKS],
  Observing: [ASKS],
  Reading: [ASKS],
  Planning: [ASKS],
  ReadyToApply: [ASKS, UNPROVED],
  AwaitingApproval: [],
  Blocked: [ASKS, FAILS, UNPROVED],
  Applying: [ASKS],
  VerifyingConvergence: [ASKS],
  VerifyingHistory: [ASKS],
  InSync: [ASKS, FAILS],
  Suspended: [ASKS, FAILS],
  Failed: [ASKS, ["InSync", BOTH], ["DriftDetected", BOTH]],
};

/** They leave the phase what it was and say nothing of what was read. */
const STAYS: ReadonlySet<string> = new Set(["bound", "resultUnread", "podHeld", "holding", "deleting"]);

test.each(["schema", "migration"] as const)("no condition of a %s says what its phase cannot know", (name) => {
  const wrong = new Set<string>();
  const reached = new Set<string>();
  for (const before of BEFORE[name]) {
    for (const cause of CAUSES[name]) {
      // A plan that went stale leads to a reading, never into suspension.
      if (STAYS.has(cause.at) || (cause.at === "planStale" && cause.leads === "Suspended")) continue;
      const status = after(name, [...before, cause]);
      const phase = status.phase ?? "";
      reached.add(phase);
      for (const [type, never] of CANNOT_SAY[phase] ?? []) {
        const said = says(status, type);
        if (never.some((value) => value === said)) wrong.add(`${phase} after ${cause.at}: ${type}=${said}`);
      }
    }
  }
  expect([...wrong].sort()).toEqual([]);
  const phases: readonly string[] = name === "schema" ? SCHEMA_PHASES : MIGRATION_PHASES;
  expect(phases.filter((phase) => !reached.has(phase))).toEqual([]);
});

test.each([
  ["a password that is refused", "Observe", true, "False"],
  ["a reading that left no account of itself", "Observe", false, "Unknown"],
  ["a plan that failed after its reading", "Plan", false, "True"],
] as const)("%s leaves of the database's being reachable what is known", (_what, type, unreachable, said) => {
  const status = after("schema", [
    { at: "observed", proving: false },
    { at: "readFailed", type, reason: "OperationFailed", sentence, unreachable },
  ]);
  expect(says(status, "DatabaseReachable")).toBe(said);
});

test("a Pod that cannot start takes off the failure of the attempt before", () => {
  const status = after("schema", [
    { at: "observed", proving: false },
    { at: "readFailed", type: "Observe", reason: "OperationFailed", sentence, unreachable: true },
    { at: "podHeld", reason: "PodCannotStart", sentence: "The Secret is not there." },
  ]);
  expect(says(status, "ReconciliationFailed")).toBeUndefined();
  expect(says(status, "DatabaseReachable")).toBe("Unknown");
});

test("why an Apply failed is told on while suspended", () => {
  const status = after("schema", [
    { at: "applied", unknown: true, sentence: "What it did is not known." },
    { at: "suspended", wayOut: "kubectl ptah settle" },
  ]);
  expect(says(status, "ReconciliationFailed")).toBe("True");
});

test("a run that is not accounted for keeps the resource blocked, whatever is read or fails meanwhile", () => {
  const held = { unresolvedRun: { operationID: "x" } } as unknown as Status;
  for (const cause of CAUSES.migration) {
    if (cause.at === "historyMatched" || cause.at === "settled") continue;
    const status = after("migration", [cause], held);
    expect(`${cause.at} ${says(status, "Blocked")}`).toBe(`${cause.at} True`);
    expect(status.phase).not.toBe("Failed");
  }
});
