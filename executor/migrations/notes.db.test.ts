/** What a row notes of a statement never keeps the statement from being run. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { benchesFor, migrationDirectory, ptah } from "../cases/migration-bench.ts";

const benches = benchesFor({ beforeAll, afterAll });
let made = 0;
const directories: string[] = [];

afterAll(() => {
  for (const path of directories) rmSync(path, { recursive: true, force: true });
});

const BEYOND_LATIN1 = "naïve жёлтый 😀";
const MODES = { "in a transaction": "", "outside of one": "-- +ptah no_transaction\n" };
const LONG = `INSERT INTO t VALUES (2, '${"ж".repeat(40_000)}');\n`;
const TABLE = `CREATE TABLE schema_migrations (version bigint PRIMARY KEY, description text NOT NULL, applied_at timestamp NULL DEFAULT
  CURRENT_TIMESTAMP, state varchar(32) NOT NULL DEFAULT 'applied', applied int NOT NULL DEFAULT 1, total int NOT NULL DEFAULT 1,
  error text, error_stmt text, execution_time_ms bigint NOT NULL DEFAULT 0, checksum varchar(64) NOT NULL DEFAULT '')`;

function directory(up: string): string {
  const { path } = migrationDirectory({});
  directories.push(path);
  const base = join(path, "0000000001_жёлтый_😀");
  writeFileSync(`${base}.up.sql`, up);
  writeFileSync(`${base}.down.sql`, "SELECT 1;\n");
  return path;
}

for (const engine of ["MariaDB", "MySQL"] as const) {
  const database = async (sql = ""): Promise<string> => {
    const name = `notes_${++made}`;
    return benches[engine].database(
      name,
      `ALTER DATABASE ${name} CHARACTER SET latin1; CREATE TABLE t (id int, body mediumtext CHARACTER SET utf8mb4)${sql}`,
    );
  };
  const row = async (url: string): Promise<Readonly<Record<string, unknown>> | undefined> =>
    (await benches[engine].sql(url, "SELECT description, state, applied, error_stmt FROM schema_migrations"))[0];

  describe(`a statement on ${engine}, whose database is latin1,`, () => {
    for (const [how, header] of Object.entries(MODES)) {
      const up = `${header}INSERT INTO t VALUES (1, '${BEYOND_LATIN1}');\n${LONG}`;

      test(`is run ${how} whatever its characters and its length, with a table of ours`, async () => {
        const url = await database();
        const failing = directory(`${up}INSERT INTO missing VALUES ('${BEYOND_LATIN1}${"ж".repeat(40_000)}');\n`);
        const { report } = await ptah(url, failing, ["up"]);
        expect(report).toMatchObject({ failure: { version: 1, statement: 3, mysqlErrno: 1146 } });
        const noted = await row(url);
        expect(noted?.["description"]).toBe("Жёлтый 😀");
        expect(String(noted?.["error_stmt"])).toStartWith(`INSERT INTO missing VALUES ('${BEYOND_LATIN1}ж`);
        expect(Buffer.byteLength(String(noted?.["error_stmt"]))).toBeWithin(65_530, 65_536);
        const whole = await database();
        expect((await ptah(whole, directory(up), ["up"])).report).toMatchObject({ outcome: "applied" });
        expect((await benches[engine].sql(whole, "SELECT body FROM t WHERE id = 1"))[0]?.["body"]).toBe(BEYOND_LATIN1);
      });

      test(`is run ${how} with a table of another character set too, and left out of the row`, async () => {
        const url = await database(`; ${TABLE}`);
        expect((await ptah(url, directory(up), ["up"])).report).toMatchObject({ outcome: "applied", applied: [1] });
        expect(await row(url)).toMatchObject({ description: "?????? ?", state: "applied", error_stmt: null });
        const failing = directory(`${header}INSERT INTO missing VALUES ('${BEYOND_LATIN1}');\n`);
        await benches[engine].sql(url, "DELETE FROM schema_migrations");
        expect((await ptah(url, failing, ["up"])).report).toMatchObject({ outcome: "failed" });
        expect(await row(url)).toMatchObject({ state: "failed", applied: 0, error_stmt: null });
      });
    }
  });
}
