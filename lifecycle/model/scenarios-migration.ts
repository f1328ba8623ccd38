/** What is played with a migration: what a schema plays, and what only a history, its runs and people's words can do. */
import type { Scenario } from "./scenario.ts";
import { SCHEMA_SCENARIOS } from "./scenarios-schema.ts";
import type { Budgets } from "./world.ts";

/** Scenarios of a schema that mean nothing here, or are played below in a migration's own way. */
const OTHERWISE: ReadonlySet<string> = new Set(["server", "fenced", "pods", "always"]);

/** Other budgets than the schema's, where a migration's worlds are many more or need more of something. */
const CHANGED: Readonly<Record<string, Budgets>> = {};

const alike: readonly Scenario[] = SCHEMA_SCENARIOS.filter((s) => !OTHERWISE.has(s.name)).map((s) => ({
  ...s,
  family: "migration",
  name: `m-${s.name}`,
  budgets: { ...s.budgets, ...CHANGED[s.name] },
}));

const own: readonly Omit<Scenario, "family">[] = [
  {
    name: "m-pods",
    plays: "a second Pod, a kill, an eviction or a silent node, behind the scheduling gate; acknowledged",
    from: "AwaitingApproval",
    budgets: { duplicate: 1, kill: 1, evict: 1, approve: 1, acknowledge: 1 },
  },
  {
    name: "m-ends",
    plays: "a run fails, stops half-way or loses its answer, with or without its row; acknowledged, or read",
    from: "AwaitingApproval",
    budgets: { approve: 2, runFails: 1, acknowledge: 1, kill: 1 },
    deeper: { runFails: 2 },
  },
  {
    name: "m-words",
    plays: "acknowledgments: early, of the run that stands, of another run",
    from: "AwaitingApproval",
    budgets: { approve: 1, runFails: 1, acknowledge: 1, acknowledgeEarly: 1, acknowledgeOther: 1 },
  },
  {
    name: "m-twice",
    plays: "two runs one after the other, words of the first about the second",
    from: "AwaitingApproval",
    budgets: { approve: 2, runFails: 2, acknowledge: 1, acknowledgeOther: 1 },
  },
  {
    name: "m-database",
    plays: "somebody sets the database back, records a version, leaves a row or edits one, while a run fails",
    from: "AwaitingApproval",
    budgets: { foreign: 2, approve: 1, runFails: 1 },
    deeper: { acknowledge: 1 },
  },
  {
    name: "m-deleted",
    plays: "deleted while a run is not accounted for; settled by annotation or acknowledged; the status is lost",
    from: "AwaitingApproval",
    budgets: { delete: 1, settle: 1, acknowledge: 1, runFails: 1, approve: 1, restore: 1 },
  },
  {
    name: "m-beside",
    plays: "ordinary cycles beside a run that nobody accounts for: an edit, a suspension",
    from: "AwaitingApproval",
    budgets: { runFails: 1, approve: 1, edit: 1, suspend: 1 },
    deeper: { approve: 2 },
  },
  {
    name: "m-asked",
    plays: "ordinary cycles beside a run that nobody accounts for: an edit, a read request",
    from: "AwaitingApproval",
    budgets: { runFails: 1, approve: 1, edit: 1, request: 1 },
  },
  {
    name: "m-elsewhere",
    plays: "the Secret names another database, where nothing is pending, while a run is not accounted for",
    from: "AwaitingApproval",
    databases: 2,
    budgets: { retarget: 2, approve: 1, runFails: 1, acknowledge: 1 },
  },
  {
    name: "m-unread",
    plays: "the reading of a run that nobody accounts for fails, or a directory cannot be planned; deleted",
    from: "AwaitingApproval",
    budgets: { runFails: 1, readFailed: 1, planRefused: 1, approve: 1, delete: 1 },
  },
  {
    name: "m-always",
    plays: "apply: Always beside somebody who changes the database, and runs that fail",
    inputs: { apply: "Always" },
    budgets: { foreign: 2, runFails: 2, kill: 1 },
  },
  {
    name: "m-never",
    plays: "apply: Never, edited to OnApproval and back while the source changes",
    inputs: { apply: "Never" },
    budgets: { policy: 2, edit: 1, approve: 1 },
  },
  {
    name: "m-stale",
    plays: "two managers, one with an old view, a run that ends uncertain and a word about it",
    managers: 2,
    from: "AwaitingApproval",
    budgets: { stale: 1, approve: 1, runFails: 1, acknowledge: 1 },
  },
  {
    name: "m-paused",
    plays: "a manager paused before any effect, resuming late, beside words and a run that ends uncertain",
    managers: 2,
    from: "AwaitingApproval",
    budgets: { hold: 1, approve: 1, runFails: 1, acknowledge: 1, acknowledgeOther: 1 },
  },
  {
    name: "m-stops",
    plays: "a crash or an API error at any effect, while a run ends uncertain and is acknowledged",
    from: "AwaitingApproval",
    budgets: { crash: 1, error: 1, approve: 1, runFails: 1, acknowledge: 1 },
  },
  {
    name: "m-dawdle",
    plays: "the Pod of a reading is made after its Job failed at the deadline, with slow clocks",
    budgets: { late: 1, slow: 2 },
  },
  {
    name: "m-told",
    plays: "narrated; runs that end otherwise than applied, words about them",
    narrated: true,
    from: "AwaitingApproval",
    budgets: { approve: 1, runFails: 1, acknowledge: 1, foreign: 1 },
  },
];

const taken: ReadonlySet<string> = new Set(own.map((s) => s.name));

export const MIGRATION_SCENARIOS: readonly Scenario[] = [
  ...alike.filter((s) => !taken.has(s.name)),
  ...own.map((s) => ({ ...s, family: "migration" as const })),
];
