/** `kubectl ptah migration`: where a migration is, what is pending, how the last run ended and what to do next. */
import { migrationWayOut } from "../crds/commands.ts";
import type { MigrationHistory } from "../crds/status/index.ts";
import { isKubeError } from "../kube/index.ts";
import { nobodyLooks, unseenOf } from "./attention.ts";
import { EXIT, type ExitCode, Failure, failureOf } from "./failure.ts";
import type { Migration, Target } from "./families.ts";
import { refusedFiles, refusedSentence } from "./migrationfiles.ts";
import { loadMigrationPlan, type MigrationPlan, sequenceNotes, stepLines } from "./migrationplan.ts";
import {
  conditionLines,
  nextLines,
  type OwnColumn,
  operationJson,
  operationOf,
  standingJson,
  standingLines,
  unsettledJson,
  unsettledOf,
} from "./resourceview.ts";
import { dirtyOf, runLines, versionsOf } from "./runview.ts";
import { readResource, type Session } from "./session.ts";
import { field, instant, table, visible, visibleLine } from "./text.ts";

/** What only a migration's list has. */
export const MIGRATION_COLUMNS: readonly OwnColumn<Migration>[] = [
  { head: "CURRENT", key: "currentVersion", of: ({ status }) => status?.history?.currentVersion },
  { head: "PENDING", key: "pendingCount", of: ({ status }) => status?.history?.pendingCount },
  {
    head: "LAST RUN",
    key: "lastRunOutcome",
    of: ({ status }) => status?.lastRun?.outcome,
    text: ({ status }) => status?.lastRun && `${status.lastRun.outcome}${isSettled(status) ? " (settled)" : ""}`,
  },
];

/** The run that nobody could account for at first is accounted for. */
const isSettled = ({ lastRun, resolvedRun }: NonNullable<Migration["status"]>): boolean =>
  lastRun !== undefined && resolvedRun?.operationID === lastRun.operationID;

/** What was read for one view. */
interface Seen {
  readonly migration: Migration;
  readonly silence: string | undefined;
  readonly warning: string | undefined;
  /** The plan that stands, or why it is not shown; neither where none stands. */
  readonly plan: MigrationPlan | undefined;
  readonly unshown: string | undefined;
}

/** Prints one migration. @throws Failure */
export async function printMigration(
  session: Session,
  target: Target<Migration>,
  output: "text" | "json",
): Promise<ExitCode> {
  const seen = await look(session, await readResource(session, target));
  session.io.stdout(output === "json" ? jsonOf(seen) : `${migrationLines(session, seen).join("\n")}\n`);
  return EXIT.printed;
}

async function look(session: Session, migration: Migration): Promise<Seen> {
  const silence = await nobodyLooks(session, unseenOf(migration, session.io.nowMs()));
  const warning = refusedSentence(await refusedFiles(session, migration));
  const seen = { migration, silence, warning, plan: undefined, unshown: undefined };
  if (migration.status?.plan === undefined) return seen;
  try {
    return { ...seen, plan: await loadMigrationPlan(session, migration) };
  } catch (error) {
    // Everything else of the migration is worth showing without it.
    if (error instanceof Failure || isKubeError(error, "Forbidden"))
      return { ...seen, unshown: failureOf(error).message };
    throw error;
  }
}

function migrationLines(session: Session, { migration, silence, warning, plan, unshown }: Seen): string[] {
  const { spec, status } = migration;
  const { colors } = session;
  const mode = spec.policy.transactionMode;
  return [
    ...standingLines("Migration", migration, silence, colors),
    ...field("Warning", warning && colors.yellow(warning)),
    ...field("Engine", spec.target.engine),
    ...field("Policy", `apply ${spec.policy.apply}${mode === undefined ? "" : `, transactions ${mode}`}`),
    ...field("Source", status?.artifact === undefined ? undefined : visible(status.artifact.requestedReference)),
    ...field("Content", status?.artifact?.contentDigest),
    ...historyLines(status?.history),
    ...field("Next read", instant(status?.nextReconciliationTime)),
    ...field("Operation", operationOf(migration)),
    ...field("Plan", status?.plan?.name),
    ...field("Unresolved run", unsettledOf(status?.unresolvedRun)),
    ...field("Held until", heldUntil(migration)),
    ...field("Resolved run", resolvedOf(migration)),
    ...(status?.lastRun === undefined ? [] : ["", ...runLines(status.lastRun, status.resolvedRun)]),
    ...pendingLines(migration, plan, unshown),
    ...revisionLines(status?.history),
    ...conditionLines(migration, [["Run message", status?.lastRun?.message]]),
    ...nextLines(migration),
  ];
}

