import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { plan } from "@supabase/pg-delta";
import { encodePlan, type PlanDocument, type PlanStatement } from "../../sql/index.ts";
import { Failure, Refused } from "../contract.ts";
import { columnOrderFindings, compareCatalogs, viewCanBeReplaced } from "./catalog.ts";
import { classifySteps } from "./classes.ts";
import { type Base, emptyReadOnce } from "./clone.ts";
import { type CompareInput, type Comparison, type Sides, withComparison } from "./compare.ts";
import { planSteps, type Step } from "./differ.ts";
import { fillByDump } from "./dump.ts";
import type { TransactionMode } from "./execute.ts";
import { holdFence } from "./protect.ts";
import { provenSteps } from "./prove.ts";
import { rowChangesOf } from "./row-changes.ts";
import type { ServerFacts } from "./server.ts";
import { type Spelling, spellingOf } from "./spelling.ts";
import { differOptions, fingerprint, readView, type View } from "./view.ts";

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
    const { server, parser, scratch } = comparison;
    const { target, desired: declared } = await comparison.read(readView);
    const base: Base = { server, empty: emptyReadOnce() };
    const found = {
      columnOrder: columnOrderFindings(target.catalog, declared.catalog),
      serverVersionNum: server.versionNum,
    };
    if (isSame(target, declared, server)) return { outcome: "no-changes", ...found };
    const spelling = await spellingOf({ scratch, base, target, declared, exclusion: input.exclusion });
    const { wanted } = spelling;
    if (isSame(target, wanted, server)) return { outcome: "no-changes", ...found };
    const steps = await prove(comparison, base, target, spelling, input);
    holdFence(parser, steps, input.protectedTables);
    refuseBoundaries(steps, input.mode);
    const changes = await comparison.readTarget((session) => rowChangesOf(session, parser, steps));
    const statements = classifySteps(parser, steps, changes);
    const document = documentOf(comparison, { target, desired: wanted }, statements, input);
    const encoded = encodePlan(document);
    if ("error" in encoded) {
      throw new Refused(encoded.error.code, `${encoded.error.message}; split the schema over several resources`);
    }
    save(input.output, encoded.bytes);
    const digest = `sha256:${createHash("sha256").update(encoded.bytes).digest("hex")}`;
    return { outcome: "changes", plan: document, digest, ...found };
  });
}

/** @throws Failure `prepare_plan` with the system's word for why: a full work volume is somebody's to mend, and no defect. */
function save(path: string, bytes: Uint8Array): void {
  try {
    writeFileSync(path, bytes, { mode: 0o600 });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
    throw new Failure(
      "prepare_plan",
      `the plan of ${bytes.byteLength} bytes cannot be written (${code}); nothing was changed; give the work directory more room, or name another file`,
    );
  }
}

/** Neither reader sees a difference. */
function isSame(target: View, wanted: View, server: ServerFacts): boolean {
  return (
    compareCatalogs(target.catalog, wanted.catalog).length === 0 &&
    plan(target.facts, wanted.facts, differOptions(server)).actions.length === 0
  );
}

const PROOF_FAILURES: ReadonlySet<string> = new Set(["plan_fails_on_clone", "not_managed", "plan_not_stable"]);

/** Proves the gentler plan where there is one; what cannot be proven gives way to the plain plan. */
async function prove(
  { server, scratch, parser }: Comparison,
  base: Base,
  target: View,
  spelling: Spelling,
  input: PlanInput,
): Promise<readonly Step[]> {
  const { wanted } = spelling;
  const { dumpBinary, exclusion } = input;
  const { steps, gentler } = planSteps({
    from: target.facts,
    to: wanted.facts,
    server,
    canReplace: (schema, name) => viewCanBeReplaced(target.catalog, wanted.catalog, schema, name),
  });
  holdFence(parser, gentler ?? steps, input.protectedTables);
  const fill = dumpBinary === undefined ? undefined : fillByDump(dumpBinary, input.target, input.stop.signal);
  const attempt = async (some: readonly Step[]): Promise<readonly Step[]> => {
    const clone = await scratch.openDatabase();
    return provenSteps({
      clone,
      target,
      spelling,
      base,
      steps: some,
      exclusion,
      ...(fill === undefined ? {} : { fill }),
    });
  };
  if (gentler === undefined) return attempt(steps);
  try {
    return await attempt(gentler);
  } catch (error) {
    if (error instanceof Refused && PROOF_FAILURES.has(error.refusal.code)) return attempt(steps);
    throw error;
  }
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
  { server }: Comparison,
  { target, desired }: Sides<View>,
  statements: readonly PlanStatement[],
  input: PlanInput,
): PlanDocument {
  const from = fingerprint(target, server, input.exclusion);
  const to = fingerprint(desired, server, input.exclusion);
  const { selectors } = input.exclusion;
  return {
    format_version: 1,
    name: `plan_${createHash("sha256").update(`${from}\n${to}`).digest("hex").slice(0, 12)}`,
    dialect: "postgres",
    from_fingerprint: from,
    to_fingerprint: to,
    ...(selectors.length === 0 ? {} : { exclude: [...selectors] }),
    destructive: statements.some((s) => s.class.destructive),
    statements: [...statements],
  };
}
