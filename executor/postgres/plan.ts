import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { encodePlan, type PlanDocument } from "../../sql/index.ts";
import { Refused } from "../contract.ts";
import { columnOrderFindings, compareCatalogs } from "./catalog.ts";
import { classifySteps } from "./classes.ts";
import { type CompareInput, type Comparison, withComparison } from "./compare.ts";
import { planSteps, type Step } from "./differ.ts";
import { fillByDump } from "./dump.ts";
import type { TransactionMode } from "./execute.ts";
import { holdFence } from "./protect.ts";
import { provenSteps } from "./prove.ts";
import { fingerprint } from "./view.ts";

export interface PlanInput extends CompareInput {
  readonly protectedTables: readonly string[];
  readonly mode: TransactionMode;
  /** Where the document is written. */
  readonly output: string;
  /** A pg_dump of the target's major, where one is configured: the clone is then made by it. */
  readonly dumpBinary: string | undefined;
}

export interface PlanResult {
  readonly outcome: "changes" | "no-changes";
  readonly plan?: PlanDocument;
  readonly digest?: string;
  /** Tables whose columns stand in another order than declared; that is never planned. */
  readonly columnOrder: readonly string[];
  readonly serverVersionNum: number;
}

/**
 * Plans the change from the target to the desired schema, proves it on a clone of the target's structure and writes the document.
 * @throws Refused with a stable code; nothing is written then
 */
export function planSchema(input: PlanInput): Promise<PlanResult> {
  return withComparison(input, async (comparison) => {
    const { target, desired, server, parser } = comparison;
    const columnOrder = columnOrderFindings(target.catalog, desired.catalog);
    const found = { columnOrder, serverVersionNum: server.versionNum };
    const planned = planSteps(target.facts, desired.facts, server);
    if (planned.length === 0 && compareCatalogs(target.catalog, desired.catalog).length === 0) {
      return { outcome: "no-changes", ...found };
    }
    holdFence(parser, planned, input.protectedTables);
    const steps = await prove(comparison, planned, input);
    if (steps.length === 0) return { outcome: "no-changes", ...found };
    holdFence(parser, steps, input.protectedTables);
    refuseBoundaries(steps, input.mode);
    const document = documentOf(comparison, steps, input);
    const encoded = encodePlan(document);
    if ("error" in encoded)
      throw new Refused(encoded.error.code, `${encoded.error.message}; split the schema over several resources`);
    writeFileSync(input.output, encoded.bytes, { mode: 0o600 });
    const digest = `sha256:${createHash("sha256").update(encoded.bytes).digest("hex")}`;
    return { outcome: "changes", plan: document, digest, ...found };
  });
}

async function prove(comparison: Comparison, steps: readonly Step[], input: PlanInput): Promise<readonly Step[]> {
  const { target, desired, server, scratch } = comparison;
  const clone = await scratch.openDatabase();
  const { dumpBinary } = input;
  return provenSteps({
    clone,
    target,
    desired,
    server,
    steps,
    exclusion: input.exclusion,
    ...(dumpBinary === undefined ? {} : { fill: fillByDump(dumpBinary, input.target, input.stop.signal) }),
  });
}

/** One transaction for the whole plan cannot be promised where a statement has to be committed before the next. */
function refuseBoundaries(steps: readonly Step[], mode: TransactionMode): void {
  const at = steps.slice(0, -1).findIndex((s) => s.commitAfter || s.transaction === "alone");
  if (mode !== "all" || at < 0) return;
  throw new Refused(
    "transaction_mode",
    `statement ${at + 1} must be committed before the next (a new enum value), which transactionMode "all" forbids; use "file"`,
    { statement: at + 1 },
  );
}

function documentOf(
  { parser, target, desired, server }: Comparison,
  steps: readonly Step[],
  input: PlanInput,
): PlanDocument {
  const from = fingerprint(target, server, input.exclusion);
  const to = fingerprint(desired, server, input.exclusion);
  const statements = [...classifySteps(parser, steps)];
  const { selectors } = input.exclusion;
  return {
    format_version: 1,
    name: `plan_${createHash("sha256").update(`${from}\n${to}`).digest("hex").slice(0, 12)}`,
    dialect: "postgres",
    from_fingerprint: from,
    to_fingerprint: to,
    ...(selectors.length === 0 ? {} : { exclude: [...selectors] }),
    destructive: statements.some((s) => s.class.destructive),
    statements,
  };
}
