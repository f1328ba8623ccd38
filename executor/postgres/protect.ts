import { classify, type Parser } from "../../sql/index.ts";
import { Refused, UsageError } from "../contract.ts";
import { MAX_PROTECTED_TABLES } from "../limits.ts";
import type { Step } from "./differ.ts";

const TABLE = /^[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?$/;

/** Reads `--protected-table` values: `table` or `schema.table`, compared without regard to case. */
export function parseProtected(values: readonly string[]): readonly string[] {
  const tables = [...new Set(values.map((t) => t.trim().toLowerCase()))].sort();
  if (tables.length > MAX_PROTECTED_TABLES) throw new UsageError(`more than ${MAX_PROTECTED_TABLES} protected tables`);
  const wrong = tables.find((t) => !TABLE.test(t));
  if (wrong !== undefined) throw new UsageError(`--protected-table "${wrong}" must be a table or schema.table`);
  return tables;
}

/** @throws Refused `protected-table` naming the fenced tables that the steps would change, by the differ's or the parser's knowledge */
export function holdFence(parser: Parser, steps: readonly Step[], fence: readonly string[]): void {
  if (fence.length === 0) return;
  const touched = new Set(
    steps
      .flatMap((s) => [...s.tables, ...classify(parser, s.sql).tables])
      .map((t) => t.replaceAll('"', "").toLowerCase()),
  );
  const hit = [...touched].filter((table) => fence.some((f) => table === f || table.endsWith(`.${f}`))).sort();
  if (hit.length > 0) {
    throw new Refused("protected-table", `refusing to change protected table(s) ${hit.join(", ")}`, { tables: hit });
  }
}
