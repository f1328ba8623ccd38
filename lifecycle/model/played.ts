/** What the explored world knows of a family: one row each; everything else of the model is the same for both. */
import type { PtahMigrationPlanSpec } from "../../crds/migrationspec.ts";
import type { PtahSchemaPlanSpec } from "../../crds/spec.ts";
import type { CurrentMigrationPlan } from "../../crds/status/index.ts";
import type { Work as JobWork } from "../../workload/operation.ts";
import type { FamilyName, Status } from "../families/types.ts";
import type { Frame } from "./frames.ts";
import { directoryOf, matched, revisionsOf, tableOf } from "./revisions.ts";
import type { Content } from "./values.ts";
import type { Plan, World } from "./world.ts";

/** What somebody else may do to a database, in prose, and the state it leaves. */
export type Foreign = readonly [say: string, state: string];

export interface Played {
  /** State of a database before anything ran, and of a second one that a Secret may come to name. */
  readonly untouched: string;
  readonly elsewhere: string;
  /** Whether a reading says enough of a database to settle a record that ran on it. */
  readonly settles: (frame: Frame) => boolean;
  /** Also a reading of an ordinary cycle settles a record, not only the record's own. */
  readonly anyReadingSettles: boolean;
  /** Whether a person's mark in metadata settles in this world, beside words that are objects. */
  readonly markSettles: (world: World) => boolean;
  /** Whether a database is what a content declares. */
  readonly reached: (state: string, content: Content) => boolean;
  /** What is wrong with the work of an Apply's Job for this plan, or undefined. */
  readonly carries: (world: World, work: JobWork, plan: Plan) => string | undefined;
  /** Whether a plan still continues what status says was read last. */
  readonly continues: (status: Status | undefined, plan: Plan) => boolean;
  /** Whether status says of an Apply that it ended and owes nothing. */
  readonly closed: (status: Status, operationID: string) => boolean;
  readonly foreign: (state: string, content: Content) => readonly Foreign[];
  /** What repairs what a fault left in the database. */
  readonly repairs: (state: string) => readonly Foreign[];
}

const schema: Played = {
  untouched: "empty",
  elsewhere: "empty",
  // A Plan that meets a protected table has read that changes are left.
  settles: (f) => f.type === "Plan" && (f.outcome === "ok" || f.outcome === "protected"),
  anyReadingSettles: false,
  markSettles: () => true,
  reached: (state, content) => state === content,
  carries(world, work, plan) {
    if (work.type !== "Apply" || work.family === "migration") return "the Apply's Job is of another family";
    const spec = plan.spec as PtahSchemaPlanSpec;
    const projected = plan.chunks.every((c) =>
      world.projections.some((p) => p.planUID === plan.uid && p.digest === c.digest),
    );
    const whole = projected && work.plan.chunkConfigMaps.length === plan.chunks.length;
    if (!whole) return "the Apply's Job does not mount the plan's chunks";
    return work.plan.contentDigest === spec.contentDigest ? undefined : "the Apply's Job carries another plan's text";
  },
  continues: () => true,
  closed: () => false,
  foreign: (state) => (state === "foreign" ? [] : [["somebody else changes the database", "foreign"]]),
  repairs: () => [],
};

const OWES_NOTHING: ReadonlySet<string> = new Set(["Applied", "UpToDate", "Failed"]);

const migration: Played = {
  untouched: tableOf(0),
  elsewhere: tableOf(2),
  settles: (f) => f.type === "History" && f.outcome === "ok" && matched(f.state, f.desired),
  anyReadingSettles: true,
  markSettles: (world) => world.resource?.deleting === true,
  reached: (state, content) => matched(state, content),
  carries(_world, work, plan) {
    if (work.type !== "Apply" || work.family !== "migration") return "the Apply's Job is of another family";
    const spec = plan.spec as PtahMigrationPlanSpec;
    const same =
      work.plan.migrations.length === spec.migrations.length &&
      spec.migrations.every((step, at) => {
        const carried = work.plan.migrations[at];
        return carried?.version === step.version && carried.checksum === step.checksum;
      });
    if (!same || work.plan.sequenceDigest !== spec.contentDigest) return "the Apply's Job carries another sequence";
    if (work.source.contentDigest !== spec.source.contentDigest) return "the Apply's Job mounts another directory";
    return work.plan.historyFingerprint === spec.historyFingerprint
      ? undefined
      : "the Apply's Job names another history than its plan's";
  },
  continues: (status, plan) =>
    status?.history?.fingerprint === (plan.spec as Partial<CurrentMigrationPlan>).historyFingerprint,
  closed: ({ lastRun }, id) => lastRun?.operationID === id && OWES_NOTHING.has(lastRun.outcome),
  foreign(state, content) {
    const { applied, dirty, modified } = revisionsOf(state);
    const last = directoryOf(content).at(-1) ?? 0;
    const all: readonly (Foreign | undefined)[] = [
      applied > 0 ? ["a restore sets the database back", tableOf(applied - 1)] : undefined,
      applied < last && !dirty ? ["somebody records the next version as done", tableOf(applied + 1)] : undefined,
      applied < last && !dirty ? ["somebody's own run leaves a row unfinished", tableOf(applied, "!")] : undefined,
      applied > 0 && !modified && !dirty ? ["somebody edits an applied row", tableOf(applied, "*")] : undefined,
    ];
    return all.filter((one) => one !== undefined);
  },
  repairs(state) {
    const { applied, dirty, modified } = revisionsOf(state);
    if (modified) return [["ann puts the applied row right", tableOf(applied)]];
    if (!dirty) return [];
    return [
      ["ann undoes the unfinished version and clears its row", tableOf(applied)],
      ["ann completes the unfinished version and clears its row", tableOf(applied + 1)],
    ];
  },
};

export const PLAYED: Readonly<Record<FamilyName, Played>> = { schema, migration };

/** The row of the family whose resource a world holds. */
export const playedIn = (world: World): Played => PLAYED[world.resource?.family ?? "schema"];
