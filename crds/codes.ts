/**
 * Codes that stand in messages and in the Pod's termination message: what an operation ended with, and what the executor refused.
 * `kubectl ptah explain <code>` and docs/reasons.md are this table.
 */
import { MIGRATION_REFUSALS } from "./migrationcodes.ts";
import { type Actor, APPROVE, REFRESH, SAME_WAY } from "./reason.ts";

export interface OperationCode {
  readonly code: string;
  readonly meaning: string;
  readonly who: Actor;
  readonly next: string;
  /** An Apply that ended with it sent nothing to the database. */
  readonly nothingSent: boolean;
}

const AGAIN = "Nothing to do; it is tried again after spec.execution.failureRetryInterval.";
const FAILED =
  `Correct the rows or the declaration that the message speaks of, ${SAME_WAY}. Then ${REFRESH} ` +
  `has the database read again, and the plan that waits then is looked at and approved: ${APPROVE}`;
const READ = "Nothing to do; a fresh read says what the database holds.";
const PLANNED = "Nothing to do; what the database needs is planned again.";
const LOG = "It is tried again by itself. If it stays: kubectl logs of the Pod the Event names.";
const DEFECT = "Report it with the version of the operator; it is tried again by itself.";
const IMAGE = "Check that --executor-image and --runner-image are images of this version.";
const URL = "Correct the database URL in the Secret that spec.target.urlFrom names; it is tried again by itself.";

const c = (code: string, meaning: string, who: Actor = "nobody", next: string = AGAIN): OperationCode => ({
  code,
  meaning,
  who,
  next,
  nothingSent: false,
});

/** A code with which nothing was sent. */
const unsent = (...entry: Parameters<typeof c>): OperationCode => ({ ...c(...entry), nothingSent: true });

const PLANNING = [
  c(
    "plan_refused",
    "Nothing is planned: a file has a mistake, or the declaration or the database holds something the executor does not manage.",
    "author",
    "Change what the message names: file and line, or the object; what the database holds and others keep is for spec.policy.exclude.",
  ),
  c(
    "protected_table",
    "The change would touch a table of spec.policy.protectedTables.",
    "author",
    "Change the declaration so that the table stays as it is, or take it off spec.policy.protectedTables.",
  ),
  c(
    "plan_too_large",
    "The plan is larger than a plan may be (8 MiB).",
    "author",
    "Declare the change in smaller steps.",
  ),
  c("plan_failed", "The executor could not compute the plan.", "nobody", LOG),
  c("unstable_plan", "Two plans of the same inputs differed, so neither is published."),
  c(
    "credential_leak",
    "The plan would hold a credential of its own Pod.",
    "author",
    "Take the credential out of the declared schema.",
  ),
  c("invalid_plan_output", "The executor's plan is not one this version can publish.", "operator administrator", IMAGE),
  unsent(
    "server_version_changed",
    "The server is of another major version than the operation was prepared for; it is prepared anew.",
  ),
  c("scratch_not_ready", "The throwaway server that plans are proven on did not start.", "nobody", LOG),
  c("observe_failed", "The executor could not read the database.", "nobody", LOG),
  c("child_exit", "The executor ended without a report.", "nobody", LOG),
  c(
    "invalid_observed_state",
    "The executor's reading is not one this version understands.",
    "operator administrator",
    IMAGE,
  ),
  c("output_truncated", "The executor wrote more than a report may hold.", "nobody", LOG),
];

