import { LIMITS } from "./limits.ts";
import type { Parser } from "./parser.ts";
import { functionBody } from "./routine.ts";
import { child, text, unwrap, visit } from "./tree.ts";

const CHANGES_ROWS = new Set(["UpdateStmt", "DeleteStmt", "MergeStmt", "TruncateStmt"]);

/**
 * Whether a routine, given as its CREATE FUNCTION, changes or deletes rows by statements of its own. It says yes only of what it
 * reads: a routine of another language, or one that does it by calling another, is found by what becomes of the rows.
 */
export function changesRows(parser: Parser, definition: string): boolean {
  if (Buffer.byteLength(definition) > LIMITS.classifiedSizeBytes) return false;
  const outcome = parser.parse(definition);
  if ("error" in outcome) return false;
  const { kind, node } = unwrap(outcome.statements[0]?.tree ?? {});
  if (kind !== "CreateFunctionStmt") return false;
  const body = functionBody(parser, node, definition);
  return body.trees.some(holdsRowChange) || body.sql.some((sql) => textChangesRows(parser, sql));
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
