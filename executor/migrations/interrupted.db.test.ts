import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  type Bench,
  benchesFor,
  ENGINES,
  type EngineName,
  type Files,
  migrationDirectory,
  openLine,
  ptah,
  startPtah,
  through,
} from "../cases/migration-bench.ts";
import { until } from "../cases/test-server.ts";

const benches = benchesFor({ beforeAll, afterAll });
let made = 0;

interface Scene {
  readonly bench: Bench;
  readonly url: string;
  /** Told apart in the server's log from every other scene's statements. */
  readonly tag: string;
}

async function scene(engine: EngineName): Promise<Scene> {
  const bench = benches[engine];
  const tag = `scene${++made}`;
  const url = await bench.database(`interrupted_${made}`, "CREATE TABLE t (id bigint PRIMARY KEY)");
  return { bench, url, tag };
}

/** Five inserts, of which the server answers the third only when it is told to go on or never. */
function files({ tag }: Scene, header: string, third = `INSERT INTO t VALUES (3 /* ${tag}-3 */);`): Files {
  const statements = [1, 2, 3, 4, 5].map((n) => (n === 3 ? third : `INSERT INTO t VALUES (${n} /* ${tag}-${n} */);`));
  return { 1: `${header}${statements.join("\n")}\n` };
}

const pause = (engine: EngineName, tag: string): string =>
  engine === "PostgreSQL" ? `SELECT pg_sleep(60 /* ${tag}-3 */);` : `DO SLEEP(60 /* ${tag}-3 */);`;

const NO_TRANSACTION = "-- +ptah no_transaction\n";
const MODES = [
  { name: "in a transaction", header: "", kept: 0 },
  { name: "without one", header: NO_TRANSACTION, kept: 2 },
] as const;

async function ids({ bench, url }: Scene): Promise<number[]> {
  return (await bench.sql(url, "SELECT id FROM t ORDER BY id")).map((row) => Number(row["id"]));
}

async function dirtyRow({ bench, url }: Scene): Promise<{ state: string; applied: number } | undefined> {
  const [row] = await bench.sql(url, "SELECT state, applied FROM schema_migrations WHERE version = 1");
  return row === undefined ? undefined : { state: String(row["state"]), applied: Number(row["applied"]) };
}

