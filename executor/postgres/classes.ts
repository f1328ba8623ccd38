import {
  calledOnRows,
  classify,
  type Parser,
  type PlanStatement,
  type Severity,
  strongerSeverity,
} from "../../sql/index.ts";
import { Refused } from "../contract.ts";
import type { Step } from "./differ.ts";
import type { RowChanges } from "./row-changes.ts";

/** A table that did not exist before: what a plan's own statements do to it meets no row. */
const CREATES_TABLE = /^CREATE (?:UNLOGGED )?TABLE (?!IF NOT EXISTS )/;
/** What may bring rows into it after all. */
const BRINGS_ROWS = /\b(?:ATTACH PARTITION|INHERIT|INSERT|COPY|RENAME|SET SCHEMA)\b/i;

function note(newTables: Set<string>, sql: string, tables: readonly string[]): void {
  if (CREATES_TABLE.test(sql)) for (const table of tables) newTables.add(table);
  else if (BRINGS_ROWS.test(sql)) for (const table of tables) newTables.delete(table);
}

const NO_CHANGES: RowChanges = { withEveryStatement: false, functions: new Set() };

/** What a statement changes by functions that run with it. */
function besides(parser: Parser, sql: string, { withEveryStatement, functions }: RowChanges): readonly string[] {
  const called = functions.size > 0 && calledOnRows(parser, sql).some((name) => functions.has(name));
  return [
    ...(withEveryStatement ? ["runs an event trigger that changes rows"] : []),
    ...(called ? ["calls a function that changes rows"] : []),
  ];
}

/**
 * Classifies each step: by its own syntax tree, raised by what the differ knows about rows and rewrites. Nothing is ever lowered.
 * @param changes what functions and event triggers change beside the statements
 * @throws Refused `credential_in_schema` for a statement that carries a credential
 */
export function classifySteps(
  parser: Parser,
  steps: readonly Step[],
  changes: RowChanges = NO_CHANGES,
): readonly PlanStatement[] {
  const newTables = new Set<string>();
  return steps.map((step, at) => {
    const read = classify(parser, step.sql, newTables);
    note(newTables, step.sql, read.tables);
    if (read.credential) {
      throw new Refused(
        "credential_in_schema",
        `statement ${at + 1} would carry a credential; a plan is readable by many, set it by hand`,
        { statement: at + 1 },
      );
    }
    const reasons = new Set(read.reason === "" ? [] : [read.reason]);
    let severity: Severity = read.severity;
    if (step.losesRows) {
      severity = "destructive";
      reasons.add("loses rows or values");
    }
    for (const reason of besides(parser, step.sql, changes)) {
      severity = "destructive";
      reasons.add(reason);
    }
    if (step.rewrites && !/^CREATE TABLE /.test(step.sql)) {
      severity = strongerSeverity(severity, "warning");
      reasons.add("may rewrite the table");
    }
    if (step.commitAfter) {
      severity = strongerSeverity(severity, "info");
      reasons.add("is committed before the statements after it");
    }
    return {
      sql: step.sql,
      severity,
      reason: [...reasons].join("; "),
      transaction: step.transaction,
      commitAfter: step.commitAfter,
      class: {
        destructive: read.destructive || severity === "destructive",
        privilegeChanges: [...read.privilegeChanges],
      },
    };
  });
}
