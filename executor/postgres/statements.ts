import { child, list, stringValue, type Tree, text, unwrap, visit } from "../../sql/index.ts";

/** Why one statement cannot be part of a desired schema. */
export interface StatementRefusal {
  readonly code: string;
  readonly what: string;
}

type Verdict = StatementRefusal | "ignore" | undefined;

/** Statements that declare something the differ manages. */
const DECLARES: ReadonlySet<string> = new Set([
  "CreateStmt",
  "AlterTableStmt",
  "IndexStmt",
  "ViewStmt",
  "CreateSeqStmt",
  "AlterSeqStmt",
  "CreateEnumStmt",
  "AlterEnumStmt",
  "CreateDomainStmt",
  "AlterDomainStmt",
  "CompositeTypeStmt",
  "CreateRangeStmt",
  "CreateFunctionStmt",
  "AlterFunctionStmt",
  "CreateTrigStmt",
  "RuleStmt",
  "CreatePolicyStmt",
  "AlterPolicyStmt",
  "CommentStmt",
  "AlterDefaultPrivilegesStmt",
  "AlterOwnerStmt",
  "CreateSchemaStmt",
  "CreateEventTrigStmt",
  "AlterEventTrigStmt",
  "CreateFdwStmt",
  "CreateForeignServerStmt",
  "CreateForeignTableStmt",
  "CreateUserMappingStmt",
  "CreatePublicationStmt",
  "AlterPublicationStmt",
  "CreateStatsStmt",
  "AlterStatsStmt",
  "SecLabelStmt",
]);

/** Statements that are understood and not accepted: the phrase for a person. */
export const NOT_DECLARATIONS: Readonly<Record<string, string>> = {
  InsertStmt: "INSERT changes rows, it declares nothing",
  UpdateStmt: "UPDATE changes rows, it declares nothing",
  DeleteStmt: "DELETE changes rows, it declares nothing",
  MergeStmt: "MERGE changes rows, it declares nothing",
  TruncateStmt: "TRUNCATE changes rows, it declares nothing",
  CopyStmt: "COPY moves rows, it declares nothing",
  CreateTableAsStmt: "CREATE TABLE AS copies rows; declare the table's columns",
  DropStmt: "DROP is imperative; leave the object out of the schema instead",
  RenameStmt: "RENAME is imperative; declare the new name instead",
  AlterObjectSchemaStmt: "SET SCHEMA is imperative; declare the object in its schema instead",
  DoStmt: "DO runs code, it declares nothing",
  CallStmt: "CALL runs code, it declares nothing",
  TransactionStmt: "transaction control does not belong into a declaration",
  ExplainStmt: "EXPLAIN declares nothing",
  RefreshMatViewStmt: "REFRESH changes rows, it declares nothing",
};

/** Objects of the whole cluster: they are not part of one database. */
export const CLUSTER: Readonly<Record<string, string>> = {
  CreateRoleStmt: "CREATE ROLE",
  AlterRoleStmt: "ALTER ROLE",
  AlterRoleSetStmt: "ALTER ROLE",
  DropRoleStmt: "DROP ROLE",
  GrantRoleStmt: "GRANT of a role membership",
  CreatedbStmt: "CREATE DATABASE",
  AlterDatabaseStmt: "ALTER DATABASE",
  AlterDatabaseSetStmt: "ALTER DATABASE",
  DropdbStmt: "DROP DATABASE",
  AlterSystemStmt: "ALTER SYSTEM",
  CreateTableSpaceStmt: "CREATE TABLESPACE",
  DropTableSpaceStmt: "DROP TABLESPACE",
  ReassignOwnedStmt: "REASSIGN OWNED",
  DropOwnedStmt: "DROP OWNED",
};

