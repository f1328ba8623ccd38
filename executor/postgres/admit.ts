import { type ParseFailure, type Parser, split, type Tree, unwrap, visit } from "../../sql/index.ts";
import { Refused } from "../contract.ts";
import { MAX_NAMES_IN_REPORT } from "../limits.ts";
import { placeOf } from "../mistake-said.ts";
import { linesBeforeFirstWord } from "./place.ts";
import type { SourceFile } from "./source.ts";
import { refusalOf, routineKind } from "./statements.ts";

/** One declaration of the desired schema, ready to be loaded. */
export interface Declaration {
  readonly sql: string;
  readonly file: string;
  readonly line: number;
  /**
   * When it is loaded: default privileges and schemas first (so that they hold for everything declared, wherever they stand),
   * `GRANT … ON ALL … IN SCHEMA` last (so that it covers everything declared). This makes the result independent of the order.
   */
  readonly phase: 0 | 1 | 2;
  /** An extension is made by the scratch server's administrator: the target may have it from its own. */
  readonly extension: string | undefined;
  /** A routine whose body may name what another routine, loaded later, provides. */
  readonly routine: boolean;
}

export interface DesiredSchema {
  readonly declarations: readonly Declaration[];
  /** Roles the schema names (grants, owners, policies). */
  readonly roles: readonly string[];
  readonly extensions: readonly string[];
}

/**
 * Splits the files into declarations and refuses by name what a desired schema cannot hold: data, transactions, cluster objects,
 * imperative statements, passwords and kinds of objects that are not managed.
 * @throws Refused `invalid_schema` for a syntax error (file and line named) or the code of the first refused statement
 */
export function admit(parser: Parser, files: readonly SourceFile[]): DesiredSchema {
  const declarations: Declaration[] = [];
  const roles = new Set<string>();
  const extensions = new Set<string>();
  const refusals = new Map<string, string[]>();
  for (const file of files) {
    for (const { text, line, tree } of statementsOf(parser, file)) {
      const where = `${file.name}:${line}`;
      const refusal = refusalOf(tree);
      if (refusal === "ignore") continue;
      if (refusal !== undefined) {
        refusals.set(refusal.code, [...(refusals.get(refusal.code) ?? []), `${where}: ${refusal.what}`]);
        continue;
      }
      collectRoles(tree, roles);
      const extension = extensionOf(tree);
      if (extension !== undefined) extensions.add(extension);
      declarations.push({
        sql: text,
        file: file.name,
        line,
        phase: phaseOf(tree),
        extension,
        routine: routineKind(tree),
      });
    }
  }
  throwRefusals(refusals);
  return { declarations, roles: [...roles].sort(), extensions: [...extensions].sort() };
}

function throwRefusals(refusals: ReadonlyMap<string, readonly string[]>): void {
  const [first] = refusals;
  if (first === undefined) return;
  const [code, places] = first;
  const more = places.length > MAX_NAMES_IN_REPORT ? ` and ${places.length - MAX_NAMES_IN_REPORT} more` : "";
  const shown = places.slice(0, MAX_NAMES_IN_REPORT);
  throw new Refused(code, `the desired schema holds what cannot be declared: ${shown.join("; ")}${more}`, {
    objects: shown,
  });
}

interface Statement {
  readonly text: string;
  readonly line: number;
  readonly tree: Tree;
}

function statementsOf(parser: Parser, file: SourceFile): Statement[] {
  const pieces = split(parser, file.text);
  if ("error" in pieces) throw unreadable(file.name, pieces.error.line, pieces.error);
  return pieces.statements.map((piece) => {
    const parsed = parser.parse(piece.text);
    const line = piece.line + linesBeforeFirstWord(piece.text);
    if ("error" in parsed) throw unreadable(file.name, line, parsed.error);
    return { text: piece.text, line, tree: parsed.statements[0]?.tree ?? {} };
  });
}

/** What kind of mistake, at which word, in which statement; never a piece of the file that could be a value. */
function unreadable(file: string, line: number, failure: ParseFailure): Refused {
  const kind = failure.message.replace(/ at line \d+$/, "");
  const sentence = `${file}:${line}: ${kind}${placeOf(failure)}; correct the file`;
  return new Refused("invalid_schema", sentence, { objects: [`${file}:${line}`] });
}

function collectRoles(tree: Tree, roles: Set<string>): void {
  const note = (node: Tree): void => {
    const name = node["rolename"];
    if (node["roletype"] === "ROLESPEC_CSTRING" && typeof name === "string") roles.add(name);
  };
  visit(tree, (_, node) => note(node));
}

function extensionOf(tree: Tree): string | undefined {
  const { kind, node } = unwrap(tree);
  const name = node["extname"];
  return kind === "CreateExtensionStmt" && typeof name === "string" ? name : undefined;
}

function phaseOf(tree: Tree): 0 | 1 | 2 {
  const { kind, node } = unwrap(tree);
  if (kind === "AlterDefaultPrivilegesStmt" || kind === "CreateExtensionStmt") return 0;
  if (kind === "CreateSchemaStmt" && node["schemaElts"] === undefined) return 0;
  if (kind === "GrantStmt" && node["targtype"] === "ACL_TARGET_ALL_IN_SCHEMA") return 2;
  return 1;
}
