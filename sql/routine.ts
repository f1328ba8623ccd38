import { knownSql } from "./dynamic.ts";
import type { Parser } from "./parser.ts";
import { child, isTree, list, stringValue, type Tree, text, visit } from "./tree.ts";

/** What a routine's body holds. */
export interface RoutineBody {
  /** SQL texts of the body, each one statement or expression made into a statement. */
  readonly sql: readonly string[];
  /** Trees already parsed (a `BEGIN ATOMIC` body). */
  readonly trees: readonly unknown[];
  /** Why a part of the body is not read; absent when all of it is. */
  readonly unreadable?: string;
}

/**
 * Words that a PL/pgSQL body which the body parser refused (it does not know the types of the database) must not hold for
 * it to count as read: all that could drop, run hidden SQL, or change privileges.
 */
const TELLING_WORDS = new Set(
  "drop truncate execute grant revoke owner owned policy role user group security definer authorization disable alter create do call".split(
    " ",
  ),
);

/** @returns what the body of a CREATE FUNCTION/PROCEDURE node holds; `sql` is the whole statement's text. */
export function functionBody(parser: Parser, tree: Tree, sql: string): RoutineBody {
  if ("sql_body" in tree) return { sql: [], trees: [tree["sql_body"]] };
  const options = list(tree, "options").map((option) => child(option, "DefElem"));
  const language = languageOf(options) ?? "sql";
  const source = list(
    child(child(options.find((option) => text(option, "defname") === "as") ?? {}, "arg"), "List"),
    "items",
  );
  const body = stringValue(source[0] ?? {});
  if (body === undefined || source.length > 1) return unread("a routine in a language that is not read");
  return bodyIn(parser, language, body, sql, false);
}

/** @returns what a DO block holds. */
export function doBody(parser: Parser, tree: Tree, sql: string): RoutineBody {
  const options = list(tree, "args").map((option) => child(option, "DefElem"));
  const body = stringValue(child(options.find((option) => text(option, "defname") === "as") ?? {}, "arg"));
  if (body === undefined) return unread("a block that is not read");
  return bodyIn(parser, languageOf(options) ?? "plpgsql", body, sql, true);
}

function languageOf(options: readonly Tree[]): string | undefined {
  return stringValue(
    child(options.find((option) => text(option, "defname") === "language") ?? {}, "arg"),
  )?.toLowerCase();
}

const unread = (unreadable: string): RoutineBody => ({ sql: [], trees: [], unreadable });

function bodyIn(parser: Parser, language: string, body: string, sql: string, runs: boolean): RoutineBody {
  if (language === "sql") return { sql: [body], trees: [] };
  if (language !== "plpgsql") return unread("a routine in a language that is not read");
  const routine = parser.parseRoutine(sql);
  if ("tree" in routine) return plpgsqlBody(parser, routine.tree);
  const words = runs ? undefined : parser.words(body);
  if (words === undefined || words.some((word) => TELLING_WORDS.has(word)))
    return unread("a routine body that is not read");
  return { sql: [], trees: [] };
}

/** Collects the SQL of every statement and expression of a parsed PL/pgSQL body. */
function plpgsqlBody(parser: Parser, tree: Tree): RoutineBody {
  const sql: string[] = [];
  let unreadable: string | undefined;
  const dynamic = new Set<unknown>();
  const whole = visit(tree, (_, node) => {
    for (const key of ["query", "dynquery"]) {
      if (isDynamic(node, key)) dynamic.add(child(child(node, key), "PLpgSQL_expr"));
    }
  });
  const read = visit(tree, (kind, node) => {
    if (kind !== "PLpgSQL_expr") return;
    const statement = statementOf(node);
    if (statement !== undefined) sql.push(statement);
    if (!dynamic.has(node)) return;
    const known = statement === undefined ? undefined : executedSql(parser, statement);
    if (known === undefined) unreadable = "SQL that is put together while it runs";
    else sql.push(known);
  });
  if (!whole || !read) unreadable = "a routine body that is too large to read";
  return unreadable === undefined ? { sql, trees: [] } : { sql, trees: [], unreadable };
}

/** EXECUTE keeps its SQL expression under `query`; OPEN, FOR and RETURN QUERY … EXECUTE keep it under `dynquery` or `query`. */
function isDynamic(node: Tree, key: string): boolean {
  const expression = child(child(node, key), "PLpgSQL_expr");
  return isTree(expression) && expression["parseMode"] === EXPRESSION_MODE;
}

/** RawParseMode of PostgreSQL: 0 a statement, 2 an expression, 3 to 5 an assignment to a target of one to three parts. */
const EXPRESSION_MODE = 2;

function statementOf(expression: Tree): string | undefined {
  const query = text(expression, "query");
  const mode = typeof expression["parseMode"] === "number" ? expression["parseMode"] : 0;
  if (query.trim() === "") return undefined;
  if (mode === 0) return query;
  if (mode === EXPRESSION_MODE) return `SELECT ${query}`;
  const assignment = /:?=/.exec(query);
  return assignment === null ? query : `SELECT ${query.slice(assignment.index + assignment[0].length)}`;
}

function executedSql(parser: Parser, select: string): string | undefined {
  const outcome = parser.parse(select);
  const statement =
    "statements" in outcome && outcome.statements.length === 1 ? outcome.statements[0]?.tree : undefined;
  const targets = list(child(statement ?? {}, "SelectStmt"), "targetList");
  return targets.length === 1 ? knownSql(child(child(targets[0] ?? {}, "ResTarget"), "val")) : undefined;
}
