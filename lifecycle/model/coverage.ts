/** Which rule rows and which pairs of Move and fault a run has hit in each family, and which cannot be. */
import type { FamilyName } from "../families/types.ts";
import type { Move, MoveKind } from "../move.ts";
import type { Course } from "./perform.ts";
import type { World } from "./world.ts";

export const FAULTS = ["crashBefore", "crashAfter", "errorBefore", "errorAfter", "conflict", "stale"] as const;
export type FaultName = (typeof FAULTS)[number];

export const EFFECTS: readonly MoveKind[] = [
  "patchStatus",
  "patchMetadata",
  "claim",
  "dispatch",
  "writeLease",
  "createSnapshot",
  "createPlan",
  "createChunk",
  "markPlanReady",
  "createProjection",
  "markApproval",
  "markAcknowledgment",
  "consumeApproval",
  "openGate",
  "scheduleTtl",
  "deletePlan",
  "deleteSnapshot",
];

export const FAMILY_NAMES: readonly FamilyName[] = ["schema", "migration"];

/** A row or pair of one family; what is counted and declared is named so. */
export const inFamily = (family: FamilyName, what: string): string => `${family}: ${what}`;

const declared = (family: FamilyName, why: string, what: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(what.map((one) => [inFamily(family, one), why]));

const withFaults = (kinds: readonly MoveKind[]): string[] =>
  kinds.flatMap((kind) => FAULTS.map((fault) => `${kind} × ${fault}`));

/** Pairs that cannot be, each with its reason; a run that hits one is wrong about the reason. */
export const IMPOSSIBLE: Readonly<Record<string, string>> = {
  ...declared("schema", "a schema is settled by its annotation", withFaults(["markAcknowledgment"])),
  ...declared("migration", "a sequence has no chunks", withFaults(["createChunk", "createProjection"])),
};

const words = (text: string): string[] => text.split(" ");

/** Rows of the rule table that no explored world can reach, each with its reason; checked like the pairs. */
export const UNREACHED: Readonly<Record<string, string>> = {
  ...declared(
    "schema",
    "every patch that clears or replaces a record ends the claim of its proof with it, and a restore loses both; only a status written by hand has one without the other",
    ["6/record"],
  ),
  ...declared(
    "migration",
    "a run's record is settled by any reading of its database, and a restored one is filled before it is read: its reading's claim goes with it",
    ["6/record"],
  ),
  ...declared(
    "migration",
    "an edited policy retires a migration's plan before its claim is looked at, and nobody takes an approval back here",
    ["6/revoked"],
  ),
  ...declared(
    "migration",
    "a reading of a history takes no Lease, and a run's record gives its own back before it is read",
    words("3b/adopt 6/lease 6/lost 8/realm 8/realm/held 8/epoch"),
  ),
  ...declared(
    "migration",
    "only a family that compares a server with a scratch one decides it",
    words("6/learned 6/observed 6/version 6/moved 6/elsewhere 6/superseded 8/version 8/observe 8/plan 13/again"),
  ),
  ...declared("migration", "a sequence has no chunks, and no Observe or Plan", words("6/project 15/observe 15/plan")),
  ...declared(
    "migration",
    "a run's record whose own reading cannot be made, or failed, is owed none: ordinary cycles read",
    words("8/retry 8/blocked 8/refused"),
  ),
  ...declared(
    "schema",
    "only a family that reads a history decides it",
    words(
      "6/planning 6/unsettled 6/unpublished 6/unproved 8/release 8/again 8/without 8/history 11/acknowledgments 15/history",
    ),
  ),
};

/** Double moves: which of the six names a course of theirs is. */
const COURSES: Readonly<Record<string, FaultName>> = {
  stopBetween: "crashAfter",
  createRefused: "errorBefore",
  createLost: "errorAfter",
  createLate: "errorAfter",
  createLateStop: "crashAfter",
};

export class Coverage {
  readonly rules = new Map<string, number>();
  readonly pairs = new Map<string, number>();
  /** Courses of the dispatch and the claim, beyond the six names. */
  readonly courses = new Map<string, number>();

  /** Whose world is explored now. */
  playing: FamilyName = "schema";

  rule(id: string): void {
    const key = inFamily(this.playing, id);
    this.rules.set(key, (this.rules.get(key) ?? 0) + 1);
  }

  pair(kind: MoveKind, fault: FaultName): void {
    const key = inFamily(this.playing, `${kind} × ${fault}`);
    this.pairs.set(key, (this.pairs.get(key) ?? 0) + 1);
  }

  fault(kind: MoveKind, course: Course | FaultName): void {
    const name = COURSES[course];
    if (name !== undefined) {
      this.courses.set(`${kind}: ${course}`, (this.courses.get(`${kind}: ${course}`) ?? 0) + 1);
      this.pair(kind, name);
      if (name === "crashAfter") this.pair(kind, "crashBefore");
      return;
    }
    this.pair(kind, course as FaultName);
  }

  /** An effect was sent by a manager: was its view old, and did its precondition stop it? */
  performed(move: Move, before: World, after: World, at: number): void {
    const old = before.managers[at]?.old;
    if (old === undefined || old.version === before.resource?.version) return;
    this.pair(move.kind, "stale");
    if (after === before || isRefresh(before, after)) this.pair(move.kind, "conflict");
  }

  /** A paused manager sent an effect it had decided in another world. */
  resumed(move: Move, before: World, after: World): void {
    this.pair(move.kind, "stale");
    if (after === before || same(before, after)) this.pair(move.kind, "conflict");
  }

  merge(other: { rules: [string, number][]; pairs: [string, number][]; courses: [string, number][] }): void {
    for (const [map, list] of [
      [this.rules, other.rules],
      [this.pairs, other.pairs],
      [this.courses, other.courses],
    ] as const) {
      for (const [key, n] of list) map.set(key, (map.get(key) ?? 0) + n);
    }
  }

  toJSON(): { rules: [string, number][]; pairs: [string, number][]; courses: [string, number][] } {
    return { rules: [...this.rules], pairs: [...this.pairs], courses: [...this.courses] };
  }

  /** Pairs nobody hit and nobody declared impossible, and declared ones that were hit after all. */
  problems(): string[] {
    const out: string[] = [];
    for (const key of FAMILY_NAMES.flatMap((family) => withFaults(EFFECTS).map((pair) => inFamily(family, pair)))) {
      const hit = this.pairs.has(key);
      if (!hit && !(key in IMPOSSIBLE)) out.push(`not hit: ${key}`);
      if (hit && key in IMPOSSIBLE) out.push(`declared impossible, and hit: ${key}`);
    }
    return out;
  }
}

/** Only the manager's view of the resource changed: the write was refused. */
function isRefresh(before: World, after: World): boolean {
  return before.resource === after.resource && same({ ...before, managers: after.managers }, after);
}

/** Whether a create-only effect, or one whose precondition failed, left every object as it was. */
function same(before: World, after: World): boolean {
  return (
    before.resource === after.resource &&
    before.lease === after.lease &&
    before.plans.every((p, i) => p === after.plans[i]) &&
    before.plans.length === after.plans.length &&
    before.projections.length === after.projections.length &&
    before.snapshots.length === after.snapshots.length &&
    before.approvals.every((a, i) => a === after.approvals[i]) &&
    before.words.every((w, i) => w === after.words[i]) &&
    before.jobs.every((j, i) => j === after.jobs[i]) &&
    before.jobs.length === after.jobs.length &&
    before.pods.every((p, i) => p === after.pods[i])
  );
}
