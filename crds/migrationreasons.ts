/** Condition reasons that only a PtahMigration, its approvals or its acknowledgments have. */
import { NOTHING, PATCHES, r } from "./reason.ts";

const WAIT = "Nothing to do; kubectl ptah wait migration/NAME returns when it is over.";
const REFRESH = "kubectl ptah refresh migration/NAME --wait";
const REFUSED = ["Blocked=True", "Ready=False", "Progressing=False", "Stalled=True"] as const;

export const MIGRATION_REASONS = [
  r(
    "HistoryMatched",
    ["Ready=True", "Blocked=False", "Progressing=False"],
    "A fresh read of the history found nothing pending.",
    "nobody",
    NOTHING,
  ),
  r(
    "MigrationsPending",
    ["Ready=False", "Blocked=False", "Progressing=True"],
    "The source holds versions that the database has not applied.",
    "nobody",
    "kubectl ptah migration NAME",
  ),
  r(
    "HistoryDirty",
    REFUSED,
    "A failed or interrupted migration left its row in the revision table.",
    "database administrator",
    "Mend what it left in the database and clear its row with ptah migrations repair or set: kubectl ptah migration NAME prints " +
      `the command (docs/migration-runs.md has a worked example). Then ${REFRESH} (${PATCHES})`,
  ),
  r(
    "HistoryModified",
    REFUSED,
    "The file of an applied migration is not the one that was applied.",
    "author",
    "Put back the files the message names, and make the change in a new version. Where the file is right and its row is wrong, a database administrator records it as it is: ptah migrations repair --version N --force",
  ),
  r(
    "HistoryOutOfOrder",
    REFUSED,
    "A pending version is below one that is applied.",
    "author",
    "Give the versions the message names a number above every applied one.",
  ),
  r(
    "HistoryAhead",
    REFUSED,
    "The database has applied a version that the source does not hold.",
    "author",
    "Use a source that holds every applied version.",
  ),
  r(
    "VerifyingHistory",
    ["Ready=False", "Progressing=True", "Reconciling=True"],
    "The run ended; a fresh read of the history says what it did.",
    "nobody",
    WAIT,
  ),
  r(
    "RunAcknowledged",
    ["Consumed=True", "Blocked=False"],
    "A person acknowledged the run; its hold is over and the history is read again.",
    "nobody",
    WAIT,
  ),
  r(
    "RunNotUnresolved",
    ["Stale=True"],
    "The acknowledgment names a run that nobody waits for.",
    "database administrator",
    "kubectl ptah migration NAME shows the run that is held, if any; kubectl ptah acknowledge NAME names that one.",
  ),
];
