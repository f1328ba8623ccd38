/** `kubectl ptah acknowledge`: a person who has looked in the database ends the hold of one run that nobody could account for. */
import { commandFor, migrationWayOut } from "../crds/commands.ts";
import { custom, isKubeError } from "../kube/index.ts";
import { confirm, type DecisionFlags } from "./ask.ts";
import { createNamed } from "./create.ts";
import { EXIT, type ExitCode, type Failure, failed, nothingStored } from "./failure.ts";
import type { Migration, Target, UnsettledRecord } from "./families.ts";
import { runText } from "./runchecks.ts";
import { readResource, type Session } from "./session.ts";
import { instant } from "./text.ts";
import { type Verdict, waitUntil } from "./wait.ts";

const CONSEQUENCE =
  "Acknowledging ends the hold of this one run. The history is read again; versions that are pending then are planned anew " +
  "and wait for their own decision. A dirty row still blocks until it is cleared.";

/** @throws Failure; nothing was acknowledged then, or its message says that the answer to the create was lost */
export async function acknowledge(
  session: Session,
  target: Target<Migration>,
  flags: DecisionFlags,
): Promise<ExitCode> {
  const { family, name } = target;
  const migration = await readResource(session, target);
  const record = family.record(migration);
  if (record === undefined) throw nothingHeld(migration);
  session.io.stdout(shown(session, migration, record));
  if (!flags.yes) {
    const question = "Have you established in the database what this run did?";
    await confirm(session.io, question, name);
  }
  const again = await readResource(session, target);
  if (!isSameRun(migration, record, again, family.record(again)))
    throw failed("another run is held, or none, than the one that was shown; nothing was acknowledged. Read again.");
  const stored = await createNamed(session, custom.PtahMigrationRunAcknowledgment.typed, {
    from: name,
    spec: { migrationRef: { name, uid: again.metadata.uid }, operationID: record.operationID },
    isIt: ({ spec }) => spec.operationID === record.operationID && spec.migrationRef.uid === again.metadata.uid,
  }).catch((error: unknown) => {
    throw whileTerminating(error, session, name);
  });
  session.io.stdout(
    `acknowledged: ${stored.metadata.name} for ${record.operationID}; the hold ends once nobody may still write\n`,
  );
  if (!flags.wait) return EXIT.printed;
  const over = `the hold of ${record.operationID} is over`;
  const judge = (seen: Migration): Verdict =>
    family.record(seen)?.operationID === record.operationID
      ? { state: "going" }
      : { state: "done", message: `${over}; ${commandFor("wait", "migration", seen.metadata)} follows what comes` };
  const gone = { uid: again.metadata.uid, gone: `${over}, and ${name} is gone` };
  const message = await waitUntil(session, target, flags.waitMs, judge, gone);
  session.io.stdout(`${message}\n`);
  return EXIT.printed;
}

/** Nothing can be created in a namespace that is being deleted; an annotation still can be written there. */
function whileTerminating(error: unknown, { namespace }: Session, name: string): unknown {
  if (!isKubeError(error, "Forbidden") || !error.message.includes("being terminated")) return error;
  return failed(
    `nothing was acknowledged: namespace ${namespace} is being deleted, and nothing can be created in it. ` +
      `Say the same with ${migrationWayOut({ name, namespace }, true)}`,
    error,
  );
}

function shown(session: Session, migration: Migration, record: UnsettledRecord): string {
  return `${runText(migration, record, session.io.nowMs())}\n\n${CONSEQUENCE}\n\n`;
}

/** The same attempt of the same plan of the same object: its operation, its plan and its Job. */
function isSameRun(
  before: Migration,
  record: UnsettledRecord,
  now: Migration,
  standing: UnsettledRecord | undefined,
): boolean {
  return (
    now.metadata.uid === before.metadata.uid &&
    standing?.operationID === record.operationID &&
    standing.plan?.uid === record.plan?.uid &&
    standing.job.name === record.job.name
  );
}

/** Why there is nothing to acknowledge, with what was last settled. */
function nothingHeld({ metadata, status }: Migration): Failure {
  const nothing = `no run of ${metadata.name} is held`;
  if (status?.activeOperation?.type === "Apply")
    return nothingStored(
      `${nothing}: one is under way (Job ${status.activeOperation.jobName}) and may yet end by itself`,
    );
  const last = status?.resolvedRun;
  if (last === undefined) return nothingStored(nothing);
  return nothingStored(
    `${nothing}; the last one, ${last.operationID}, was settled at ${instant(last.resolvedAt)} (${last.resolution})`,
  );
}
