import { alterTableRule } from "./alter-table.ts";
import { securityDefiner, securityInvoker } from "./definer.ts";
import { type Findings, nameParts } from "./findings.ts";
import { child, list, type Tree, text } from "./tree.ts";

/** Where a piece of SQL stands: run by the statement itself, or only stored by it (a routine's body, a rule's action). */
export interface Place {
  readonly runs: boolean;
}

/** What one statement kind of PostgreSQL's grammar means; `tree` are the node's own fields. */
export type Rule = (tree: Tree, found: Findings, place: Place) => void;

const nothing: Rule = () => undefined;
const unreadable =
  (reason: string): Rule =>
  (_, found) =>
    found.unreadable(reason);
/** Unreadable where it runs; a stored body may hold it, as it may hold any call. */
const unreadableWhereItRuns =
  (reason: string): Rule =>
  (_, found, place) => {
    if (place.runs) found.unreadable(reason);
  };
const warns =
  (reason: string): Rule =>
  (tree, found) => {
    found.raise("warning", reason);
    found.relation(child(tree, "relation"));
  };
const changes =
  (key: string): Rule =>
  (tree, found) =>
    found.relation(child(tree, key));

const role: Rule = (tree, found) => {
  for (const option of list(tree, "options")) {
    const name = text(child(option, "DefElem"), "defname");
    if (name === "password") found.credential();
    else if (["rolemembers", "addroleto", "adminmembers"].includes(name)) {
      found.privilege("RoleMembership", "changes role membership");
    }
  }
  const options = list(tree, "options").map((option) => text(child(option, "DefElem"), "defname"));
  const onlyMembers = options.length > 0 && options.every((name) => name === "rolemembers");
  // ALTER GROUP … ADD/DROP USER is membership alone; CREATE ROLE … ROLE x is both.
  if ("stmt_type" in tree || !onlyMembers) found.privilege("Role", "creates or alters a role");
};

const grant: Rule = (tree, found) => {
  if (tree["is_grant"] === true) found.privilege("Grant", "grants a privilege");
  else found.privilege("Revoke", "revokes a privilege");
  for (const object of list(tree, "objects")) if ("RangeVar" in object) found.relation(child(object, "RangeVar"));
};

/** Options of servers, user mappings and subscriptions whose names say that they hold a secret. */
const SECRET_OPTION = /pass|secret|token|credential|private|key_?id|access_?key/i;

const foreignOptions: Rule = (tree, found) => {
  for (const option of list(tree, "options")) {
    if (SECRET_OPTION.test(text(child(option, "DefElem"), "defname"))) found.credential();
  }
  found.raise("warning", "changes access to a foreign server");
};

const subscription: Rule = (tree, found) => {
  if (/password|:\/\/[^/]*:[^/]*@/i.test(text(tree, "conninfo"))) found.credential();
  found.raise("warning", "changes a subscription");
};

const TABLE_LIKE = new Set([
  "OBJECT_TABLE",
  "OBJECT_VIEW",
  "OBJECT_MATVIEW",
  "OBJECT_FOREIGN_TABLE",
  "OBJECT_SEQUENCE",
]);
const INSIDE_TABLE = new Set([
  "OBJECT_POLICY",
  "OBJECT_TRIGGER",
  "OBJECT_RULE",
  "OBJECT_TABCONSTRAINT",
  "OBJECT_COLUMN",
]);

const drop: Rule = (tree, found) => {
  const kind = text(tree, "removeType");
  const what = kind.replace("OBJECT_", "").replaceAll("_", " ").toLowerCase();
  found.raise("destructive", `drops: ${what}`);
  if (kind === "OBJECT_POLICY") found.privilege("RowSecurityPolicy", "drops a row security policy");
  for (const object of list(tree, "objects")) {
    if (TABLE_LIKE.has(kind)) found.named(nameParts(object));
    else if (INSIDE_TABLE.has(kind)) found.named(nameParts(object), 1);
  }
};

