/** Rows and tables that cannot be believed or used are refused by a code, with what to do about them. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { benchesFor, ENGINES, type EngineName, migrationDirectory, ptah } from "../cases/migration-bench.ts";

const benches = benchesFor({ beforeAll, afterAll });
let made = 0;
const directory = migrationDirectory({ 1: "CREATE TABLE a (id int);\n" });

afterAll(() => {
  directory.remove();
});

const fresh = (engine: EngineName, sql?: string): Promise<string> => benches[engine].database(`rows_${++made}`, sql);

/** As lenient as a table can be: what a damaged one holds. */
const LENIENT = `CREATE TABLE schema_migrations (version bigint, description text, applied_at timestamp NULL, state varchar(32),
  applied int, total int, error text, error_stmt text, execution_time_ms bigint, checksum varchar(64))`;

interface Told {
  readonly status: number | null;
  readonly code: unknown;
  readonly sqlstate: unknown;
  readonly error: string;
}

async function told(url: string, args: readonly string[]): Promise<Told> {
  const { status, report } = await ptah(url, directory.path, args);
  const why = (report["refusal"] ?? report["cause"] ?? report["failure"]) as Record<string, unknown> | undefined;
  return { status, code: why?.["code"], sqlstate: why?.["sqlstate"], error: String(report["error"]) };
}

for (const engine of ENGINES) {
  describe(`a history on ${engine}`, () => {
    for (const [what, ...rows] of [
      ["a row without a state", "1, NULL, 0, 5, ''"],
      ["a row without a count", "1, 'applied', NULL, 5, ''"],
      ["a count below zero", "1, 'applied', -1, -1, ''"],
      ["a row that is applied after none of its statements", "1, 'applied', 0, 5, ''"],
      ["a row that is applied after more statements than it has", "1, 'applied', 6, 5, ''"],
      ["two rows of one version", "1, 'applied', 1, 1, 'a'", "1, 'applied', 1, 1, 'b'"],
      ["a row without a version", "NULL, 'applied', 1, 1, ''"],
    ] as const) {
      test(`with ${what} is refused, and told how to go on`, async () => {
        const inserts = rows.map(
          (row) => `INSERT INTO schema_migrations (version, state, applied, total, checksum) VALUES (${row})`,
        );
        const url = await fresh(engine, [LENIENT, ...inserts].join(";\n"));
        for (const args of [["status"], ["up"], ["set", "--version", "0"]]) {
          const { status, code, error } = await told(url, args);
          expect([status, code]).toEqual([2, "revision_row_unreadable"]);
          expect(error).toContain("correct or delete that row");
        }
      });
    }
  });

  describe(`a revision table on ${engine}`, () => {
    test("in a schema that does not exist is refused by that", async () => {
      const url = await fresh(engine);
      for (const args of [["up"], ["set", "--version", "1"]]) {
        const { status, code, error } = await told(url, [...args, "--migrations-schema", "nowhere"]);
        expect([status, code]).toEqual([2, "revision_schema_missing"]);
        expect(error).toContain("--migrations-schema");
      }
    });
  });
}

describe("a revision table on PostgreSQL", () => {
  const WHOLE = LENIENT.replace("version bigint", "version bigint PRIMARY KEY");
  const as = (url: string, role: string): string => url.replace(/\/\/[^@/]*@?/, `//${role}:${role}@`);

  for (const [what, sql] of [
    ["when it was applied of another type", WHOLE.replace("timestamp NULL", "text")],
    ["a type of its name", "CREATE TYPE schema_migrations AS ENUM ('a')"],
  ] as const) {
    test(`with ${what} is another tool's`, async () => {
      const { status, code, error, sqlstate } = await told(await fresh("PostgreSQL", sql), ["up"]);
      expect([status, code]).toEqual([2, "revision_table_foreign"]);
      expect(sqlstate).toMatch(/^42/);
      expect(error).toContain("--migrations-table");
    });
  }

  test("that the role may not read, write or make is told as that", async () => {
    const role = `reader_${made}`;
    const url = await fresh("PostgreSQL", `CREATE ROLE ${role} LOGIN PASSWORD '${role}'; ${WHOLE}`);
    expect(await told(as(url, role), ["status"])).toMatchObject({ code: "revision_table_denied", sqlstate: "42501" });
    await benches.PostgreSQL.sql(url, `GRANT SELECT ON schema_migrations TO ${role}`);
    expect(await told(as(url, role), ["status"])).toMatchObject({ status: 0 });
    expect(await told(as(url, role), ["set", "--version", "1"])).toMatchObject({ code: "revision_table_denied" });
    await benches.PostgreSQL.sql(url, "DROP TABLE schema_migrations; REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    const unmade = await told(as(url, role), ["up"]);
    expect(unmade.code).toBe("revision_table_denied");
    expect(unmade.error).toContain("CREATE");
  });
});
