/** What a Pod of an operation found or did, and the result an honest runner prints for it. */
import { sha256Digest } from "../../crds/canonical.ts";
import type { OperationResult } from "../../workload/result.ts";
import type { FamilyName } from "../families/types.ts";
import { historyDocument, type RunEnd, runDocument } from "./revisions.ts";
import { planText, REALM, targetIdentity } from "./values.ts";

/** What a Pod found, as few bits; `resultOf` writes it out. */
export interface Frame {
  readonly family: FamilyName;
  readonly type: "Observe" | "Plan" | "History" | "Apply";
  readonly outcome: "ok" | "failed" | "refused" | "uncertain" | "otherVersion" | "protected" | "unplannable";
  /** Database the Pod's Secret named. */
  readonly database: number;
  /** Database state it read (reads), empty for an Apply. */
  readonly state: string;
  /** Content it compared with; empty for a reading of the version alone. */
  readonly desired: string;
  readonly exclude: boolean;
  /** Major version of the server. */
  readonly major: number;
  /** How a run of versions ended, where it began. */
  readonly run?: RunEnd | undefined;
  /** Ghost: a statement of an Apply of ours was executed after this reading. */
  readonly dirty: boolean;
}

/** Whether the Pod that printed this exits well. */
export const succeeded = ({ type, outcome }: Frame): boolean =>
  outcome === "ok" || (type === "History" && outcome === "unplannable");

const results = new Map<string, OperationResult>();

/** The result an honest runner prints for what it found. */
export function resultOf(frame: Frame, operationID: string, realm = REALM): OperationResult {
  const key = `${operationID} ${realm} ${frame.type} ${frame.outcome} ${frame.database} ${frame.state} ${frame.desired} ${frame.exclude} ${frame.major} ${runKey(frame)} ${frame.family}`;
  const known = results.get(key);
  if (known !== undefined) return known;
  if (results.size > 20_000) results.clear();
  const result = build(frame, operationID, realm);
  results.set(key, result);
  return result;
}

/** How a run ended, as one word. */
export const runKey = ({ run }: Frame): string =>
  run === undefined ? "" : `${run.outcome} ${run.planned} ${run.applied}`;

const OPERATIONS = { Observe: "observe", Plan: "plan", History: "migration-history", Apply: "apply" } as const;
const RUN = "migration-apply" as const;
const CODES = {
  failed: "database_error",
  uncertain: "database_error",
  refused: "refused_to_start",
  otherVersion: "server_version_changed",
  protected: "protected_table",
  unplannable: "plan_refused",
} as const;

const serverOf = (major: number) =>
  ({ observedDialect: "postgresql", serverVersion: `${major}.2`, serverMajor: major }) as const;

function build(frame: Frame, operationId: string, realm: string): OperationResult {
  const started = frame.outcome !== "refused";
  const base = {
    protocolVersion: 1 as const,
    operation: frame.family === "migration" && frame.type === "Apply" ? RUN : OPERATIONS[frame.type],
    operationId,
    childStarted: started,
    childExitCode: started ? 0 : -1,
    stdout: "",
    coordinationDigest: realm,
    targetIdentityDigest: targetIdentity(frame.database),
  };
  if (frame.run !== undefined) return { ...base, ...ranTo(frame.run) };
  if (frame.type === "History" && frame.outcome === "unplannable") {
    return { ...base, migrationHistory: historyDocument(frame.state, frame.desired, false) };
  }
  if (frame.outcome !== "ok") {
    const wrote = frame.type === "Apply" && started ? { mutationStarted: true, uncertain: true } : {};
    const code = CODES[frame.outcome];
    const read = frame.outcome === "otherVersion" ? serverOf(frame.major) : {};
    const childExitCode = started ? 1 : -1;
    return { ...base, ...read, childExitCode, ...wrote, error: { code, message: "The operation failed." } };
  }
  switch (frame.type) {
    case "Apply":
      return { ...base, mutationStarted: true };
    case "History":
      return { ...base, migrationHistory: historyDocument(frame.state, frame.desired) };
    case "Observe":
      return { ...base, ...serverOf(frame.major), ...observed(frame) };
    case "Plan":
      return { ...base, ...serverOf(frame.major), ...planned(frame) };
  }
}

function ranTo(run: RunEnd): Partial<OperationResult> {
  const migrationRun = runDocument(run);
  if (run.outcome === "applied" || run.outcome === "up-to-date") {
    return { migrationRun, ...(run.outcome === "applied" ? { mutationStarted: true } : {}) };
  }
  return {
    migrationRun,
    childExitCode: 1,
    mutationStarted: true,
    ...(run.outcome === "failed" ? {} : { uncertain: true }),
    error: { code: "migration_failed", message: "The run did not end as it should." },
  };
}

function observed(frame: Frame): Partial<OperationResult> {
  // A reading of the version alone compares nothing.
  if (frame.desired === "") return {};
  const driftReportDigest = sha256Digest(`drift ${frame.state} ${frame.desired}`);
  if (frame.state === frame.desired) return { driftReportDigest, observedDrift: false, driftFindingCount: 0 };
  return {
    driftReportDigest,
    observedDrift: true,
    driftFindingCount: 1,
    highestDriftSeverity: "info",
    driftFindings: [{ category: "tables", count: 1, severity: "info" }],
  };
}

function planned(frame: Frame): Partial<OperationResult> {
  if (frame.state === frame.desired) return { planOutcome: "NoChanges" };
  const plan = planText(frame.state, frame.desired, frame.exclude);
  return { stdout: plan.text, planOutcome: "Changes", planContentDigest: plan.digest };
}
