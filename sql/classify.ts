import { readCall } from "./calls.ts";
import { securityDefiner } from "./definer.ts";
import { type Classification, Findings } from "./findings.ts";
import { LIMITS } from "./limits.ts";
import type { ParsedStatement, Parser } from "./parser.ts";
import { doBody, functionBody, type RoutineBody } from "./routine.ts";
import { type Place, RULES } from "./rules.ts";
import { child, list, type Tree, text, unwrap, visit } from "./tree.ts";

/**
 * Classifies PostgreSQL SQL by its syntax tree: what it destroys, which privileges it changes, which relations it
 * changes, whether it carries a secret. It only raises, and what cannot be read counts as destructive and
 * privilege-changing, never as safe. Rules: README.md of this room.
 * @param sql one or more statements; several are joined into one classification.
 * @param newTables `schema.name` of tables that earlier statements of the same plan create: no row there can break a rule
 */
export function classify(parser: Parser, sql: string, newTables: ReadonlySet<string> = new Set()): Classification {
  const found = new Findings(newTables);
  if (Buffer.byteLength(sql) > LIMITS.classifiedSizeBytes) {
    found.unreadable("SQL that is too large to read");
    return found.result();
  }
  readText(parser, sql, found, { runs: true }, 0);
  return found.result();
}

function readText(parser: Parser, sql: string, found: Findings, place: Place, depth: number): void {
  const outcome = parser.parse(sql);
  if ("error" in outcome) {
    found.unreadable("SQL that is not read");
    return;
  }
  if (depth > LIMITS.bodyDepth) {
    found.unreadable("routines nested too deeply to read");
    return;
  }
  const bytes = Buffer.from(sql, "utf8");
  for (const statement of outcome.statements) {
    readStatement(parser, statement, sliceOf(bytes, statement), found, place, depth);
  }
}

function sliceOf(bytes: Buffer, statement: ParsedStatement): string {
  const end = statement.sizeBytes === 0 ? bytes.length : statement.offsetBytes + statement.sizeBytes;
  return bytes.subarray(statement.offsetBytes, end).toString("utf8");
}

/** Statements whose functions run when the statement does, and are therefore looked at. */
const CALLING = new Set([
  "SelectStmt",
  "InsertStmt",
  "UpdateStmt",
  "DeleteStmt",
  "MergeStmt",
  "ExplainStmt",
  "PrepareStmt",
  "DeclareCursorStmt",
  "CopyStmt",
]);

/** Statements that only store the SQL inside them. */
const STORING = new Set(["CreateFunctionStmt", "RuleStmt", "ViewStmt"]);

function readStatement(
  parser: Parser,
  statement: ParsedStatement,
  sql: string,
  found: Findings,
  place: Place,
  depth: number,
): void {
  const { kind, node } = unwrap(statement.tree);
  if (kind === "DoStmt") {
    readBody(parser, doBody(parser, node, sql), found, place, depth);
    return;
  }
  if (kind === "CreateFunctionStmt") {
    readFunctionHead(node, found);
    readBody(parser, functionBody(parser, node, sql), found, { runs: false }, depth);
    return;
  }
  readTree(statement.tree, found, { runs: place.runs && !STORING.has(kind) }, callsRun(kind, node) && place.runs);
}

/** A materialized view's query runs restricted by the server, so its functions are not treated as unknown effects. */
function callsRun(kind: string, node: Tree): boolean {
  return CALLING.has(kind) || (kind === "CreateTableAsStmt" && text(node, "objtype") !== "OBJECT_MATVIEW");
}

function readTree(tree: unknown, found: Findings, place: Place, callsAreRun: boolean): void {
  const read = visit(tree, (kind, node) => {
    const rule = RULES[kind];
    if (rule !== undefined) rule(node, found, place);
    else if (/^[A-Z]\w*Stmt$/.test(kind)) found.unreadable("a statement of an unknown kind");
    else if (kind === "FuncCall") readCall(node, found, callsAreRun, place.runs);
  });
  if (!read) found.unreadable("a statement that is too large to read");
}

function readFunctionHead(node: Tree, found: Findings): void {
  if (node["replace"] === true) found.privilege("FunctionReplacement", "may replace a routine");
  for (const option of list(node, "options")) {
    securityDefiner(child(option, "DefElem"), found);
    const setting = child(child(child(option, "DefElem"), "arg"), "VariableSetStmt");
    RULES["VariableSetStmt"]?.(setting, found, { runs: false });
  }
}

function readBody(parser: Parser, body: RoutineBody, found: Findings, place: Place, depth: number): void {
  if (body.unreadable !== undefined) found.unreadable(body.unreadable);
  for (const sql of body.sql) readText(parser, sql, found, place, depth + 1);
  for (const tree of body.trees) readTree(tree, found, place, false);
}
