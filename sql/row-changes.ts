import { LIMITS } from "./limits.ts";
import type { Parser } from "./parser.ts";
import { functionBody } from "./routine.ts";
import { child, list, stringValue, text, unwrap, visit } from "./tree.ts";

const CHANGES_ROWS = new Set(["UpdateStmt", "DeleteStmt", "MergeStmt", "TruncateStmt"]);

/**
 * The name of a routine, given as its CREATE FUNCTION, that changes or deletes rows by statements of its own. It is told only of
 * what is read: a routine of another language, or one that does it by calling another, is found by what becomes of the rows.
 */
export function rowChanger(parser: Parser, definition: string): string | undefined {
  if (Buffer.byteLength(definition) > LIMITS.classifiedSizeBytes) return undefined;
  const outcome = parser.parse(definition);
  if ("error" in outcome) return undefined;
  const { kind, node } = unwrap(outcome.statements[0]?.tree ?? {});
  if (kind !== "CreateFunctionStmt") return undefined;
  const body = functionBody(parser, node, definition);
  const changes = body.trees.some(holdsRowChange) || body.sql.some((sql) => textChangesRows(parser, sql));
  return changes ? stringValue(list(node, "funcname").at(-1) ?? {}) : undefined;
}

function textChangesRows(parser: Parser, sql: string): boolean {
  const outcome = parser.parse(sql);
  return "statements" in outcome && outcome.statements.some((statement) => holdsRowChange(statement.tree));
}

function holdsRowChange(tree: unknown): boolean {
  let found = false;
  visit(tree, (kind, node) => {
    if (CHANGES_ROWS.has(kind)) found = true;
    if (kind === "InsertStmt" && text(child(node, "onConflictClause"), "action") === "ONCONFLICT_UPDATE") found = true;
  });
  return found;
}

/** Definitions that the server works out for rows that are there. */
const WORKED_OUT = new Set([
  "AlterTableStmt",
  "IndexStmt",
  "CreateTableAsStmt",
  "RefreshMatViewStmt",
  "AlterDomainStmt",
]);

/** The functions, by bare name, that a statement may call for every row that is there. A default that is only set calls none. */
export function calledOnRows(parser: Parser, sql: string): readonly string[] {
  const outcome = parser.parse(sql);
  const names = new Set<string>();
  for (const { tree } of "error" in outcome ? [] : outcome.statements) {
    const { kind, node } = unwrap(tree);
    if (!WORKED_OUT.has(kind)) continue;
    const commands = list(node, "cmds").map((command) => child(command, "AlterTableCmd"));
    const worked = commands.filter((command) => text(command, "subtype") !== "AT_ColumnDefault");
    visit(kind === "AlterTableStmt" ? worked : node, (inner, call) => {
      const name = inner === "FuncCall" ? stringValue(list(call, "funcname").at(-1) ?? {}) : undefined;
      if (name !== undefined) names.add(name);
    });
  }
  return [...names];
}
