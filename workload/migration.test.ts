import { describe, expect, test } from "bun:test";
import type { MigrationHistory, MigrationRun } from "./migration.ts";
import { type OperationResult, parseResult } from "./result.ts";
import { encodeSummary, readSummary } from "./summary.ts";

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
const error = { code: "apply_failed", message: "no" };

const history: MigrationHistory = {
  contractVersion: 1,
  currentVersion: 1,
  totalMigrations: 3,
  hasPendingChanges: true,
  pendingMigrations: [2, 3],
  migrations: [
    { version: 1, checksum: "a", appliedChecksum: "a", state: "applied" },
    { version: 2, checksum: "b", state: "pending", transactionMode: "none" },
    { version: 3, checksum: "c", state: "pending" },
  ],
  revisions: [{ version: 1, state: "applied", appliedAt: "2026-01-02T03:04:05Z", applied: 1, total: 1 }],
};
const reading = { ...base, operation: "migration-history" } as const;
const read = (changes: object): object => ({ ...reading, migrationHistory: { ...history, ...changes } });

describe("a history", () => {
  test("is a success's own document, and holds together", () => {
    expect(parseResult(read({}))).toMatchObject({ ok: true });
    expect(parseResult(read({ hasPendingChanges: false, pendingMigrations: [] }))).toMatchObject({ ok: true });
    expect(parseResult(read({ unknownVersions: [9], currentVersion: 9 }))).toMatchObject({ ok: true });
    expect(parseResult({ ...reading, error })).toMatchObject({ ok: true });
  });

  const bad: Readonly<Record<string, object>> = {
    "with an unknown state": read({ migrations: [{ version: 1, state: "odd" }] }),
    "with a version twice": read({ migrations: [...history.migrations.slice(1), { version: 2, state: "pending" }] }),
    "with version zero": read({ migrations: [{ version: 0, state: "applied" }] }),
    "with a negative version": read({ pendingMigrations: [-2, 3] }),
    "with more records than migrations": read({ totalMigrations: 2 }),
    "without a contract version": read({ contractVersion: undefined }),
    "of another contract": read({ contractVersion: 2 }),
    "that contradicts its pending versions": read({ hasPendingChanges: false }),
    "in which a version is pending twice": read({ pendingMigrations: [2, 2] }),
    "in which an applied version is pending": read({ pendingMigrations: [1, 2] }),
    "in which an unrecorded version is pending": read({ pendingMigrations: [2, 9] }),
    "that holds a version and calls it unknown": read({ unknownVersions: [2] }),
    "with a revision twice": read({ revisions: [history.revisions?.[0], history.revisions?.[0]] }),
    "with more revisions than it may carry": read({
      revisions: Array.from({ length: 33 }, (_, i) => ({ version: i + 1, state: "applied", applied: 1, total: 1 })),
    }),
    "with a field nobody knows": read({ sql: "DROP TABLE a" }),
    "that is missing from a success": reading,
    "beside an error": { ...read({}), error },
    "in another operation": { ...read({}), operation: "plan", planOutcome: "NoChanges" },
  };
  for (const [name, value] of Object.entries(bad)) {
    test(`is refused ${name}`, () => expect(parseResult(value)).toMatchObject({ ok: false }));
  }
});

const run: MigrationRun = { contractVersion: 1, outcome: "applied", planned: [2, 3], applied: [2, 3] };
const failure = { version: 3, statement: 2, sqlState: "23000", mysqlErrno: 1062 };
const changed = { ...base, operation: "migration-apply", mutationStarted: true } as const;
const open = { ...changed, uncertain: true } as const;
const apply = { ...base, operation: "migration-apply" } as const;