const comment: Rule = (tree, found) => {
  const kind = text(tree, "objtype");
  if (TABLE_LIKE.has(kind)) found.named(nameParts(child(tree, "object")));
  else if (INSIDE_TABLE.has(kind)) found.named(nameParts(child(tree, "object")), 1);
};

/** Row changes count where they run; a stored body that changes rows is what routines are for. */
const rows =
  (reason: string, severity: "destructive" | "info"): Rule =>
  (tree, found, place) => {
    if (!place.runs) return;
    found.raise(severity, reason);
    found.relation(child(tree, "relation"));
  };

const insert: Rule = (tree, found, place) => {
  rows("inserts rows", "info")(tree, found, place);
  if (place.runs && text(child(tree, "onConflictClause"), "action") === "ONCONFLICT_UPDATE") {
    found.raise("destructive", "overwrites rows");
  }
};

const truncate: Rule = (tree, found) => {
  found.raise("destructive", "truncates");
  for (const relation of list(tree, "relations")) found.relation(child(relation, "RangeVar"));
};

const setVariable: Rule = (tree, found) => {
  const name = text(tree, "name").toLowerCase();
  const all = ["VAR_RESET_ALL"].includes(text(tree, "kind"));
  if (name === "role" || name === "session_authorization" || all) found.privilege("Role", "changes the acting role");
  // It changes how the rest of the session's text is read, which this reader does not follow.
  if (["standard_conforming_strings", "backslash_quote", "client_encoding"].includes(name)) {
    found.unreadable("changes how SQL text is read");
  }
  if (name === "track_counts") found.unreadable("hides changed rows from the server's count");
};

const viewOptions: Rule = (tree, found) => {
  found.relation(child(tree, "view"));
  for (const option of list(tree, "options")) securityInvoker(child(option, "DefElem"), found);
  if (tree["replace"] === true) found.raise("warning", "replaces a view");
};

const copy: Rule = (tree, found) => {
  if (tree["is_program"] === true || text(tree, "filename") !== "")
    found.unreadable("copies from or to the server's host");
  if (tree["is_from"] === true) {
    found.raise("info", "inserts rows");
    found.relation(child(tree, "relation"));
  }
};

const rename: Rule = (tree, found) => {
  found.raise("warning", "renames an object");
  const kind = text(tree, "renameType");
  found.relation(child(tree, "relation"));
  if (kind === "OBJECT_ROLE") found.privilege("Role", "renames a role");
  if (kind === "OBJECT_POLICY") found.privilege("RowSecurityPolicy", "renames a row security policy");
};

const alterDomain: Rule = (tree, found) => {
  const subtype = text(tree, "subtype");
  // X: drop constraint, N: drop not null, T without a definition: drop default (PostgreSQL's parsenodes.h).
  const drops = subtype === "X" || subtype === "N" || (subtype === "T" && !("def" in tree));
  if (drops) found.raise("destructive", "drops a rule of a domain");
  else found.raise("warning", "changes a domain");
};

const alterFunction: Rule = (tree, found) => {
  for (const action of list(tree, "actions")) securityDefiner(child(action, "DefElem"), found);
  found.raise("info", "alters a routine");
};

const createIndex: Rule = (tree, found) => {
  found.relation(child(tree, "relation"));
  if (tree["unique"] === true && !found.isNewTable(child(tree, "relation"))) {
    found.raise("warning", "creates a unique index, which fails on duplicates");
  }
};

const createSchema: Rule = (tree, found) => {
  if ("authrole" in tree) found.privilege("Ownership", "creates a schema owned by another role");
};

const policy: Rule = (tree, found) => {
  found.privilege("RowSecurityPolicy", "changes a row security policy");
  found.relation(child(tree, "table"));
};

const publication: Rule = (tree, found) => {
  if (text(tree, "action") === "AP_DropObjects") found.raise("destructive", "drops a table from a publication");
  else found.raise("warning", "changes a publication");
};

const alterEnum: Rule = (tree, found) => {
  if (text(tree, "oldVal") !== "") found.raise("warning", "renames an enum value");
};

