import type { Parser } from "./parser.ts";
import { child, list, type Tree, text, unwrap, visit } from "./tree.ts";

/** A relation as a statement names it; an unqualified one has an empty schema. */
export interface TouchedName {
  readonly schema: string;
  readonly name: string;
}

/** Which relations one statement's own text speaks of. */
export interface Touched {
  /** All that it names, but for those inside stored bodies. */
  readonly named: readonly TouchedName[];
  /** Those that it changes itself, and so may lock against everybody; with each its partitions and children. */
  readonly own: readonly TouchedName[];
  /** The table that it surely locks against everybody, to write its rows anew or to check them. */
  readonly locks: (TouchedName & { readonly only: boolean }) | undefined;
}

/** Sub-commands of ALTER TABLE that may work out an expression for every row; all of them lock the table against everybody. */
const WORKS_ON_ROWS = new Set([
  "AT_AddColumn",
  "AT_AlterColumnType",
  "AT_SetExpression",
  "AT_SetAccessMethod",
  "AT_SetTableSpace",
  "AT_SetLogged",
  "AT_SetUnLogged",
]);

function worksOnRows(command: Tree): boolean {
  const kind = text(command, "subtype");
  if (kind !== "AT_AddConstraint") return WORKS_ON_ROWS.has(kind);
  // A foreign key runs no expression, and takes a lesser lock.
  return text(child(child(command, "def"), "Constraint"), "contype") !== "CONSTR_FOREIGN";
}

const NOTHING: Touched = { named: [], own: [], locks: undefined };

const nameOf = (node: Tree): TouchedName => ({ schema: text(node, "schemaname"), name: text(node, "relname") });

/** Reads what one statement names. A text that is not one readable statement names nothing, and so excuses nothing. */
export function touchedBy(parser: Parser, sql: string): Touched {
  const outcome = parser.parse(sql);
  if ("error" in outcome || outcome.statements.length !== 1) return NOTHING;
  const tree = outcome.statements[0]?.tree ?? {};
  const named: TouchedName[] = [];
  visit(tree, (_, node) => {
    if (text(node, "relname") !== "") named.push(nameOf(node));
  });
  const { kind, node } = unwrap(tree);
  const commands = list(node, "cmds").map((command) => child(command, "AlterTableCmd"));
  const locks =
    kind === "AlterTableStmt" && text(node, "objtype") === "OBJECT_TABLE" && commands.some(worksOnRows)
      ? { ...nameOf(child(node, "relation")), only: child(node, "relation")["inh"] !== true }
      : undefined;
  return { named, own: OWN.has(kind) ? ownOf(node, commands) : [], locks };
}

/** Statements that change a table which stands, under a lock that shuts out everybody. */
const OWN = new Set([
  "AlterTableStmt",
  "CreatePolicyStmt",
  "AlterPolicyStmt",
  "RuleStmt",
  "RenameStmt",
  "RefreshMatViewStmt",
  "AlterObjectSchemaStmt",
  "CreateStmt",
]);

/** The table itself, a partition that it is given, and the parents of a new one, whose default partition is looked through. */
function ownOf(node: Tree, commands: readonly Tree[]): readonly TouchedName[] {
  const partitions = commands.map((command) => child(child(child(command, "def"), "PartitionCmd"), "name"));
  const parents = list(node, "inhRelations").map((parent) => child(parent, "RangeVar"));
  return [child(node, "relation"), child(node, "table"), ...partitions, ...parents]
    .filter((relation) => text(relation, "relname") !== "")
    .map(nameOf);
}