describe("a migration's run", () => {
  const good: Readonly<Record<string, object>> = {
    "one that applied": { ...changed, migrationRun: run },
    "one that applied and was ended by a signal after its report": {
      ...changed,
      childExitCode: -1,
      migrationRun: run,
    },
    "one with nothing to do": { ...apply, migrationRun: { ...run, outcome: "up-to-date", planned: [], applied: [] } },
    "one that failed after a commit": {
      ...changed,
      error,
      migrationRun: { ...run, outcome: "failed", applied: [2], failure },
    },
    "one that failed before it selected anything": {
      ...changed,
      error,
      migrationRun: { ...run, outcome: "failed", planned: [], applied: [] },
    },
    "one that stopped half-way": {
      ...open,
      error,
      migrationRun: { ...run, outcome: "partial", applied: [2], failure },
    },
    "one nobody knows the end of": { ...open, error, migrationRun: { ...run, outcome: "unknown", applied: [] } },
    "one that left no report": { ...open, childExitCode: -1, error },
    "one that never started": { ...apply, childStarted: false, childExitCode: -1, error },
    "one that only pretended": { ...apply, error, migrationRun: { ...run, outcome: "dry-run", applied: [] } },
  };
  for (const [name, value] of Object.entries(good)) {
    test(`can be ${name}`, () => expect(parseResult(value)).toMatchObject({ ok: true }));
  }

  const bad: Readonly<Record<string, object>> = {
    "claims that nothing mutated when it applied": { ...apply, migrationRun: run },
    "claims a mutation when there was nothing to do": {
      ...changed,
      migrationRun: { ...run, outcome: "up-to-date", planned: [], applied: [] },
    },
    "is partial and certain": { ...changed, error, migrationRun: { ...run, outcome: "partial" } },
    "failed and is uncertain": { ...open, error, migrationRun: { ...run, outcome: "failed" } },
    "left no report and claims certainty": { ...changed, error },
    "left no report and succeeded": open,
    "failed without an error": { ...changed, migrationRun: { ...run, outcome: "failed", applied: [2] } },
    "is unknown without an error": { ...open, migrationRun: { ...run, outcome: "unknown", applied: [2] } },
    "never started and has a run": { ...apply, childStarted: false, childExitCode: -1, error, migrationRun: run },
    "applied what it had not planned": { ...changed, migrationRun: { ...run, applied: [2, 3, 4] } },
    "applied less than it planned": { ...changed, migrationRun: { ...run, applied: [2] } },
    "names a version twice": { ...changed, migrationRun: { ...run, planned: [2, 2], applied: [2, 2] } },
    "applied nothing at all": { ...changed, migrationRun: { ...run, planned: [], applied: [] } },
    "applied and names a failure": { ...changed, migrationRun: { ...run, failure } },
    "failed in a version it had not planned": {
      ...changed,
      error,
      migrationRun: { ...run, outcome: "failed", applied: [], failure: { ...failure, version: 9 } },
    },
    "failed in statement zero": {
      ...changed,
      error,
      migrationRun: { ...run, outcome: "failed", applied: [2], failure: { ...failure, statement: 0 } },
    },
    "has another outcome": { ...changed, migrationRun: { ...run, outcome: "rolled-back" } },
    "is in another operation": { ...changed, operation: "apply", migrationRun: run },
  };
  for (const [name, value] of Object.entries(bad)) {
    test(`is refused when it ${name}`, () => expect(parseResult(value)).toMatchObject({ ok: false }));
  }

  test("is summarised by outcome and range", () => {
    const result: OperationResult = {
      ...open,
      operationId: "ü".repeat(256),
      error: { code: `a${"b".repeat(63)}`, message: "x" },
      migrationRun: {
        ...run,
        outcome: "unknown",
        planned: Array.from({ length: 256 }, (_, i) => Number.MAX_SAFE_INTEGER - 256 + i),
        applied: Array.from({ length: 255 }, (_, i) => Number.MAX_SAFE_INTEGER - 256 + i),
      },
    };
    const text = encodeSummary(result, digest("f"));
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2_048);
    const summary = readSummary(text, { operation: "migration-apply", operationID: result.operationId });
    expect(summary?.migration).toEqual({
      outcome: "unknown",
      appliedCount: 255,
      firstApplied: Number.MAX_SAFE_INTEGER - 256,
      lastApplied: Number.MAX_SAFE_INTEGER - 2,
    });
    expect(summary).toMatchObject({ mutationStarted: true, uncertain: true });
  });
});
