import { securityInvoker } from "./definer.ts";
import type { Findings } from "./findings.ts";
import { child, list, type Tree, text } from "./tree.ts";

type CommandRule = (command: Tree, found: Findings, table: Tree) => void;

const raises =
  (severity: "destructive" | "warning", reason: string): CommandRule =>
  (_, found) =>
    found.raise(severity, reason);

const relOptions =
  (reset: boolean): CommandRule =>
  (command, found) => {
    for (const option of list(child(child(command, "def"), "List"), "items")) {
      securityInvoker(child(option, "DefElem"), found, reset);
    }
  };

/** What rows may break is nothing to warn of where there are none. */
const addConstraint: CommandRule = (_, found, table) => {
  if (found.isNewTable(table)) found.raise("safe", "adds a constraint to a table that the plan creates");
  else found.raise("warning", "adds a constraint, which fails on rows that break it");
};

const addColumn: CommandRule = (command, found, table) => {
  if (found.isNewTable(table)) return;
  const constraints = list(child(child(command, "def"), "ColumnDef"), "constraints").map((constraint) =>
    text(child(constraint, "Constraint"), "contype"),
  );
  if (constraints.includes("CONSTR_NOTNULL") && !constraints.some((kind) => /DEFAULT|IDENTITY|GENERATED/.test(kind))) {
    found.raise("warning", "adds a column that refuses existing rows");
  }
};

/** ALTER TABLE, ALTER VIEW, ALTER TYPE … ATTRIBUTE sub-commands that are more than safe. */
const COMMANDS: Readonly<Record<string, CommandRule>> = {
  AT_AddColumn: addColumn,
  AT_ColumnDefault: (command, found) => {
    if (!("def" in command)) found.raise("destructive", "drops a default");
  },
  AT_DropNotNull: raises("destructive", "drops a not-null rule"),
  AT_SetNotNull: raises("warning", "refuses nulls from now on"),
  AT_SetExpression: raises("destructive", "recomputes a generated column"),
  AT_DropExpression: raises("destructive", "drops a generated column's expression"),
  AT_DropIdentity: raises("destructive", "drops an identity"),
  AT_DropColumn: raises("destructive", "drops a column"),
  AT_AddConstraint: addConstraint,
  AT_AddIndexConstraint: raises("warning", "adds a constraint"),
  AT_AlterConstraint: raises("warning", "changes a constraint"),
  AT_DropConstraint: raises("destructive", "drops a constraint"),
  AT_AlterColumnType: raises("destructive", "changes a column's type"),
  AT_ChangeOwner: (_, found) => found.privilege("Ownership", "changes an owner"),
  AT_SetUnLogged: raises("destructive", "makes a table lose its rows after a crash"),
  AT_DropOids: raises("destructive", "drops object identifiers"),
  AT_SetAccessMethod: raises("warning", "rewrites a table"),
  AT_SetTableSpace: raises("warning", "rewrites a table"),
  AT_SetRelOptions: relOptions(false),
  AT_ReplaceRelOptions: relOptions(false),
  AT_ResetRelOptions: relOptions(true),
  AT_DisableTrig: raises("warning", "disables a trigger"),
  AT_DisableTrigAll: raises("warning", "disables triggers"),
  AT_DisableTrigUser: raises("warning", "disables triggers"),
  AT_DisableRule: raises("warning", "disables a rule"),
  AT_DropInherit: raises("destructive", "takes a table out of its parent"),
  AT_DropOf: raises("warning", "takes a table out of its type"),
  AT_DropCluster: raises("destructive", "drops a clustering"),
  AT_DetachPartition: raises("destructive", "takes a partition out of its table"),
  AT_DetachPartitionFinalize: raises("destructive", "takes a partition out of its table"),
  AT_EnableRowSecurity: raises("warning", "enables row security"),
  AT_ForceRowSecurity: raises("warning", "enables row security for the owner"),
  AT_DisableRowSecurity: (_, found) => {
    found.raise("destructive", "disables row security");
    found.privilege("RowSecurityPolicy", "disables row security");
  },
  AT_NoForceRowSecurity: (_, found) => {
    found.privilege("RowSecurityPolicy", "exempts the owner from row security");
  },
};

/** Reads every sub-command of one ALTER TABLE (or ALTER VIEW, INDEX, SEQUENCE, TYPE in its table form). */
export function alterTableRule(tree: Tree, found: Findings): void {
  found.relation(child(tree, "relation"));
  for (const item of list(tree, "cmds")) {
    const command = child(item, "AlterTableCmd");
    COMMANDS[text(command, "subtype")]?.(command, found, child(tree, "relation"));
    const partition = child(child(child(command, "def"), "PartitionCmd"), "name");
    found.relation(partition);
  }
}