const CONNECTING = [
  c(
    "connection_failed",
    "The database could not be reached; the message says why.",
    "database administrator",
    "Check that the server runs and that the URL's address and certificate are right; it is tried again by itself.",
  ),
  c("authentication_failed", "The server refused the user or the password.", "author", URL),
  c("database_missing", "The server has no database of the URL's name.", "author", "Create it, or correct the URL."),
  unsent(
    "missing_target",
    "The Secret key that spec.target.urlFrom names is empty; of a command that a person runs: PTAH_DB_URL is not set.",
    "author",
    URL,
  ),
  unsent(
    "missing_ca",
    "The certificate bundle that spec.target.caFrom names is not there.",
    "author",
    "Create the ConfigMap or the key, or correct spec.target.caFrom; it is tried again by itself.",
  ),
  unsent("invalid_target", "The database URL cannot be used; the message says what of it.", "author", URL),
  unsent(
    "target_binding_mismatch",
    "The Secret points at another database than the plan was computed for; nothing was sent to it.",
    "author",
    "Wait for the next plan, or point the Secret back.",
  ),
  unsent(
    "coordination_binding_mismatch",
    "The Pod names another database realm than the plan was computed for; nothing was sent.",
    "nobody",
    PLANNED,
  ),
  unsent(
    "session_changed",
    "The connection was lost or went to another server before anything was sent.",
    "nobody",
    PLANNED,
  ),
];

const APPLYING = [
  unsent(
    "stale_plan",
    "The database is no longer what the plan was made from; nothing was sent.",
    "approver",
    "Look at the new plan before it is approved: kubectl ptah plan NAME",
  ),
  unsent("apply_refused", "The executor refused the plan before it sent anything.", "nobody", PLANNED),
  c(
    "apply_failed",
    "A statement failed, or the Apply was asked to end. The database rolled back what was open.",
    "author",
    FAILED,
  ),
  c(
    "apply_outcome_unknown",
    "Whether the Apply changed the database is not known. It is never run again.",
    "nobody",
    READ,
  ),
  c("invalid_apply_output", "The executor's account of the Apply cannot be read.", "nobody", READ),
  unsent(
    "dispatch_deadline_expired",
    "The Apply's Pod came up too late to begin; nothing was sent.",
    "nobody",
    PLANNED,
  ),
  unsent(
    "execution_deadline_expired",
    "The Apply's time was over before it began; nothing was sent.",
    "nobody",
    PLANNED,
  ),
  unsent(
    "plan_digest_mismatch",
    "The plan in the Pod is not the approved one; nothing was sent.",
    "operator administrator",
    DEFECT,
  ),
  unsent(
    "invalid_plan",
    "The approved plan cannot be read by this version; nothing was sent.",
    "operator administrator",
    IMAGE,
  ),
];

const MIGRATING = [
  c(
    "history_refused",
    "The history was not read: the migration directory or the revision table has something the executor does not accept.",
    "author",
    "Change what the message names.",
  ),
  c("history_failed", "The executor could not read the history.", "nobody", LOG),
  c(
    "invalid_migration_history_output",
    "The executor's history is not one this version understands.",
    "operator administrator",
    IMAGE,
  ),
  c("invalid_migration_run_output", "The executor's account of the run cannot be read.", "nobody", READ),
];

const RUNNING = [
  c(
    "execution_error",
    "The executor could not be started, or was stopped at its deadline or by the Pod's end.",
    "nobody",
    LOG,
  ),
  c("snapshot_mismatch", "The source snapshot in the Pod is not the one the operation is bound to.", "nobody", LOG),
  c(
    "runner_protocol_mismatch",
    "The runner speaks another protocol than the manager.",
    "operator administrator",
    IMAGE,
  ),
  c("prepare_plan", "The Pod's work directory cannot be used.", "operator administrator", LOG),
  c("executor_failed", "The executor failed in a way it has no word for.", "operator administrator", DEFECT),
  c("internal_error", "The runner failed; this is a defect of the operator.", "operator administrator", DEFECT),
  ...[
    "credential_in_arguments",
    "invalid_configuration",
    "invalid_coordination_binding",
    "invalid_input",
    "invalid_target_binding",
    "missing_coordination_binding",
    "missing_dispatch_deadline",
    "missing_execution_deadline",
    "missing_plan_binding",
    "missing_target_binding",
    "missing_termination_grace",
    "plan_binding_mismatch",
  ].map((code) =>
    unsent(
      code,
      "The Pod is not one the manager makes; nothing was sent to a database.",
      "operator administrator",
      DEFECT,
    ),
  ),
];