/** Everything the history's verdict is made of. */
function historyLines(history: MigrationHistory | undefined): string[] {
  if (history === undefined) return field("History", "not read yet");
  const { totalCount, sourceVersion, currentVersion } = history;
  const behind = sourceVersion !== undefined && currentVersion > sourceVersion;
  return [
    ...field("History read", instant(history.observedAt)),
    ...field("Current version", currentVersion),
    ...field("Source version", behind ? `${sourceVersion}: the database is ahead of it` : sourceVersion),
    ...field("Checkpoint", history.checkpointVersion),
    ...field("Applied", totalCount === undefined ? history.appliedCount : `${history.appliedCount} of ${totalCount}`),
    ...field("Pending", history.pendingCount),
    ...field("Dirty", dirtyOf(history)),
    ...field("Modified", versionsOf(history.modifiedVersions)),
    ...field("Out of order", versionsOf(history.outOfOrderVersions)),
    ...field("Ahead", versionsOf(history.aheadVersions)),
    ...field("History", history.fingerprint),
  ];
}

/** How the hold of a run ends, whatever the history's own verdict advises. */
function heldUntil({ status, metadata }: Migration): string | undefined {
  if (status?.unresolvedRun === undefined) return undefined;
  const wayOut = migrationWayOut(metadata, metadata.deletionTimestamp !== undefined);
  return `a read with nothing pending settles it, or ${wayOut}`;
}

function resolvedOf({ status }: Migration): string | undefined {
  const run = status?.resolvedRun;
  if (run === undefined) return undefined;
  const by = run.by === undefined ? "" : ` by ${visible(run.by.username)}`;
  return `${visible(run.outcome)}, ${run.resolution}${by} at ${instant(run.resolvedAt)} (${run.operationID})`;
}

function pendingLines(migration: Migration, plan: MigrationPlan | undefined, unshown: string | undefined): string[] {
  if (unshown !== undefined) return ["", ...field("Pending", `the plan is not shown: ${unshown}`)];
  if (plan === undefined) return [];
  const { migrations, currentVersion } = plan.spec;
  return [
    "",
    `Pending after version ${currentVersion}, in this order:`,
    ...stepLines(migration, migrations),
    ...sequenceNotes(migration),
  ];
}

/** The newest rows of the revision table, as they are. */
function revisionLines(history: MigrationHistory | undefined): string[] {
  const revisions = history?.revisions ?? [];
  if (revisions.length === 0) return [];
  const rows = revisions.map((row) => [
    `  ${row.version}`,
    visible(row.state),
    row.applied === undefined ? "" : `${row.applied}/${row.total ?? "?"}`,
    instant(row.appliedAt) ?? "",
    row.executionMillis === undefined ? "" : `${row.executionMillis} ms`,
    visibleLine(row.description ?? ""),
    visible(row.checksum ?? ""),
  ]);
  const head = ["  VERSION", "STATE", "STATEMENTS", "APPLIED", "TOOK", "DESCRIPTION", "CHECKSUM"];
  return ["", "Newest revisions of the database:", ...table([head, ...rows])];
}

function jsonOf({ migration, silence, warning, plan, unshown }: Seen): string {
  const { status, spec } = migration;
  const content = {
    ...standingJson("Migration", migration, silence),
    warnings: warning === undefined ? [] : [warning],
    policy: spec.policy,
    engine: spec.target.engine,
    artifact: status?.artifact,
    history: status?.history,
    operation: operationJson(migration),
    plan: status?.plan && { ...status.plan, migrations: plan?.spec.migrations, notShown: unshown },
    lastRun: status?.lastRun,
    unresolvedRun: unsettledJson(status?.unresolvedRun),
    resolvedRun: status?.resolvedRun,
    nextReconciliationTime: status?.nextReconciliationTime,
    conditions: status?.conditions ?? [],
  };
  return `${JSON.stringify(content, undefined, 2)}\n`;
}
