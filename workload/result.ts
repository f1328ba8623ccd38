import * as v from "valibot";
import {
  DRIFT_FINDINGS_MAX,
  ERROR_MESSAGE_BYTES_MAX,
  OPERATION_ID_LENGTH_MAX,
  PLAN_SIZE_BYTES_MAX,
  REFUSED_NAMES_MAX,
  RUNNER_PROTOCOL_VERSION,
} from "./limits.ts";
import {
  historyProblem,
  MigrationHistory,
  MigrationRun,
  outcomeIsUncertain,
  outcomeMutates,
  runProblem,
} from "./migration.ts";

/**
 * What one operation found, as the runner states it in its frame (reference, runner contract 2.2). Parsed here at the
 * door; everything behind works on `OperationResult`.
 */

const Digest = v.pipe(v.string(), v.regex(/^sha256:[0-9a-f]{64}$/));
const Count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** From harmless to worst; the order is the order of comparison. */
export const SEVERITIES = ["safe", "info", "warning", "error", "destructive"] as const;
export type Severity = (typeof SEVERITIES)[number];

const DriftFinding = v.strictObject({
  category: v.pipe(v.string(), v.regex(/^[a-z][a-z0-9_]{0,63}$/)),
  count: v.pipe(v.number(), v.integer(), v.minValue(1)),
  severity: v.picklist(SEVERITIES),
});
export type DriftFinding = v.InferOutput<typeof DriftFinding>;

const Names = v.pipe(v.array(v.pipe(v.string(), v.maxLength(256))), v.maxLength(REFUSED_NAMES_MAX));

const Refusal = v.strictObject({
  /** The executor's own stable code, for example `stale-plan`. */
  code: v.pipe(v.string(), v.regex(/^[a-z][a-z0-9._-]{0,63}$/)),
  tables: v.optional(Names),
  /** Named things the refusal is about: objects, roles, extensions, file positions. */
  objects: v.optional(Names),
  /** Position of the statement concerned, from 1, and the server's SQLSTATE. */
  statement: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  sqlstate: v.optional(v.pipe(v.string(), v.regex(/^[0-9A-Z]{5}$/))),
  changed: v.optional(v.pipe(v.string(), v.regex(/^[a-z][a-z0-9_-]{0,63}$/))),
});

const ResultError = v.strictObject({
  code: v.pipe(v.string(), v.regex(/^[a-z][a-z0-9_]{0,63}$/)),
  message: v.pipe(
    v.string(),
    v.check((text) => Buffer.byteLength(text) <= ERROR_MESSAGE_BYTES_MAX),
  ),
});

const Truncation = v.strictObject({
  stdout: v.boolean(),
  stdoutBytesDropped: Count,
  stderr: v.boolean(),
  stderrBytesDropped: Count,
});

/** The operations of the wire, in the runner's spelling. */
export const WIRE_OPERATIONS = ["observe", "plan", "apply", "migration-history", "migration-apply"] as const;
export type WireOperation = (typeof WIRE_OPERATIONS)[number];

/** Whether an operation's child changes the database. */
export const isMutating = (operation: WireOperation): boolean =>
  operation === "apply" || operation === "migration-apply";