const tsConfiguration: Rule = (tree, found) => {
  if (text(tree, "kind") === "ALTER_TSCONFIG_DROP_MAPPING") found.raise("destructive", "drops a text search mapping");
  else found.raise("warning", "changes a text search configuration");
};

const operatorFamily: Rule = (tree, found) => {
  if (tree["isDrop"] === true) found.raise("destructive", "drops an operator family member");
};

const extensionContents: Rule = (tree, found) => {
  // +1 adds, -1 drops (PostgreSQL's parsenodes.h).
  if (tree["action"] === -1) found.raise("destructive", "drops an object from an extension");
  else found.raise("warning", "adds an object to an extension");
};

/** Its function runs within every later definition, also those of plans that nobody has to approve. */
const ENABLES_EVENT_TRIGGER = "lets a function run with every later change of the schema";

const alterEventTrigger: Rule = (tree, found) => {
  // D: disabled (PostgreSQL's event_trigger.h); every other letter enables it.
  if (text(tree, "tgenabled") === "D") found.raise("warning", "disables an event trigger");
  else found.raise("destructive", ENABLES_EVENT_TRIGGER);
};

const alterOwner: Rule = (_, found) => found.privilege("Ownership", "changes an owner");

/**
 * One rule per statement kind. A kind that is not here is not known to this reader and therefore unreadable, so a new
 * grammar cannot slip a statement past approval.
 */
