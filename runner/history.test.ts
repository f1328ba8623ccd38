import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { sha256Hex } from "../crds/canonical.ts";
import { ENV } from "../workload/environment.ts";
import { MIGRATION_VARIABLES, Pod, variablesOf } from "./testing/pod.ts";

/** Each test starts two processes; a busy machine takes its time. */
setDefaultTimeout(60_000);

const pods: Pod[] = [];
const historyPod = (script: Record<string, unknown> = {}): Pod =>
  kept(new Pod("migration-history", script).migrations());
function kept(pod: Pod): Pod {
  pods.push(pod);
  return pod;
}
afterEach(() => {
  for (const pod of pods.splice(0)) pod.dispose();
});

describe("a history reading", () => {
  test("asks the executor once and states its document", async () => {
    const pod = historyPod();
    const ended = await pod.run();
    expect(ended.exitCode).toBe(0);
    expect(ended.result).toMatchObject({
      childStarted: true,
      childExitCode: 0,
      observedDialect: "mariadb",
      serverVersion: "10.11.6-MariaDB-0+deb12u1",
      serverMajor: 10,
      migrationHistory: {
        contractVersion: 1,
        currentVersion: 1,
        totalMigrations: 2,
        hasPendingChanges: true,
        pendingMigrations: [2],
        migrations: [
          { version: 1, checksum: "aa", appliedChecksum: "aa", state: "applied" },
          { version: 2, checksum: "bb", transactionMode: "none", state: "pending" },
        ],
        revisions: [{ version: 1, appliedAt: "2026-01-02T03:04:05Z", executionMillis: 12 }],
      },
    });
    expect(ended.result?.error).toBeUndefined();
    expect(ended.result?.mutationStarted).toBeUndefined();
    const [call, ...more] = pod.calls();
    expect(more).toEqual([]);
    expect(call?.argv).toEqual([
      ...["migrations", "status", "--migrations-dir", join(pod.directory, "migrations"), "--json"],
    ]);
    expect(variablesOf(call)).toEqual([...MIGRATION_VARIABLES]);
  });

  test("needs neither deadlines nor an approved plan, and asks for none", async () => {
    const pod = historyPod();
    pod.env[ENV.dispatchNotAfter] = "long ago";
    expect((await pod.run()).result?.error).toBeUndefined();
  });

  test("leaves out of a row what nobody could read, and keeps the row", async () => {
    const row = { version: 1, state: "applied", applied: 5, total: 1, applied_at: "infinity", execution_millis: -3 };
    const dirty_revision = { version: 2, applied: 7, total: 4 };
    const ended = await historyPod({ status: [{ report: { revisions: [row], dirty_revision } }] }).run();
    expect(ended.result?.migrationHistory?.revisions).toEqual([{ version: 1, state: "applied", applied: 5, total: 1 }]);
    expect(ended.result?.migrationHistory?.dirtyRevision).toEqual(dirty_revision);
  });

  test("carries five thousand versions", async () => {
    const migrations = Array.from({ length: 5_000 }, (_, i) => {
      const checksum = sha256Hex(String(i));
      return { version: i + 1, description: `Step ${i}`, checksum, applied_checksum: checksum, state: "applied" };
    });
    const report = { migrations, total_migrations: 5_000, current_version: 5_000, pending_migrations: [] };
    const ended = await historyPod({ status: [{ report: { ...report, has_pending_changes: false } }] }).run();
    expect(ended.result?.error).toBeUndefined();
    expect(ended.result?.migrationHistory?.migrations).toHaveLength(5_000);
    expect(Buffer.byteLength(ended.log)).toBeLessThan(1_000_000);
  });

  const record = { version: 1, checksum: "aa", state: "applied" };
  const refused: readonly [string, object, string][] = [
    ["without a contract version", { report: { contract_version: null } }, "invalid_migration_history_output"],
    ["of another contract", { report: { contract_version: 2 } }, "invalid_migration_history_output"],
    [
      "with a state nobody knows",
      { report: { migrations: [{ ...record, state: "skipped" }] } },
      "invalid_migration_history_output",
    ],
    [
      "with a version twice",
      { report: { total_migrations: 3, migrations: [record, record] } },
      "invalid_migration_history_output",
    ],
    [
      "with version zero",
      { report: { migrations: [{ ...record, version: 0 }], pending_migrations: [], has_pending_changes: false } },
      "invalid_migration_history_output",
    ],
    ["with more records than migrations", { report: { total_migrations: 1 } }, "invalid_migration_history_output"],
    ["that is no report", { report: null, exit: 2, stderr: "error: unknown flag\n" }, "child_exit"],
    ["with another exit status", { exit: 1 }, "child_exit"],
    ["cut short", { floodBytes: 20_000_000 }, "output_truncated"],
    ["ended by a signal", { suicide: true }, "child_exit"],
    [
      "the executor refuses",
      { report: { outcome: "refused", refusal: { code: "migration_sum_mismatch", objects: ["a.sql"] }, error: "no" } },
      "history_refused",
    ],
    [
      "of a database out of reach",
      { report: { outcome: "failed", failure: { code: "connection_failed" }, error: "no" }, exit: 2 },
      "connection_failed",
    ],
    ["that was canceled", { report: { outcome: "canceled" }, exit: 143 }, "history_failed"],
  ];
  for (const [name, step, code] of refused) {
    test(`${name} is an error without a history: ${code}`, async () => {
      const ended = await historyPod({ status: [step] }).run();
      expect(ended.exitCode).toBe(0);
      expect(ended.result).toMatchObject({ childStarted: true, error: { code } });
      expect(ended.result?.migrationHistory).toBeUndefined();
      expect(ended.result?.mutationStarted).toBeUndefined();
    });
  }

  test("names what the executor refused", async () => {
    const report = { outcome: "refused", refusal: { code: "migration_syntax", objects: ["a.up.sql"], statement: 2 } };
    const ended = await historyPod({ status: [{ report }] }).run();
    expect(ended.result?.refusal).toMatchObject({ code: "migration_syntax", objects: ["a.up.sql"], statement: 2 });
  });

  for (const path of ["", "source/migrations", "oci://registry.example/migrations"]) {
    test(`does not start without a directory of its Pod: "${path}"`, async () => {
      const pod = historyPod();
      pod.env[ENV.migrationsDirectory] = path;
      const ended = await pod.run();
      expect(ended.result).toMatchObject({ childStarted: false, error: { code: "invalid_configuration" } });
      expect(pod.calls()).toEqual([]);
    });
  }

  test("never shows a credential, in a sentence or in a description", async () => {
    const text = `cannot reach ${historyPod().env[ENV.databaseURL]} with s3cret-w0rd`;
    const failing = await historyPod({ status: [{ report: { outcome: "failed", error: text }, stderr: text }] }).run();
    const migrations = [{ version: 1, description: "Set s3cret-w0rd", checksum: "aa", state: "applied" }];
    const report = { migrations, pending_migrations: [], has_pending_changes: false };
    const reading = await historyPod({ status: [{ report }] }).run();
    expect(reading.result?.migrationHistory?.migrations[0]?.description).toBe("Set [REDACTED]");
    for (const ended of [failing, reading]) {
      expect(JSON.stringify(ended.result)).not.toContain("s3cret-w0rd");
      expect(ended.log).not.toContain("s3cret-w0rd");
    }
  });
});