/** Kinds of objects the differ does not model. */
export const UNMANAGED: Readonly<Record<string, string>> = {
  CreateCastStmt: "CREATE CAST",
  CreateOpClassStmt: "CREATE OPERATOR CLASS",
  CreateOpFamilyStmt: "CREATE OPERATOR FAMILY",
  AlterOpFamilyStmt: "ALTER OPERATOR FAMILY",
  AlterOperatorStmt: "ALTER OPERATOR",
  CreateTransformStmt: "CREATE TRANSFORM",
  CreatePLangStmt: "CREATE LANGUAGE",
  CreateConversionStmt: "CREATE CONVERSION",
  CreateAmStmt: "CREATE ACCESS METHOD",
  AlterTSConfigurationStmt: "ALTER TEXT SEARCH CONFIGURATION",
  AlterTSDictionaryStmt: "ALTER TEXT SEARCH DICTIONARY",
  CreateSubscriptionStmt: "CREATE SUBSCRIPTION",
  AlterSubscriptionStmt: "ALTER SUBSCRIPTION",
  ImportForeignSchemaStmt: "IMPORT FOREIGN SCHEMA",
  AlterObjectDependsStmt: "DEPENDS ON EXTENSION",
  AlterTypeStmt: "ALTER TYPE … SET",
  AlterCollationStmt: "ALTER COLLATION",
  AlterExtensionStmt: "ALTER EXTENSION",
  AlterExtensionContentsStmt: "ALTER EXTENSION",
  AlterForeignServerStmt: "ALTER SERVER",
  AlterFdwStmt: "ALTER FOREIGN DATA WRAPPER",
  AlterUserMappingStmt: "ALTER USER MAPPING",
};

export const UNMANAGED_DEFINITIONS: Readonly<Record<string, string>> = {
  OBJECT_OPERATOR: "CREATE OPERATOR",
  OBJECT_TYPE: "CREATE TYPE of a base type",
  OBJECT_TSPARSER: "CREATE TEXT SEARCH PARSER",
  OBJECT_TSDICTIONARY: "CREATE TEXT SEARCH DICTIONARY",
  OBJECT_TSTEMPLATE: "CREATE TEXT SEARCH TEMPLATE",
  OBJECT_TSCONFIGURATION: "CREATE TEXT SEARCH CONFIGURATION",
};

/** Session settings that pg_dump writes and that change nothing about what is declared. */
const HARMLESS_SETTINGS: ReadonlySet<string> = new Set([
  "statement_timeout",
  "lock_timeout",
  "idle_in_transaction_session_timeout",
  "transaction_timeout",
  "client_encoding",
  "standard_conforming_strings",
  "check_function_bodies",
  "xmloption",
  "client_min_messages",
  "row_security",
  "default_tablespace",
  "default_table_access_method",
]);

const SECRET_OPTIONS: ReadonlySet<string> = new Set([
  "password",
  "passfile",
  "sslpassword",
  "passcode",
  "secret",
  "token",
]);

/** @returns why the statement cannot be declared, "ignore" for one that says nothing about the schema, undefined when it is accepted. */
export function refusalOf(tree: Tree): Verdict {
  const { kind, node } = unwrap(tree);
  if (DECLARES.has(kind)) return declared(kind, node);
  if (kind === "CreateExtensionStmt") return extension(node);
  if (kind === "DefineStmt") return definition(node);
  if (kind === "GrantStmt") return grant(node);
  if (kind === "SelectStmt") return selection(tree);
  if (kind === "VariableSetStmt") return setting(node);
  if (kind === "CreateTableAsStmt" && node["objtype"] === "OBJECT_MATVIEW") return undefined;
  if (UNMANAGED[kind] !== undefined)
    return { code: "unmanaged_kind", what: `${UNMANAGED[kind]} is not managed by this version` };
  if (CLUSTER[kind] !== undefined) {
    return {
      code: "cluster_statement",
      what: `${CLUSTER[kind]} concerns the whole cluster; it is not part of a database's schema`,
    };
  }
  return {
    code: "not_a_declaration",
    what: NOT_DECLARATIONS[kind] ?? `a ${kind.replace(/Stmt$/, "")} statement is not a declaration`,
  };
}

/** Whether the statement makes a routine, whose body may be checked later than it is loaded. */
export function routineKind(tree: Tree): boolean {
  return unwrap(tree).kind === "CreateFunctionStmt";
}