export const RULES: Readonly<Record<string, Rule>> = {
  SelectStmt: (tree, found, place) => {
    if (place.runs) found.relation(child(child(tree, "intoClause"), "rel"));
  },
  InsertStmt: insert,
  UpdateStmt: rows("overwrites rows", "destructive"),
  DeleteStmt: rows("deletes rows", "destructive"),
  MergeStmt: rows("overwrites or deletes rows", "destructive"),
  SetOperationStmt: nothing,
  ReturnStmt: nothing,
  PLAssignStmt: nothing,
  CopyStmt: copy,
  TruncateStmt: truncate,
  CreateStmt: changes("relation"),
  CreateForeignTableStmt: nothing,
  CreateTableAsStmt: (tree, found) => found.relation(child(child(tree, "into"), "rel")),
  CreateSeqStmt: changes("sequence"),
  AlterSeqStmt: (tree, found) => {
    found.raise("warning", "changes a sequence");
    found.relation(child(tree, "sequence"));
  },
  AlterTableStmt: alterTableRule,
  AlterTableMoveAllStmt: warns("moves tables to another tablespace"),
  ReplicaIdentityStmt: nothing,
  IndexStmt: createIndex,
  ReindexStmt: warns("rebuilds an index"),
  ViewStmt: viewOptions,
  RefreshMatViewStmt: (tree, found) => {
    found.relation(child(tree, "relation"));
    found.raise("info", "refreshes a materialized view");
  },
  DropStmt: drop,
  DropdbStmt: (_, found) => found.raise("destructive", "drops a database"),
  DropTableSpaceStmt: (_, found) => found.raise("destructive", "drops a tablespace"),
  DropUserMappingStmt: (_, found) => found.raise("destructive", "drops a user mapping"),
  DropSubscriptionStmt: (_, found) => found.raise("destructive", "drops a subscription"),
  DropRoleStmt: (_, found) => {
    found.raise("destructive", "drops a role");
    found.privilege("Role", "drops a role");
  },
  DropOwnedStmt: (_, found) => {
    found.raise("destructive", "drops everything a role owns");
    found.privilege("Revoke", "revokes what a role was granted");
  },
  ReassignOwnedStmt: (_, found) => found.privilege("Ownership", "reassigns everything a role owns"),
  AlterOwnerStmt: alterOwner,
  GrantStmt: grant,
  AlterDefaultPrivilegesStmt: (tree, found, place) => grant(child(tree, "action"), found, place),
  GrantRoleStmt: (_, found) => found.privilege("RoleMembership", "changes role membership"),
  CreateRoleStmt: role,
  AlterRoleStmt: role,
  AlterRoleSetStmt: (_, found) => found.privilege("Role", "changes a role's settings"),
  VariableSetStmt: setVariable,
  VariableShowStmt: nothing,
  CreatePolicyStmt: policy,
  AlterPolicyStmt: policy,
  SecLabelStmt: warns("changes a security label"),
  AlterFunctionStmt: alterFunction,
  RenameStmt: rename,
  AlterObjectSchemaStmt: warns("moves an object to another schema"),
  AlterObjectDependsStmt: nothing,
  CommentStmt: comment,
  CreateSchemaStmt: createSchema,
  RuleStmt: warns("changes a rewrite rule"),
  CreateTrigStmt: warns("changes a trigger"),
  CreateEventTrigStmt: (_, found) => found.raise("destructive", ENABLES_EVENT_TRIGGER),
  AlterEventTrigStmt: alterEventTrigger,
  CreateDomainStmt: nothing,
  AlterDomainStmt: alterDomain,
  CompositeTypeStmt: nothing,
  CreateEnumStmt: nothing,
  AlterEnumStmt: alterEnum,
  CreateRangeStmt: nothing,
  AlterTypeStmt: warns("changes a type"),
  DefineStmt: nothing,
  CreateOpClassStmt: nothing,
  CreateOpFamilyStmt: nothing,
  AlterOpFamilyStmt: operatorFamily,
  AlterOperatorStmt: warns("changes an operator"),
  CreateCastStmt: warns("creates a cast"),
  CreateConversionStmt: nothing,
  CreateTransformStmt: nothing,
  AlterCollationStmt: nothing,
  CreateStatsStmt: nothing,
  AlterStatsStmt: nothing,
  AlterTSDictionaryStmt: warns("changes a text search dictionary"),
  AlterTSConfigurationStmt: tsConfiguration,
  CreateFdwStmt: foreignOptions,
  AlterFdwStmt: foreignOptions,
  CreateForeignServerStmt: foreignOptions,
  AlterForeignServerStmt: foreignOptions,
  CreateUserMappingStmt: foreignOptions,
  AlterUserMappingStmt: foreignOptions,
  ImportForeignSchemaStmt: warns("imports a foreign schema"),
  CreatePublicationStmt: publication,
  AlterPublicationStmt: publication,
  CreateSubscriptionStmt: subscription,
  AlterSubscriptionStmt: subscription,
  CreateExtensionStmt: warns("installs an extension"),
  AlterExtensionStmt: warns("updates an extension"),
  AlterExtensionContentsStmt: extensionContents,
  CreateAmStmt: warns("creates an access method"),
  LockStmt: nothing,
  ConstraintsSetStmt: nothing,
  ExplainStmt: nothing,
  VacuumStmt: nothing,
  ClusterStmt: warns("rewrites a table"),
  DeclareCursorStmt: nothing,
  FetchStmt: nothing,
  ClosePortalStmt: nothing,
  PrepareStmt: nothing,
  DeallocateStmt: nothing,
  NotifyStmt: nothing,
  ListenStmt: nothing,
  UnlistenStmt: nothing,
  CheckPointStmt: nothing,
  TransactionStmt: unreadableWhereItRuns("changes the transaction it runs in"),
  ExecuteStmt: unreadable("runs a prepared statement"),
  CallStmt: unreadableWhereItRuns("calls a procedure"),
  LoadStmt: unreadable("loads a library"),
  CreatePLangStmt: unreadable("creates a procedural language"),
  AlterSystemStmt: unreadable("changes the server's settings"),
  CreatedbStmt: unreadable("creates a database"),
  AlterDatabaseStmt: unreadable("changes a database's settings"),
  AlterDatabaseSetStmt: unreadable("changes a database's settings"),
  AlterDatabaseRefreshCollStmt: unreadable("changes a database's settings"),
  CreateTableSpaceStmt: unreadable("creates a tablespace"),
  AlterTableSpaceOptionsStmt: unreadable("changes a tablespace"),
  DiscardStmt: unreadable("discards session state"),
};
