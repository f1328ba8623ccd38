/** Why the executor refuses a migration directory, a history or a run: by code, and what to do about it. */
import type { OperationCode } from "./codes.ts";
import type { Actor } from "./reason.ts";

const FILE = "Correct the file the message names; the history is read again by itself.";
const DEFECT_OR_FLAG =
  "Of a Pod: report it with the version of the operator; it is tried again by itself. Of ptah migrations: correct what its flags name.";
const SPLIT = "Split the directory, or begin it with a checkpoint.";
const HASH = "Put back what was reviewed, or write ptah.sum again with ptah migrations hash.";
const TABLE = "Mend or move away the table; the message says how.";
const REREAD = "Nothing to do; the history is read again and planned anew.";
const REPAIR =
  "Look at what the migration left in the database; the message names the option of ptah migrations repair, and " +
  "docs/migration-runs.md has a worked example.";

const group = (
  who: Actor,
  next: string,
  codes: readonly (readonly [code: string, meaning: string])[],
): readonly OperationCode[] => codes.map(([code, meaning]) => ({ code, meaning, who, next, nothingSent: false }));

/** Refusals before a statement was sent, and those of the commands a person runs. */
export const MIGRATION_REFUSALS: readonly OperationCode[] = [
  ...group("author", FILE, [
    [
      "migration_file_unknown",
      "A file's name is not that of a migration: ten digits, _, a description, .up.sql or .down.sql.",
    ],
    ["migration_pair_incomplete", "A version lacks its up or its down file, or the two names differ."],
    ["migration_version_duplicate", "Two migrations have one version."],
    ["migration_version_invalid", "A migration has version 0; versions begin at 1."],
    ["migration_format_unsupported", "A file is of another tool's format: Atlas, repeatable or txtar."],
    [
      "migration_path_unsafe",
      "A path is a link, a special file, a directory in place of a file, or too long or too deep.",
    ],
    ["migration_not_text", "A file is not UTF-8 text."],
    ["migration_syntax", "A file cannot be split into statements, or has line ends that engines read differently."],
    [
      "migration_statement_refused",
      "A statement may not stand in a file of this transaction mode; the message names it.",
    ],
    ["migration_directive_invalid", "A directive of a file is malformed, misplaced, repeated or contradicts another."],
    ["migration_directive_unsupported", "A directive at the head of a file is known and not carried out."],
    ["transaction_mode_conflict", "A file asks to run outside a transaction under transaction mode all."],
    ["transaction_mode_unsupported", "Transaction mode all does not exist for MySQL and MariaDB."],
  ]),
  ...group("author", "Let the directory be written to (mode, volume, space), then run ptah migrations hash again.", [
    ["migration_sum_unwritable", "ptah.sum cannot be written into the directory."],
  ]),
  ...group("author", HASH, [
    ["migration_sum_mismatch", "A file differs from ptah.sum, is missing, or is not listed there."],
    ["migration_sum_invalid", "ptah.sum cannot be read."],
    ["migration_sum_missing", "There is no ptah.sum and one is required."],
  ]),
  ...group("author", SPLIT, [
    ["migration_directory_too_large", "The directory has more files or bytes than one resource may have."],
    ["too_many_pending", "More versions are pending than one run applies (256)."],
  ]),
  ...group("author", "Use the directory that was applied, and make changes in new, higher versions.", [
    ["history_modified", "The file of an applied migration is not the one that was applied."],
    ["history_ahead", "The database records a version that the directory does not hold."],
    ["history_out_of_order", "A pending version is below one that is applied."],
  ]),
  ...group("operator administrator", DEFECT_OR_FLAG, [
    ["migrations_missing", "No migration directory was given."],
    ["migration_directory_unreadable", "The migration directory is not there or cannot be read."],
    ["invalid_sequence", "The approved sequence in the Pod cannot be read."],
  ]),
  ...group("author", "Correct the rows or the file, then clear the version's row as its message says.", [
    ["commit_refused", "All statements ran, and the server refused the commit: a deferred constraint, a conflict."],
  ]),
  ...group("database administrator", "Change the server's or the role's own setting as the message says.", [
    ["sql_mode_unsupported", "MariaDB's sql_mode holds ORACLE, in which files are not read."],
    [
      "session_not_restored",
      "A file left a setting in its session that its user may not put back; the versions behind it stay pending.",
    ],
  ]),
  ...group("nobody", REREAD, [
    [
      "sequence_mismatch",
      "What is pending is not what was approved; nothing was sent. A restored or changed history ends here.",
    ],
  ]),
  ...group("database administrator", TABLE, [
    ["revision_table_foreign", "The revision table's name belongs to a table or type of another tool."],
    [
      "revision_table_unsuitable",
      "What has the revision table's name is a view or a type, is temporary or unlogged, or has no unique key on version.",
    ],
    ["revision_table_engine", "The revision table is not InnoDB, so it cannot record progress."],
    ["revision_table_too_large", "The revision table has more rows than are read."],
    [
      "revision_row_unreadable",
      "A row of the revision table contradicts itself, has no positive version, or has one that another row has too.",
    ],
    [
      "revision_row_unwritten",
      "The server refused a row of the revision table, or did not take it: a privilege, a trigger, a rule, a row policy.",
    ],
    ["revision_table_denied", "The database's user lacks a privilege on the revision table or its schema."],
    ["revision_schema_missing", "The schema of the revision table does not exist."],
  ]),
  ...group("database administrator", REPAIR, [
    ["history_dirty", "A failed or interrupted migration left its row behind."],
    ["rollback_interrupted", "The row is of a rollback that stopped; rollbacks are not run here."],
    ["revision_missing", "ptah migrations repair: the version has no row."],
    ["revision_not_dirty", "ptah migrations repair: the version is not dirty."],
    ["repair_incomplete", "ptah migrations repair: the migration stopped half-way, or its file is another one now."],
    ["resume_out_of_range", "ptah migrations repair: the file has no such statement."],
    ["resume_mismatch", "ptah migrations repair: another statement follows the recorded ones."],
    ["resume_unknown", "ptah migrations repair: whether that statement took effect is not recorded."],
    [
      "resume_session_lost",
      "ptah migrations repair: statements that are kept made a setting, a variable, a temporary table or a lock that ended with their session.",
    ],
    ["resume_file_changed", "ptah migrations repair: the committed statements are not the file's beginning any more."],
    ["version_unknown", "The directory has no such version."],
    [
      "checkpoint_unfinished",
      "ptah migrations set: the database was begun at a checkpoint that did not finish, so no version below it was run.",
    ],
    ["history_not_empty", "ptah migrations baseline: the database already has a history."],
    ["shadow_db_unsupported", "ptah migrations baseline: verification by a shadow database is not there."],
  ]),
];
