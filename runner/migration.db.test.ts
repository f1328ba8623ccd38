import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SequenceStep } from "../crds/status/plan.ts";
import { PTAH_SCRIPT } from "../executor/cases/executable.ts";
import { type MysqlServer, runMysql, startMysqlServer } from "../executor/cases/mysql-server.ts";
import { runSql, type TestServer, testServer } from "../executor/cases/test-server.ts";
import { ENV } from "../workload/environment.ts";
import type { MigrationHistory } from "../workload/migration.ts";
import type { OperationResult, WireOperation } from "../workload/result.ts";
import { type Ended, Pod } from "./testing/pod.ts";

/** The runner over the real executor, on a real PostgreSQL and a real MariaDB: what a person's files do, end to end. */
const LIMIT_MS = 180_000;

type Files = Readonly<Record<string, string>>;
interface Engine {
  readonly name: "PostgreSQL" | "MySQL";
  /** Makes an empty database. @returns its URL */
  fresh(name: string): Promise<string>;
  query(url: string, sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

let postgres: TestServer;
let mariadb: MysqlServer;
let executor: string;
const pods: Pod[] = [];

const POSTGRES: Engine = {
  name: "PostgreSQL",
  fresh: async (name) => {
    await runSql(postgres.url("postgres"), `CREATE DATABASE ${name}`);
    return postgres.url(name);
  },
  query: runSql,
};
const MARIADB: Engine = {
  name: "MySQL",
  fresh: async (name) => {
    await runMysql(mariadb.url("mysql"), `CREATE DATABASE ${name}`);
    return mariadb.url(name);
  },
  query: runMysql,
};

beforeAll(async () => {
  [postgres, mariadb] = await Promise.all([testServer(), startMysqlServer()]);
  const directory = mkdtempSync(join(tmpdir(), "ptah-executor-"));
  executor = join(directory, "ptah");
  writeFileSync(executor, PTAH_SCRIPT, { mode: 0o755 });
}, 300_000);

afterAll(async () => {
  await Promise.all([postgres.stop(), mariadb.stop()]);
  rmSync(join(executor, ".."), { recursive: true, force: true });
});

afterEach(() => {
  for (const pod of pods.splice(0)) pod.dispose();
});

function podOf(operation: WireOperation, engine: Engine, url: string, files: Files): Pod {
  const pod = new Pod(operation, {}, executor).target(engine.name, url).migrations();
  pods.push(pod);
  const directory = pod.env[ENV.migrationsDirectory] ?? "";
  mkdirSync(directory);
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(directory, `${name}.up.sql`), text);
    writeFileSync(join(directory, `${name}.down.sql`), "SELECT 1;\n");
  }
  return pod;
}

function succeeded(ended: Ended): OperationResult {
  if (ended.result === undefined || ended.result.error !== undefined) {
    throw new Error(`the operation failed: ${JSON.stringify(ended.result?.error ?? ended.stderr)}`);
  }
  return ended.result;
}

async function historyOf(engine: Engine, url: string, files: Files): Promise<MigrationHistory> {
  const { migrationHistory } = succeeded(await podOf("migration-history", engine, url, files).run());
  if (migrationHistory === undefined) throw new Error("no history");
  return migrationHistory;
}

/** What a plan would hold: the executor's own selection with what the directory says of each version. */
function sequenceOf(history: MigrationHistory): SequenceStep[] {
  return history.pendingMigrations.flatMap((version) => {
    const record = history.migrations.find((m) => m.version === version);
    if (record?.checksum === undefined) throw new Error(`version ${version} has no checksum`);
    const { versionKey, checkpoint, transactionMode } = record;
    return [{ version, checksum: record.checksum, versionKey, checkpoint, transactionMode }];
  });
}

async function apply(engine: Engine, url: string, files: Files, steps: readonly SequenceStep[]): Promise<Ended> {
  return podOf("migration-apply", engine, url, files).approveSequence(steps).run();
}

const FIRST = { "0000000001_create_orders": "CREATE TABLE orders (id int PRIMARY KEY);\n" };
const SECOND = { ...FIRST, "0000000002_add_note": "ALTER TABLE orders ADD COLUMN note varchar(20);\n" };

