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
  /** The table whose rows it may write anew into other storage, and with it its partitions and children. */
  readonly rewrites: (TouchedName & { readonly only: boolean }) | undefined;
}

/** Sub-commands of ALTER TABLE that may write every row anew; all of them lock the table against everybody. */
const REWRITES = new Set([
  "AT_AddColumn",
  "AT_AlterColumnType",
  "AT_SetExpression",
  "AT_SetAccessMethod",
  "AT_SetTableSpace",
  "AT_SetLogged",
  "AT_SetUnLogged",
]);

const NOTHING: Touched = { named: [], rewrites: undefined };

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
  const rewrites =
    kind === "AlterTableStmt" &&
    text(node, "objtype") === "OBJECT_TABLE" &&
    list(node, "cmds").some((command) => REWRITES.has(text(child(command, "AlterTableCmd"), "subtype")));
  const relation = child(node, "relation");
  return { named, rewrites: rewrites ? { ...nameOf(relation), only: relation["inh"] !== true } : undefined };
}
