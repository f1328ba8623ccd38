/** The plan of a migration: believed only when every reference and digest agrees, then shown as versions and checksums. */
import { bareCommandFor, commandFor } from "../crds/commands.ts";
import { normalizeEngine } from "../crds/engine.ts";
import { migrationPlanFingerprint, sequenceDigest } from "../crds/fingerprints.ts";
import type { PtahMigrationPlan } from "../crds/ptahmigrationplan.ts";
import { PLAN_CONTRACT_FILES } from "../crds/spec.ts";
import type { MigrationStep } from "../crds/status/index.ts";
import { type Custom, custom, orAbsent } from "../kube/index.ts";
import { failedBeforeLines } from "./failedbefore.ts";
import { failed, nothingStored } from "./failure.ts";
import type { Migration } from "./families.ts";
import { type Named, noPlan, ownedBy, type PlanChoice } from "./load.ts";
import type { Session } from "./session.ts";
import { field, instant, table, visible, visibleLine } from "./text.ts";

export type MigrationPlan = Custom<PtahMigrationPlan>;

/** What `status` says is the plan asked for; for `applied` the one that the last run carried out. @throws Failure (nothing stored) */
function namedPlan(migration: Migration, choice: PlanChoice): Named {
  const { status } = migration;
  if (choice === "current") {
    if (status?.plan === undefined) throw noPlan(migration);
    return status.plan;
  }
  const { lastRun } = status ?? {};
  if (lastRun?.plan === undefined || lastRun.outcome !== "Applied") throw nothingStored(insteadOf(migration));
  return lastRun.plan;
}

/** What there is instead of an applied plan. */
function insteadOf({ metadata, status }: Migration): string {
  const { lastRun, resolvedRun } = status ?? {};
  if (lastRun === undefined) return `PtahMigration ${metadata.name} has no applied plan: nothing was run yet`;
  const settled = resolvedRun?.operationID === lastRun.operationID ? ` and is settled (${resolvedRun.resolution})` : "";
  return (
    `the last run of PtahMigration ${metadata.name} did not apply its plan whole: it ended ${lastRun.outcome}${settled}. ` +
    `${bareCommandFor("migration", metadata)} shows what the database holds, ` +
    `${commandFor("journal", "migration", metadata)} what happened`
  );
}

/**
 * The plan that stands, or the one that the last run applied.
 * @throws Failure: nothing stored (3) when there is none, failed (1) when something does not agree
 */
export async function loadMigrationPlan(
  session: Session,
  migration: Migration,
  choice: PlanChoice = "current",
): Promise<MigrationPlan> {
  const named = namedPlan(migration, choice);
  const at = { namespace: session.namespace, name: named.name };
  const kind = custom.PtahMigrationPlan.typed;
  const plan = await orAbsent(session.client.get(kind, at, { timeoutMs: session.requestMs }));
  if (plan === undefined) throw nothingStored(`the ${choice} plan ${named.name} is no longer stored`);
  const wrong = whatIsWrong(migration, plan, named);
  if (wrong !== undefined) throw failed(`plan ${named.name} ${wrong}; nothing is printed`);
  return plan;
}

/** Ours is the plan the status names, of this very migration, whole; its digests are computed here again. */
function whatIsWrong(migration: Migration, plan: MigrationPlan, named: Named): string | undefined {
  const { spec, metadata, status } = plan;
  const { uid } = migration.metadata;
  if (spec.contractVersion > PLAN_CONTRACT_FILES) return "follows a newer contract than this plugin knows";
  if (metadata.uid !== named.uid) return "is another object than the status names";
  if (spec.fingerprint !== named.fingerprint) return "has another fingerprint than the status names";
  if (spec.migrationRef.uid !== uid) return "belongs to another PtahMigration";
  if (!ownedBy(plan, "PtahMigration", uid)) return "is not owned by its PtahMigration";
  const ready = status?.conditions?.find((condition) => condition.type === "Ready");
  if (ready?.status !== "True") return "is not completely published";
  if (spec.stepCount !== spec.migrations.length) return "has another number of versions than it records";
  if (sequenceDigest(spec.migrations) !== spec.contentDigest) return "has another sequence than its digest says";
  return migrationPlanFingerprint({ ...spec, migrationUid: uid }) === spec.fingerprint
    ? undefined
    : "is bound to something else than its fingerprint says";
}

/** The plan as text: what it is, then the versions in the order they run. */
export function migrationPlanText(migration: Migration, plan: MigrationPlan, choice: PlanChoice): string {
  const { spec, metadata } = plan;
  const ran = choice === "applied" ? migration.status?.lastRun?.finishedAt : undefined;
  const lines = [
    ...field("Migration", `${metadata.namespace ?? ""}/${spec.migrationRef.name}`),
    ...field("Plan", `${choice} (${metadata.name})`),
    ...field("Fingerprint", spec.fingerprint),
    ...field("Sequence", spec.contentDigest),
    ...field("Source", spec.source.contentDigest),
    ...field("History", spec.historyFingerprint),
    ...field("From version", spec.currentVersion),
    ...field("Versions", spec.stepCount),
    ...field("Stored", instant(metadata.creationTimestamp)),
    ...field("Applied", instant(ran)),
    ...(choice === "current" ? failedBeforeLines(migration) : []),
    "",
    ...stepLines(migration, spec.migrations),
    "",
    ...sequenceNotes(migration),
  ];
  return `${lines.join("\n")}\n`;
}

/** The versions in the order they run, with checksum and transaction mode. */
export function stepLines(migration: Migration, steps: readonly MigrationStep[]): string[] {
  const rows = steps.map((step) => [
    `  ${visible(step.versionKey ?? String(step.version))}${step.checkpoint === true ? " [checkpoint]" : ""}`,
    visibleLine(step.description ?? ""),
    modeOf(migration, step),
    visible(step.checksum),
  ]);
  return table([["  VERSION", "DESCRIPTION", "TRANSACTION", "CHECKSUM"], ...rows]);
}

/** As the executor groups it: mode `none` of the policy counts for every file, else the file's own word. */
function modeOf({ spec }: Migration, { transactionMode }: MigrationStep): string {
  return spec.policy.transactionMode === "none" ? "none" : (transactionMode ?? "file");
}

/** What the versions alone do not say. */
export function sequenceNotes({ spec }: Migration): string[] {
  return [
    "A plan of migrations holds versions and checksums, no SQL: it stays in the source, where these checksums name the files.",
    ...(normalizeEngine(spec.target.engine) === "mysql"
      ? [
          "MySQL and MariaDB commit every DDL statement at once: a file that fails half-way stays half-way, in either mode.",
        ]
      : []),
  ];
}
