/** A directory of migrations and a database that runs it, for unit tests. */
import type { MigrationHistory, MigrationRecord, MigrationRun } from "../workload/migration.ts";
import type { OperationSpec, Work } from "../workload/operation.ts";
import type { OperationResult } from "../workload/result.ts";

export const RUN_SPEC = {
  target: { engine: "MySQL", coordinationKey: "orders", urlFrom: { name: "db", key: "url" } },
  artifact: { configMap: { name: "orders-migrations" } },
};

const recordOf = (version: number, state: MigrationRecord["state"]): MigrationRecord => ({
  version,
  description: `step ${version}`,
  checksum: `h1:${version}`,
  state,
});

/** A history of some versions; the first `applied` of them are in the database. */
export function historyOf(
  versions: readonly number[],
  applied: number,
  change: Partial<MigrationHistory> = {},
): MigrationHistory {
  const pending = versions.slice(applied);
  return {
    contractVersion: 1,
    currentVersion: versions[applied - 1] ?? 0,
    totalMigrations: versions.length,
    hasPendingChanges: pending.length > 0,
    pendingMigrations: pending,
    migrations: versions.map((version, at) => recordOf(version, at < applied ? "applied" : "pending")),
    ...change,
  };
}

export const applied = (versions: readonly number[]): MigrationRun => ({
  contractVersion: 1,
  outcome: versions.length === 0 ? "up-to-date" : "applied",
  planned: [...versions],
  applied: [...versions],
});

export interface Directory {
  versions: number[];
  applied: number;
  /** What a history shows besides. */
  odd: Partial<MigrationHistory>;
  /** How the next run ends, where it does not apply everything. */
  run?: Partial<OperationResult> | undefined;
  runs: number;
}

/** A database that runs what is pending of a directory. */
export function directory(versions: readonly number[]) {
  const state: Directory = { versions: [...versions], applied: 0, odd: {}, runs: 0 };
  const answer = ({ work }: OperationSpec<Work>): Partial<OperationResult> => {
    if (work.type === "History") return { migrationHistory: historyOf(state.versions, state.applied, state.odd) };
    if (work.type !== "Apply" || work.family !== "migration") return {};
    state.runs += 1;
    if (state.run !== undefined) return state.run;
    const wanted = work.plan.migrations.map((step) => step.version);
    state.applied = state.versions.length;
    return { migrationRun: applied(wanted) };
  };
  return { state, answer };
}

/** A run that ended otherwise. */
export function ended(
  outcome: "failed" | "partial" | "unknown",
  planned: readonly number[],
  change: Partial<MigrationRun> = {},
): Partial<OperationResult> {
  return {
    migrationRun: { contractVersion: 1, outcome, planned: [...planned], applied: [], ...change },
    error: { code: "migration_failed", message: "The run did not end as it should." },
    childExitCode: 1,
    mutationStarted: true,
    ...(outcome === "failed" ? {} : { uncertain: true }),
  };
}
