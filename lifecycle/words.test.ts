import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { CONDITION_TYPES } from "../crds/conditions.ts";
import { EVENT_REASONS } from "../crds/events.ts";
import { explainReason } from "../crds/reasons.ts";
import { FAMILIES } from "./families/index.ts";
import type { Cause, Leads } from "./present.ts";

const sentence = "x";
const LEADS: readonly Leads[] = ["Pending", "Suspended", "Observing", "Verifying", "AwaitingApproval"];
/** They say again what Ready says, in the family's own words, and have its reason. */
const ECHOES: ReadonlySet<string> = new Set(["Reconciling", "Stalled", "Progressing", "Blocked"]);
const DROPPED = [
  "InputsChanged",
  "StalePlan",
  "LeaseContinuityLost",
  "ExecutionBindingChanged",
  "ApprovalRevoked",
] as const;
const plan = { statementCount: 1 } as const;

/** One of every cause, and of every word it can carry. */
const SHARED: readonly Cause[] = [
  { at: "bound" },
  { at: "bindingChanged" },
  { at: "begun", read: "Observe", changed: true, sentence },
  { at: "begun", read: "History", changed: false, sentence },
  { at: "claimed", type: "History", proving: true, approved: false },
  { at: "claimed", type: "Apply", proving: false, approved: true },
  { at: "claimed", type: "Apply", proving: false, approved: false },
  { at: "realmHeld", type: "Apply", proving: false, sentence },
  { at: "readFailed", type: "Observe", reason: "OperationFailed", sentence, unreachable: true },
  { at: "readFailed", type: "Observe", reason: "ResultMissing", sentence, unreachable: false },
  { at: "unbuilt", sentence },
  { at: "resultUnread", sentence },
  { at: "podHeld", reason: "PodAdmissionRefused", sentence },
  { at: "podHeld", reason: "PodCannotStart", sentence },
  ...(["SourceNotFound", "SourceRefused", "SourcePolicyNotFound", "SourcePolicyRefused"] as const).map(
    (reason): Cause => ({ at: "sourceRefused", reason, sentence }),
  ),
  { at: "gaveWay" },
  { at: "holding", sentence },
  { at: "targetMoved", sentence },
  { at: "settled", username: "ann" },
  { at: "restored" },
  ...LEADS.map((leads): Cause => ({ at: "planStale", leads, sentence })),
  { at: "suspended", owes: true },
  { at: "suspended", owes: false },
  ...(["UnsupportedEngine", "UnsupportedSource", "RealmConflict", "RealmNotAuthorized"] as const).map(
    (reason): Cause => ({ at: "blocked", reason, sentence }),
  ),
  { at: "deleting", held: true, sentence },
  { at: "deleting", held: false, sentence },
];
const STATEMENTS: readonly Cause[] = [
  ...DROPPED.map((reason): Cause => ({ at: "dropped", leads: "Pending", reason, sentence })),
  { at: "dropped", leads: "AwaitingApproval", reason: "ApprovalRevoked", sentence },
  { at: "blocked", reason: "UnsupportedServerVersion", sentence },
  { at: "versionLearned", proving: false },
  { at: "observed", proving: true },
  { at: "decided", verdict: { kind: "ReadyToApply", reason: "NotRequired" }, ...plan },
  ...(["PrivilegeChanges", "PlanReady", "UnprovenChanges"] as const).map(
    (reason): Cause => ({ at: "decided", verdict: { kind: "AwaitingApproval", reason }, ...plan }),
  ),
  ...(["DestructiveChangesDisabled", "ApplyDisabled"] as const).map(
    (reason): Cause => ({ at: "decided", verdict: { kind: "Blocked", reason }, ...plan }),
  ),
  { at: "converged", unknownOutcome: true },
  { at: "converged", unknownOutcome: false },
  ...(["ProtectedTable", "PlanRefused", "PlanTooLarge"] as const).map(
    (reason): Cause => ({ at: "planRefused", reason, sentence }),
  ),
  { at: "applied", unknown: true, sentence },
  { at: "applied", unknown: false, sentence },
  { at: "superseded" },
];
const SEQUENCE: readonly Cause[] = [
  ...[...DROPPED, "Suspended", "DesiredStateChanged"].map(
    (reason): Cause => ({ at: "dropped", leads: "Pending", reason, sentence }),
  ),
  { at: "historyMatched", version: 1 },
  { at: "sequencePending", count: 2 },
  ...(["Never", "OnApproval", "Always"] as const).map((apply): Cause => ({ at: "sequenceReady", apply, count: 2 })),
  ...(
    ["HistoryDirty", "HistoryModified", "HistoryOutOfOrder", "HistoryAhead", "PlanTooLarge", "OutcomeUnknown"] as const
  ).map((reason): Cause => ({ at: "historyRefused", reason, sentence })),
  ...(["UpToDate", "Applied", "Failed", "Partial", "Unknown"] as const).flatMap((outcome): Cause[] => [
    { at: "ran", outcome, selected: true, sentence },
    { at: "ran", outcome, selected: false, sentence },
  ]),
  { at: "unpublished", sentence },
];

const explained = (type: string, said: string, reason: string): boolean => {
  const known: readonly string[] = explainReason(reason).reason?.conditions ?? [];
  return ECHOES.has(type) ? known.length > 0 : known.includes(said);
};
const kindsOf = (type: string): readonly string[] => CONDITION_TYPES.find((entry) => entry.type === type)?.on ?? [];

test.each([
  ["schema", [...SHARED, ...STATEMENTS]],
  ["migration", [...SHARED, ...SEQUENCE]],
] as const)("every condition a %s is told has its type and its reason in the tables people read", (name, causes) => {
  const family = FAMILIES[name];
  const missing = new Set<string>();
  for (const cause of causes) {
    for (const [type, value, reason] of family.conditions(cause)) {
      if (value === "absent") continue;
      const said = `${type}=${value === "stale" ? "Unknown" : value}`;
      if (!explained(type, said, reason)) missing.add(`${said} ${reason} (${cause.at})`);
      if (!kindsOf(type).includes(family.kind)) missing.add(`${type} is not on ${family.kind}`);
    }
  }
  expect([...missing].sort()).toEqual([]);
});

test("every Event's reason is in the table people read", () => {
  const known = new Set(EVENT_REASONS.map((entry) => entry.reason));
  const missing: string[] = [];
  for (const folder of ["obligations", "families"]) {
    for (const file of readdirSync(`${import.meta.dir}/${folder}`)) {
      const text = readFileSync(`${import.meta.dir}/${folder}/${file}`, "utf8");
      for (const [, reason] of text.matchAll(/type: "(?:Normal|Warning)"(?: as const)?,\s*reason: "(\w+)"/g)) {
        if (reason !== undefined && !known.has(reason)) missing.push(`${file}: ${reason}`);
      }
    }
  }
  expect(missing).toEqual([]);
});