for (const engine of [POSTGRES, MARIADB]) {
  describe(`a migration over the real executor on ${engine.name}`, () => {
    test(
      "is read, run as approved, and read as done",
      async () => {
        const url = await engine.fresh("story");
        const before = await historyOf(engine, url, SECOND);
        expect(before).toMatchObject({ currentVersion: 0, totalMigrations: 2, pendingMigrations: [1, 2] });

        const run = succeeded(await apply(engine, url, SECOND, sequenceOf(before)));
        expect(run).toMatchObject({
          ...{ mutationStarted: true, uncertain: false },
          migrationRun: { outcome: "applied", planned: [1, 2], applied: [1, 2] },
        });
        expect(await engine.query(url, "SELECT note FROM orders")).toHaveLength(0);

        const after = await historyOf(engine, url, SECOND);
        expect(after).toMatchObject({ currentVersion: 2, hasPendingChanges: false, pendingMigrations: [] });
        expect(after.migrations.map((m) => [m.state, m.checksum === m.appliedChecksum])).toEqual([
          ["applied", true],
          ["applied", true],
        ]);
        expect(after.revisions?.map((r) => [r.version, r.state, r.applied, r.total])).toEqual([
          [2, "applied", 1, 1],
          [1, "applied", 1, 1],
        ]);

        // The approved sequence once more: the executor's own selection is another by now, and nothing runs twice.
        const again = await apply(engine, url, SECOND, sequenceOf(before));
        expect(again.result).toMatchObject({
          ...{ error: { code: "apply_refused" }, refusal: { code: "sequence_mismatch" }, uncertain: false },
          migrationRun: { outcome: "failed", planned: [], applied: [] },
        });
        expect(await historyOf(engine, url, SECOND)).toEqual(after);
      },
      LIMIT_MS,
    );

    test(
      "says of a failed file what is kept, where it stopped and what the database answered",
      async () => {
        const url = await engine.fresh("failing");
        const half = "INSERT INTO orders VALUES (1);\nINSERT INTO orders VALUES (1);\nINSERT INTO orders VALUES (2);\n";
        const files = { ...FIRST, "0000000002_half": `-- +ptah no_transaction\n${half}` };
        const ended = await apply(engine, url, files, sequenceOf(await historyOf(engine, url, files)));
        const sqlState = engine === POSTGRES ? "23505" : "23000";
        expect(ended.result?.migrationRun).toEqual({
          ...{ contractVersion: 1, outcome: "partial", planned: [1, 2], applied: [1] },
          failure: { version: 2, statement: 2, sqlState, ...(engine === MARIADB ? { mysqlErrno: 1062 } : {}) },
        });
        expect(ended.result).toMatchObject({ uncertain: true, error: { code: "apply_outcome_unknown" } });
        expect(ended.summary?.migration).toEqual({
          ...{ outcome: "partial", appliedCount: 1, firstApplied: 1, lastApplied: 1 },
        });
        expect(ended.result?.error?.message).not.toContain("INSERT");
        const history = await historyOf(engine, url, files);
        expect(history).toMatchObject({ currentVersion: 1, dirtyRevision: { version: 2, applied: 1, total: 3 } });
        expect(history.migrations.map((m) => m.state)).toEqual(["applied", "dirty"]);
      },
      LIMIT_MS,
    );

    test(
      "refuses a directory whose names it does not know, by name",
      async () => {
        const files = { ...FIRST, notes: "SELECT 1;\n" };
        const ended = await podOf("migration-history", engine, await engine.fresh("naming"), files).run();
        expect(ended.result).toMatchObject({ childStarted: true, error: { code: "history_refused" } });
        expect(ended.result?.refusal?.code).toMatch(/^migration_/);
      },
      LIMIT_MS,
    );

    test(
      "names a database out of reach",
      async () => {
        const url = engine === POSTGRES ? "postgres://a@127.0.0.1:1/x?sslmode=disable" : "mysql://a:b@127.0.0.1:1/x";
        const read = await podOf("migration-history", engine, url, FIRST).run();
        expect(read.result?.error?.code).toBe("connection_failed");
        const ran = await apply(engine, url, FIRST, [{ version: 1, checksum: "a" }]);
        expect(ran.result).toMatchObject({
          ...{ error: { code: "connection_failed" }, uncertain: false },
          migrationRun: { outcome: "failed", planned: [], applied: [] },
        });
      },
      LIMIT_MS,
    );
  });
}

test(
  "a run that is asked to end in the middle of a statement says that nothing of the file is kept",
  async () => {
    const url = await POSTGRES.fresh("stopped");
    const files = { ...FIRST, "0000000002_slow": "INSERT INTO orders VALUES (1);\nSELECT pg_sleep(120);\n" };
    const steps = sequenceOf(await historyOf(POSTGRES, url, files));
    const pod = podOf("migration-apply", POSTGRES, url, files).approveSequence(steps);
    const run = pod.run();
    const asleep = "SELECT 1 FROM pg_stat_activity WHERE datname = 'stopped' AND wait_event = 'PgSleep'";
    const end = Date.now() + 60_000;
    while ((await runSql(postgres.url("postgres"), asleep)).length === 0) {
      if (Date.now() > end) throw new Error("no statement is asleep");
    }
    pod.signal("SIGTERM");
    const ended = await run;
    expect(ended.result).toMatchObject({
      ...{ mutationStarted: true, uncertain: false, error: { code: "apply_failed" } },
      migrationRun: { outcome: "failed", planned: [1, 2], applied: [1] },
    });
    expect(await runSql(url, "SELECT * FROM orders")).toHaveLength(0);
  },
  LIMIT_MS,
);