/** What an operation may end with, by code. */
export const OPERATION_CODES: readonly OperationCode[] = [
  ...PLANNING,
  ...CONNECTING,
  ...APPLYING,
  ...MIGRATING,
  ...RUNNING,
].sort((a, b) => (a.code < b.code ? -1 : 1));

/** Refusals of a plan or of the desired schema, and who does what about them. */
export const EXECUTOR_REFUSALS: readonly (readonly [code: string, meaning: string])[] = [
  [
    "invalid_schema",
    "A file does not parse, or the server refuses a statement; file and line are named. Correct the file.",
  ],
  ["unsupported_schema_format", "A file is not SQL (HCL, YAML, JSON). Write plain DDL."],
  ["not_a_declaration", "A statement does something instead of declaring something; file and line are named."],
  ["cluster_statement", "A statement concerns the whole cluster (roles, databases, tablespaces), not one database."],
  ["unmanaged_kind", "A statement makes a kind of object this version does not manage."],
  [
    "system_object",
    "A statement makes or changes what is the server's own or temporary (pg_catalog, information_schema, pg_temp); it is named.",
  ],
  [
    "credential_in_schema",
    "A password stands in the schema. Everybody who may read the schema could read it; set it by hand.",
  ],
  ["role_missing", "The schema names a role the target does not have. Roles are made by whoever runs the cluster."],
  ["extension_unavailable", "The scratch server's image cannot install an extension the schema names."],
  ["scratch_missing", "Planning needs a scratch server of the target's major version."],
  ["scratch_version_mismatch", "The scratch server is of another major version than the target."],
  ["server_version_changed", "The target is of another major version than this run was prepared for."],
  [
    "needs_written_migration",
    "The differ knows that PostgreSQL cannot make this change in place (the base type of a domain in use).",
  ],
  [
    "plan_fails_on_clone",
    "The server refuses a statement of the plan on a clone of the target's structure; position and SQLSTATE are named.",
  ],
  [
    "clone_not_reproduced",
    "The target's structure cannot be rebuilt on the scratch server, so nothing could be proven there.",
  ],
  ["not_managed", "After the plan something would still differ; it is named. It is in no kind this version manages."],
  ["plan_not_stable", "Planning again after the plan would find more to do."],
  ["protected-table", "The plan would change a table of spec.policy.protectedTables."],
  ["invalid_exclude", "An exclude selector cannot be honoured; it is named."],
  [
    "transaction_mode",
    "transactionMode all cannot hold: a statement must be committed before the next (a new enum value).",
  ],
  ["lock_timeout", "Another schema change holds the database's lock."],
  ["lock_not_exclusive", "The URL leads through a transaction pooler, where a lock protects nothing."],
  ["stale-plan", "The database is no longer what the plan was made from."],
  ["unsupported_server", "The server is older than the oldest supported version."],
  ["read_only_server", "The server is a standby; the URL has to name the primary."],
  ["scratch_privileges", "The scratch server's role may not create databases and roles."],
  ["schema_missing", "There is no .sql file to read."],
  ["schema_too_large", "The desired schema has more files or bytes than one resource may have."],
];

const underscored = (word: string): string => word.toLowerCase().replaceAll("-", "_");

/** The entry of a code, whatever its case and its dashes: an operation's own, else a refusal of the executor. */
export function explainCode(word: string): OperationCode | undefined {
  const known = [...OPERATION_CODES, ...MIGRATION_REFUSALS].find((entry) => entry.code === underscored(word));
  const refusal = EXECUTOR_REFUSALS.find(([code]) => underscored(code) === underscored(word));
  if (known !== undefined || refusal === undefined) return known;
  const [code, meaning] = refusal;
  return {
    code,
    meaning,
    who: "author",
    nothingSent: false,
    next: "The message names file, line or object; docs/refused-postgresql.md lists what is refused.",
  };
}