const Result = v.strictObject({
  protocolVersion: v.literal(RUNNER_PROTOCOL_VERSION),
  operation: v.picklist(WIRE_OPERATIONS),
  operationId: v.pipe(v.string(), v.minLength(1), v.maxLength(OPERATION_ID_LENGTH_MAX)),
  /** Exit status of the child; -1 when there is none (never started, or ended by a signal). */
  childExitCode: v.pipe(v.number(), v.integer(), v.minValue(-1), v.maxValue(255)),
  /** Whether the executor process was started at all: a refusal before it did nothing to any database. */
  childStarted: v.boolean(),
  /** The plan document of a changed plan; empty otherwise. */
  stdout: v.pipe(
    v.string(),
    v.check((text) => Buffer.byteLength(text) <= PLAN_SIZE_BYTES_MAX),
  ),
  coordinationDigest: v.optional(Digest),
  targetIdentityDigest: v.optional(Digest),
  serverVersion: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(64), v.regex(/^[0-9A-Za-z .()~+_-]+$/))),
  serverMajor: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(999))),
  driftReportDigest: v.optional(Digest),
  observedDialect: v.optional(v.picklist(["postgres", "postgresql", "mysql", "mariadb"])),
  observedDrift: v.optional(v.boolean()),
  highestDriftSeverity: v.optional(v.picklist(SEVERITIES)),
  driftFindingCount: v.optional(Count),
  driftFindings: v.optional(v.pipe(v.array(DriftFinding), v.maxLength(DRIFT_FINDINGS_MAX))),
  driftFindingsTruncated: v.optional(v.boolean()),
  planContentDigest: v.optional(Digest),
  planOutcome: v.optional(v.picklist(["Changes", "NoChanges"])),
  migrationHistory: v.optional(MigrationHistory),
  migrationRun: v.optional(MigrationRun),
  refusal: v.optional(Refusal),
  mutationStarted: v.optional(v.boolean()),
  uncertain: v.optional(v.boolean()),
  error: v.optional(ResultError),
  truncation: v.optional(Truncation),
});

/** One operation's result; see `resultProblem` for what holds between its fields. */
export type OperationResult = Readonly<v.InferOutput<typeof Result>>;

/** What a run that ended in an error says about the database, for messages and decisions. */
export type ParsedResult =
  | { readonly ok: true; readonly result: OperationResult }
  | { readonly ok: false; readonly problem: string };

/**
 * A decoded payload as a result, or the first thing wrong with it (a sentence without any of the payload's own text).
 * The caller binds it to an operation; here only the document itself is judged.
 */
export function parseResult(value: unknown): ParsedResult {
  const parsed = v.safeParse(Result, value);
  if (!parsed.success) {
    const path = parsed.issues[0].path?.map((item) => String(item.key)).join(".") ?? "";
    return { ok: false, problem: `field ${path === "" ? "(document)" : path} is not what the contract allows` };
  }
  const problem = resultProblem(parsed.output);
  return problem === undefined ? { ok: true, result: parsed.output } : { ok: false, problem };
}

type Rule = (r: OperationResult) => string | undefined;
const when = (wrong: boolean, problem: string): string | undefined => (wrong ? problem : undefined);

/** Rules between fields, in the order of the reference (runner contract 2.2). */
const RULES: readonly Rule[] = [
  (r) =>
    when(
      r.error === undefined && r.childExitCode === -1 && !isMutating(r.operation),
      "a success without an exit status",
    ),
  (r) => when(r.error === undefined && r.truncation !== undefined, "a success whose output was truncated"),
  (r) => when(r.error === undefined && !r.childStarted, "a success without a child"),
  (r) => when(!r.childStarted && r.childExitCode !== -1, "an exit status of a child that never started"),
  (r) => when(r.uncertain === true && r.mutationStarted !== true, "uncertain without a started mutation"),
  (r) => when(r.mutationStarted === true && !isMutating(r.operation), "a mutation outside an Apply"),
  (r) => when(r.mutationStarted === true && !r.childStarted, "a mutation without a child"),
  (r) => when(r.refusal !== undefined && r.error === undefined, "a refusal without an error"),
  (r) => when(r.error === undefined && r.coordinationDigest === undefined, "a success without its realm digest"),
  (r) => when(r.error === undefined && r.targetIdentityDigest === undefined, "a success without its target digest"),
  (r) => when((r.stdout !== "" || r.planOutcome !== undefined) && r.operation !== "plan", "a plan outside a Plan"),
  applyRule,
  planRule,
  observeRule,
  historyRule,
  migrationRunRule,
];

