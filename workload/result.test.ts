import { describe, expect, test } from "bun:test";
import { type OperationResult, parseResult } from "./result.ts";
import { encodeSummary, readSummary, summaryMayReplace } from "./summary.ts";

const digest = (c: string): string => `sha256:${c.repeat(64)}`;
const base = {
  protocolVersion: 1,
  operationId: digest("a"),
  childExitCode: 0,
  childStarted: true,
  stdout: "",
  coordinationDigest: digest("b"),
  targetIdentityDigest: digest("c"),
} as const;
const error = { code: "child_exit", message: "no" };
const version = { observedDialect: "postgres", serverVersion: "15.14", serverMajor: 15 } as const;
const drift = {
  driftReportDigest: digest("d"),
  observedDrift: true,
  driftFindingCount: 3,
  highestDriftSeverity: "destructive",
};
const findings = [
  { category: "tables_removed", count: 1, severity: "destructive" },
  { category: "columns_added", count: 2, severity: "safe" },
];

describe("a result", () => {
  const good: Record<string, object> = {
    "an observation of the version only": { ...base, operation: "observe", ...version },
    "an observation with drift": { ...base, operation: "observe", ...version, ...drift, driftFindings: findings },
    "a converged observation": {
      ...base,
      operation: "observe",
      ...version,
      driftReportDigest: digest("d"),
      observedDrift: false,
      driftFindingCount: 0,
      driftFindings: [],
    },
    "an unchanged plan": { ...base, operation: "plan", planOutcome: "NoChanges" },
    "an apply": { ...base, operation: "apply", mutationStarted: true },
    "an apply whose child ended by a signal after it reported": {
      ...base,
      operation: "apply",
      childExitCode: -1,
      mutationStarted: true,
    },
    "an apply refused before its child": { ...base, operation: "apply", childStarted: false, childExitCode: -1, error },
    "an apply error after the start": { ...base, operation: "apply", mutationStarted: true, uncertain: true, error },
    "a refused plan": {
      ...base,
      operation: "plan",
      error,
      refusal: { code: "protected-table", tables: ["a.b"], statement: 2 },
    },
  };
  for (const [name, value] of Object.entries(good)) {
    test(`is ${name}`, () => expect(parseResult(value)).toMatchObject({ ok: true }));
  }

  const bad: Record<string, object> = {
    "of another protocol": { ...base, protocolVersion: 2, operation: "apply", mutationStarted: true },
    "with an unknown field": { ...base, operation: "apply", mutationStarted: true, secret: "x" },
    "an apply error after the start that claims certainty": {
      ...base,
      operation: "apply",
      mutationStarted: true,
      error,
    },
    "an apply whose child started and nothing mutated": { ...base, operation: "apply" },
    "a successful apply that is uncertain": { ...base, operation: "apply", mutationStarted: true, uncertain: true },
    "a mutation outside an apply": { ...base, operation: "plan", planOutcome: "NoChanges", mutationStarted: true },
    "a mutation without a child": {
      ...base,
      operation: "apply",
      childStarted: false,
      childExitCode: -1,
      mutationStarted: true,
      uncertain: true,
      error,
    },
    "a success without its realm": {
      ...base,
      operation: "plan",
      planOutcome: "NoChanges",
      coordinationDigest: undefined,
    },
    "a changed plan without a document": { ...base, operation: "plan", planOutcome: "Changes" },
    "an unchanged plan with a document": { ...base, operation: "plan", planOutcome: "NoChanges", stdout: "x" },
    "a plan document in an apply": { ...base, operation: "apply", mutationStarted: true, stdout: "x" },
    "findings in the wrong order": {
      ...base,
      operation: "observe",
      ...version,
      ...drift,
      driftFindings: [...findings].reverse(),
    },
    "finding counts that do not add up": {
      ...base,
      operation: "observe",
      ...version,
      ...drift,
      driftFindingCount: 9,
      driftFindings: findings,
    },
    "drift findings without a report": { ...base, operation: "observe", ...version, observedDrift: true },
    "a digest in upper case": {
      ...base,
      operation: "plan",
      planOutcome: "NoChanges",
      targetIdentityDigest: digest("C"),
    },
    "a truncated success": {
      ...base,
      operation: "plan",
      planOutcome: "NoChanges",
      truncation: { stdout: true, stdoutBytesDropped: 1, stderr: false, stderrBytesDropped: 0 },
    },
  };
  for (const [name, value] of Object.entries(bad)) {
    test(`is not ${name}`, () => expect(parseResult(value)).toMatchObject({ ok: false }));
  }

  test("that is refused is described by place and never by value", () => {
    const parsed = parseResult({
      ...base,
      operation: "apply",
      mutationStarted: true,
      operationId: 5,
      stdout: "s3cret",
    });
    expect(JSON.stringify(parsed)).toContain("operationId");
    expect(JSON.stringify(parsed)).not.toContain("s3cret");
  });
});

describe("the termination summary", () => {
  const refused = { ...base, operation: "apply", childStarted: false, childExitCode: -1, error } as OperationResult;
  const binding = { operation: "apply", operationID: digest("a") } as const;
  const text = encodeSummary(refused, digest("f"));

  test("says what a run did not do, and why", () => {
    const summary = readSummary(text, binding);
    expect(summary).toMatchObject({ childStarted: false, errorCode: "child_exit", frameDigest: digest("f") });
    expect(summary?.mutationStarted).toBeUndefined();
  });
  test("is at most 2 KiB with every field at its bound", () => {
    const full = {
      ...refused,
      operationId: "ü".repeat(256),
      error: { code: `a${"b".repeat(63)}`, message: "x".repeat(4_000) },
    };
    expect(Buffer.byteLength(encodeSummary(full, digest("f")))).toBeLessThanOrEqual(2_048);
  });
  test("is found behind text of the container runtime, alone and last", () => {
    expect(readSummary(`runtime said something\n${text}`, binding)).toBeDefined();
    expect(readSummary(text + text, binding)).toBeUndefined();
    expect(readSummary(`${text}more`, binding)).toBeUndefined();
    expect(readSummary(text.slice(0, -1), binding)).toBeUndefined();
  });
  test("of another operation is not read", () => {
    expect(readSummary(text, { ...binding, operationID: digest("b") })).toBeUndefined();
    expect(readSummary(text, { operation: "plan", operationID: digest("a") })).toBeUndefined();
  });
  test("stands in for a lost frame only when every header left names its digest", () => {
    const summary = readSummary(text, binding);
    if (summary === undefined) throw new Error("no summary");
    expect(summaryMayReplace(summary, [])).toBe(true);
    expect(summaryMayReplace(summary, [digest("f"), digest("f")])).toBe(true);
    expect(summaryMayReplace(summary, [digest("f"), digest("e")])).toBe(false);
  });
});
