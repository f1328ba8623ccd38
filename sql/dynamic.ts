import { child, list, stringValue, type Tree, text } from "./tree.ts";

/** An identifier and a literal that stand for what a run puts there; neither can change a statement's kind. */
const SOME_IDENTIFIER = "some_identifier";
const SOME_LITERAL = "'some literal'";

/**
 * Builds the SQL of an EXECUTE from its expression as far as the expression fixes it: constants, `||`, quote_ident,
 * quote_literal, quote_nullable, and format() with %I and %L. What a variable could inject makes it unknown.
 * @returns SQL of the same statement kind as what will run, or undefined when the kind depends on a value.
 */
export function knownSql(expression: Tree): string | undefined {
  if ("A_Const" in expression) {
    const value = child(child(expression, "A_Const"), "sval")["sval"];
    return typeof value === "string" ? value : undefined;
  }
  if ("TypeCast" in expression) return knownSql(child(child(expression, "TypeCast"), "arg"));
  if ("A_Expr" in expression) return knownConcatenation(child(expression, "A_Expr"));
  if ("FuncCall" in expression) return knownCall(child(expression, "FuncCall"));
  return undefined;
}

function knownConcatenation(expression: Tree): string | undefined {
  const operator = stringValue(list(expression, "name")[0] ?? {});
  if (text(expression, "kind") !== "AEXPR_OP" || operator !== "||") return undefined;
  const left = knownSql(child(expression, "lexpr"));
  const right = knownSql(child(expression, "rexpr"));
  return left === undefined || right === undefined ? undefined : left + right;
}

function knownCall(call: Tree): string | undefined {
  const parts = list(call, "funcname").map((part) => stringValue(part) ?? "");
  if (parts.length > 1 && parts[0] !== "pg_catalog") return undefined;
  const name = parts.at(-1);
  if (name === "quote_ident") return SOME_IDENTIFIER;
  if (name === "quote_literal" || name === "quote_nullable") return SOME_LITERAL;
  if (name !== "format") return undefined;
  const template = knownSql(list(call, "args")[0] ?? {});
  return template === undefined ? undefined : filled(template);
}

/** Fills a format() template; `%s` puts any text in and makes the whole unknown. */
function filled(template: string): string | undefined {
  let known = true;
  const sql = template.replace(/%(?:\d+\$)?-?(?:\d+)?(.)/gs, (_, kind: string) => {
    if (kind === "I") return SOME_IDENTIFIER;
    if (kind === "L") return SOME_LITERAL;
    if (kind !== "%") known = false;
    return kind === "%" ? "%" : "";
  });
  return known && !/%$/.test(template.replaceAll("%%", "")) ? sql : undefined;
}