/** The first rule between fields that a result breaks, or undefined. The runner holds itself to it before it prints. */
export function resultProblem(result: OperationResult): string | undefined {
  for (const rule of RULES) {
    const problem = rule(result);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function applyRule(r: OperationResult): string | undefined {
  if (r.operation !== "apply" || !r.childStarted) return undefined;
  if (r.mutationStarted !== true) return "an Apply whose child started says that no mutation started";
  // Every error after the start leaves the outcome open, refusals included (reference 2.5).
  if (r.error === undefined && r.uncertain === true) return "a successful Apply that is uncertain";
  if (r.error !== undefined && r.uncertain !== true) return "an Apply error after the start that claims certainty";
  return undefined;
}

function historyRule(r: OperationResult): string | undefined {
  const { migrationHistory: history } = r;
  if (r.operation !== "migration-history") return when(history !== undefined, "a history outside its reading");
  if (r.error !== undefined) return when(history !== undefined, "a failed reading that carries a history");
  return history === undefined ? "a successful reading without a history" : historyProblem(history);
}

/** Only a decoded run narrows what a started migration Apply leaves open (reference 2.5). */
function migrationRunRule(r: OperationResult): string | undefined {
  const { migrationRun: run } = r;
  if (r.operation !== "migration-apply") return when(run !== undefined, "a migration run outside a migration Apply");
  if (!r.childStarted) return when(run !== undefined, "a migration run of a child that never started");
  const mutates = run === undefined || outcomeMutates(run.outcome);
  const uncertain = run === undefined || outcomeIsUncertain(run.outcome);
  if ((r.mutationStarted === true) !== mutates || (r.uncertain === true) !== uncertain) {
    return "a migration Apply whose flags contradict its run";
  }
  if (run === undefined) return when(r.error === undefined, "a successful migration Apply without its run");
  const succeeded = run.outcome === "applied" || run.outcome === "up-to-date";
  if (r.error === undefined && !succeeded) return "a successful migration Apply whose run did not succeed";
  return runProblem(run);
}

function planRule(r: OperationResult): string | undefined {
  if (r.operation !== "plan") return undefined;
  if (r.error !== undefined)
    return when(r.stdout !== "" || r.planOutcome !== undefined, "a failed Plan that carries a plan");
  if (r.planOutcome === undefined) return "a successful Plan without an outcome";
  const carries = r.stdout !== "" && r.planContentDigest !== undefined;
  if (r.planOutcome === "Changes") return when(!carries, "a changed Plan without its document and digest");
  return when(r.stdout !== "" || r.planContentDigest !== undefined, "an unchanged Plan that carries a document");
}

function observeRule(r: OperationResult): string | undefined {
  const drift = r.driftReportDigest !== undefined;
  if (r.operation !== "observe") return when(drift, "a drift report outside an Observe");
  if (r.error !== undefined) return undefined;
  if (r.observedDialect === undefined || r.serverVersion === undefined || r.serverMajor === undefined) {
    return "an observation without dialect and server version";
  }
  if (!drift) {
    // A first reading has no scratch server to compare with and reports only the version.
    const rest = r.observedDrift ?? r.highestDriftSeverity ?? r.driftFindingCount ?? r.driftFindings;
    return when(rest !== undefined, "drift findings without a drift report");
  }
  if (r.observedDrift === undefined) return "a drift report that does not say whether there is drift";
  return findingsProblem(r);
}

function findingsProblem(r: OperationResult): string | undefined {
  const findings = r.driftFindings ?? [];
  const total = findings.reduce((sum, finding) => sum + finding.count, 0);
  if (r.driftFindingsTruncated === true ? total > (r.driftFindingCount ?? 0) : total !== (r.driftFindingCount ?? 0)) {
    return "drift finding counts that do not add up";
  }
  for (let i = 1; i < findings.length; i += 1) {
    if (compareFindings(findings[i - 1], findings[i]) >= 0) return "drift findings that are not sorted";
  }
  const first = findings[0];
  if (first !== undefined && first.severity !== r.highestDriftSeverity) return "a highest severity that no finding has";
  if (r.observedDrift === false && findings.length > 0) return "findings without drift";
  if (r.observedDrift === true && first === undefined && r.highestDriftSeverity !== "safe") {
    return "drift without findings that is not safe";
  }
  return undefined;
}

/** Order of findings: severity from the worst, then category; undefined sorts last. */
export function compareFindings(a: DriftFinding | undefined, b: DriftFinding | undefined): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1;
  const bySeverity = SEVERITIES.indexOf(b.severity) - SEVERITIES.indexOf(a.severity);
  if (bySeverity !== 0) return bySeverity;
  return a.category < b.category ? -1 : a.category > b.category ? 1 : 0;
}