/** Ends every session of the scene's database but the asking one, as an administrator does. */
async function endSessions({ bench, url }: Scene): Promise<void> {
  const database = new URL(url).pathname.slice(1);
  if (bench.engine === "postgresql") {
    await bench.sql(
      url,
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    return;
  }
  const found = await bench.sql(
    url,
    `SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = '${database}' AND ID <> CONNECTION_ID()`,
  );
  for (const { id } of found) await bench.sql(url, `KILL ${Number(id)}`).catch(() => undefined);
}

async function refusedAsDirty({ url }: Scene, directory: string): Promise<void> {
  const { status, report } = await ptah(url, directory, ["up", "--json"]);
  expect(status).toBe(2);
  expect(report).toMatchObject({ outcome: "failed", planned: [], applied: [], refusal: { code: "history_dirty" } });
}

function nothingTwice({ bench, tag }: Scene, sent: number): void {
  for (let n = 1; n <= 5; n++) expect(bench.received(`${tag}-${n} `)).toBe(n <= sent ? 1 : 0);
}

for (const engine of ENGINES) {
  describe(`on ${engine}`, () => {
    for (const mode of MODES) {
      test(`a process that is killed while a statement runs ${mode.name} leaves a dirty row and is not repeated`, async () => {
        const here = await scene(engine);
        const made = migrationDirectory(files(here, mode.header, pause(engine, here.tag)));
        const running = startPtah(here.url, made.path, ["up", "--json"]);
        await until("the third statement", async () => here.bench.received(`${here.tag}-3 `) === 1);
        running.child.kill("SIGKILL");
        expect((await running.ended).stdout).toBe("");
        await endSessions(here);
        await until("the row without its session", async () => (await ids(here)).length === mode.kept);
        expect(await dirtyRow(here)).toEqual({ state: "pending", applied: mode.kept });
        await refusedAsDirty(here, made.path);
        nothingTwice(here, 3);
        made.remove();
      });

      test(`a line cut between a statement ${mode.name} and its answer is told as it is`, async () => {
        const here = await scene(engine);
        const made = migrationDirectory(files(here, mode.header));
        const line = await openLine(here.bench.port, here.bench.engine, `${here.tag}-3 `);
        const running = startPtah(through(here.url, here.bench.port, line.port), made.path, ["up", "--json"]);
        await until("the third statement", async () => line.swallowed() && here.bench.received(`${here.tag}-3 `) === 1);
        if (mode.header !== "") await until("its effect", async () => (await ids(here)).length === 3);
        line.cut();
        const { status, stdout } = await running.ended;
        line.close();
        expect(status).toBe(2);
        expect(JSON.parse(stdout)).toMatchObject({
          outcome: mode.header === "" ? "failed" : "unknown",
          planned: [1],
          applied: [],
          failure: { version: 1, statement: 3 },
        });
        await until("the end of the session", async () => (await ids(here)).length === (mode.header === "" ? 0 : 3));
        expect(await dirtyRow(here)).toEqual({ state: "pending", applied: mode.kept });
        await refusedAsDirty(here, made.path);
        nothingTwice(here, 3);
        made.remove();
      });

      test(`a session that the server ends while a statement runs ${mode.name} ends the run`, async () => {
        const here = await scene(engine);
        const made = migrationDirectory(files(here, mode.header, pause(engine, here.tag)));
        const running = startPtah(here.url, made.path, ["up", "--json"]);
        await until("the third statement", async () => here.bench.received(`${here.tag}-3 `) === 1);
        await endSessions(here);
        const { status, stdout } = await running.ended;
        expect(status).toBe(2);
        expect(JSON.parse(stdout)).toMatchObject({
          outcome: mode.header === "" ? "failed" : "unknown",
          applied: [],
          failure: { version: 1, statement: 3 },
        });
        await until("the end of the session", async () => (await ids(here)).length === mode.kept);
        await refusedAsDirty(here, made.path);
        nothingTwice(here, 3);
        made.remove();
      });

      test(`a server that is killed while a statement runs ${mode.name} has the dirty row when it is back`, async () => {
        const here = await scene(engine);
        const made = migrationDirectory(files(here, mode.header, pause(engine, here.tag)));
        const running = startPtah(here.url, made.path, ["up", "--json"]);
        await until("the third statement", async () => here.bench.received(`${here.tag}-3 `) === 1);
        await here.bench.crash();
        const { status, stdout } = await running.ended;
        expect(status).toBe(2);
        expect(JSON.parse(stdout)).toMatchObject({ outcome: mode.header === "" ? "failed" : "unknown", applied: [] });
        expect(await ids(here)).toHaveLength(mode.kept);
        expect(await dirtyRow(here)).toEqual({ state: "pending", applied: mode.kept });
        await refusedAsDirty(here, made.path);
        nothingTwice(here, 3);
        made.remove();
      });

      test(`a stop while a statement runs ${mode.name} cancels it, is reported and ends with 143`, async () => {
        const here = await scene(engine);
        const made = migrationDirectory(files(here, mode.header, pause(engine, here.tag)));
        const running = startPtah(here.url, made.path, ["up", "--json"]);
        await until("the third statement", async () => here.bench.received(`${here.tag}-3 `) === 1);
        running.child.kill("SIGTERM");
        const { status, stdout } = await running.ended;
        expect(status).toBe(143);
        expect(JSON.parse(stdout)).toMatchObject({
          outcome: mode.kept === 0 ? "failed" : "partial",
          planned: [1],
          applied: [],
        });
        expect((await dirtyRow(here))?.state).toBe("failed");
        nothingTwice(here, 3);
        made.remove();
      });
    }

    test("a commit whose answer is lost is unknown, and the history tells what became of it", async () => {
      const here = await scene(engine);
      const made = migrationDirectory(files(here, ""));
      const line = await openLine(here.bench.port, here.bench.engine, "COMMIT");
      const running = startPtah(through(here.url, here.bench.port, line.port), made.path, ["up", "--json"]);
      await until("the commit", async () => line.swallowed() && (await ids(here)).length === 5);
      line.cut();
      const { stdout } = await running.ended;
      line.close();
      const report = JSON.parse(stdout) as Record<string, unknown>;
      expect(report).toMatchObject({ outcome: "unknown", planned: [1], applied: [] });
      expect(report["failure"]).toBeUndefined();
      const { report: status } = await ptah(here.url, made.path, ["status", "--json"]);
      expect(status).toMatchObject({ current_version: 1, has_pending_changes: false, pending_migrations: [] });
      nothingTwice(here, 5);
      made.remove();
    });

    test("the lock of a process that was killed is free for the next one", async () => {
      const here = await scene(engine);
      const made = migrationDirectory({ 1: pause(engine, here.tag) });
      const running = startPtah(here.url, made.path, ["up", "--json"]);
      await until("the statement", async () => here.bench.received(`${here.tag}-3 `) === 1);
      const held = await ptah(here.url, made.path, ["up", "--json", "--migration-lock-timeout", "200ms"]);
      expect(held.report).toMatchObject({ outcome: "failed", refusal: { code: "lock_timeout" } });
      running.child.kill("SIGKILL");
      await running.ended;
      await endSessions(here);
      const next = await ptah(here.url, made.path, ["set", "--version", "0"]);
      expect(next.report).toMatchObject({ outcome: "changed", removed: [1] });
      made.remove();
    });
  });
}

test("an index is built concurrently while another process waits for the migration lock", async () => {
  const here = await scene("PostgreSQL");
  const made = migrationDirectory({
    1: `${NO_TRANSACTION}SELECT pg_sleep(1 /* ${here.tag}-3 */);\nCREATE INDEX CONCURRENTLY t_id ON t (id);\n`,
  });
  const first = startPtah(here.url, made.path, ["up", "--json"]);
  await until("the first statement", async () => here.bench.received(`${here.tag}-3 `) === 1);
  const waiting = startPtah(here.url, made.path, ["up", "--json"]);
  const reports = [await first.ended, await waiting.ended].map((end) => JSON.parse(end.stdout) as object);
  expect(reports).toMatchObject([{ outcome: "applied" }, { outcome: "up-to-date" }]);
  made.remove();
});

test("a file that would give the lock back is refused before anything is sent", async () => {
  const here = await scene("PostgreSQL");
  const made = migrationDirectory({
    1: `INSERT INTO t VALUES (1 /* ${here.tag}-1 */);\n`,
    2: "SELECT pg_advisory_unlock_all();\n",
  });
  const { report } = await ptah(here.url, made.path, ["up", "--json"]);
  expect(report).toMatchObject({ outcome: "failed", refusal: { code: "migration_statement_refused" } });
  expect(here.bench.received(`${here.tag}-1 `)).toBe(0);
  made.remove();
});