function declared(kind: string, node: Tree): Verdict {
  if (kind === "CreateUserMappingStmt" || kind === "CreateForeignServerStmt" || kind === "CreateForeignTableStmt") {
    const secret = list(node, "options")
      .map((o) => text(unwrap(o).node, "defname"))
      .find((name) => SECRET_OPTIONS.has(name.toLowerCase()));
    if (secret !== undefined) {
      return {
        code: "credential_in_schema",
        what: `the option "${secret}" is a credential; a schema is readable by many, set it by hand`,
      };
    }
  }
  if (kind === "CreateStmt") {
    if (child(node, "ofTypename")["names"] !== undefined)
      return { code: "unmanaged_kind", what: "a typed table (CREATE TABLE … OF) is not managed by this version" };
    if (child(node, "relation")["relpersistence"] === "t")
      return { code: "not_a_declaration", what: "a temporary table is not part of a schema" };
    if (text(node, "tablespacename") !== "")
      return { code: "cluster_statement", what: "TABLESPACE concerns the whole cluster; it is not managed" };
  }
  return kind === "AlterTableStmt" ? alteration(node) : undefined;
}

/** Sub-commands of ALTER TABLE that take something away again: their outcome would depend on the order of the files. */
const IMPERATIVE_CHANGES: Readonly<Record<string, string>> = {
  AT_DropColumn: "DROP COLUMN",
  AT_DropConstraint: "DROP CONSTRAINT",
  AT_DetachPartition: "DETACH PARTITION",
  AT_AlterColumnType: "ALTER COLUMN … TYPE",
  AT_DropInherit: "NO INHERIT",
  AT_DropOf: "NOT OF",
  AT_AddOf: "OF",
  AT_SetTableSpace: "SET TABLESPACE",
};

function alteration(node: Tree): Verdict {
  for (const command of list(node, "cmds")) {
    const phrase = IMPERATIVE_CHANGES[text(unwrap(command).node, "subtype")];
    if (phrase !== undefined)
      return { code: "not_a_declaration", what: `ALTER TABLE … ${phrase} is imperative; declare the result instead` };
  }
  return undefined;
}

function extension(node: Tree): Verdict {
  const options = list(node, "options").map((o) => text(unwrap(o).node, "defname"));
  return options.includes("new_version")
    ? { code: "unmanaged_kind", what: "the VERSION of an extension is not managed; leave it out" }
    : undefined;
}

function definition(node: Tree): Verdict {
  const phrase = UNMANAGED_DEFINITIONS[text(node, "kind")];
  return phrase === undefined
    ? undefined
    : { code: "unmanaged_kind", what: `${phrase} is not managed by this version` };
}

const CLUSTER_TARGETS: ReadonlySet<string> = new Set([
  "OBJECT_DATABASE",
  "OBJECT_TABLESPACE",
  "OBJECT_PARAMETER_ACL",
  "OBJECT_LARGEOBJECT",
]);

function grant(node: Tree): Verdict {
  const target = text(node, "objtype");
  return CLUSTER_TARGETS.has(target)
    ? {
        code: "cluster_statement",
        what: `a grant on a ${target.replace("OBJECT_", "").replace("_ACL", "").toLowerCase()} is not part of a database's schema`,
      }
    : undefined;
}

/** `SELECT 1` says nothing; a SELECT that reads or calls something might. pg_dump's own set_config of the search path is harmless. */
function selection(tree: Tree): Verdict {
  let acts = false;
  visit(tree, (kind, node) => {
    if (kind === "FuncCall") acts ||= !isDumpSearchPath(node);
    else if (kind === "RangeVar" || kind === "IntoClause") acts = true;
  });
  return acts
    ? { code: "not_a_declaration", what: "a SELECT that reads or calls something declares nothing" }
    : "ignore";
}

function isDumpSearchPath(call: Tree): boolean {
  const name = list(call, "funcname").map(stringValue).join(".");
  const [setting, value] = list(call, "args").map((a) => text(child(child(a, "A_Const"), "sval"), "sval"));
  return name === "pg_catalog.set_config" && setting === "search_path" && value === "";
}

function setting(node: Tree): Verdict {
  const name = text(node, "name");
  return HARMLESS_SETTINGS.has(name)
    ? "ignore"
    : {
        code: "not_a_declaration",
        what: `SET ${name} would change how the statements after it are read; qualify names instead`,
      };
}
