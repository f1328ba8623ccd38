import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { database, NEVER_STOPPED, runSql, type TestServer, TIMING, testServer } from "../cases/test-server.ts";
import { Refused } from "../contract.ts";
import { type ApplyResult, applyPlan, loadPlan } from "./apply.ts";
import { parseExclusion } from "./exclude.ts";
import { planSchema } from "./plan.ts";
import { parseTarget } from "./url.ts";

let server: TestServer;
let work: string;

beforeAll(async () => {
  server = await testServer();
  work = mkdtempSync(join(tmpdir(), "ptah-hostile-"));
});

afterAll(async () => {
  await server.stop();
  rmSync(work, { recursive: true, force: true });
});

interface Planned {
  readonly url: string;
  readonly file: string;
}

async function plan(name: string, before: string, after: string): Promise<Planned & { readonly destructive: boolean }> {
  const url = await database(server, name, before);
  const home = join(work, name);
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "schema.sql"), after);
  const file = join(work, `${name}.plan.json`);
  const result = await planSchema({
    ...TIMING,
    stop: NEVER_STOPPED,
    target: parseTarget(url, "target"),
    dev: parseTarget(server.url("postgres"), "scratch"),
    schemaFile: home,
    exclusion: parseExclusion([]),
    protectedTables: [],
    mode: "file",
    output: file,
    dumpBinary: undefined,
  });
  return { url, file, destructive: result.plan?.destructive ?? false };
}

const apply = ({ url, file }: Planned): Promise<ApplyResult> =>
  applyPlan(loadPlan(file).plan, {
    ...TIMING,
    stop: NEVER_STOPPED,
    target: parseTarget(url, "target"),
    planFile: file,
    dryRun: false,
    mode: "file",
  });

async function refusal(name: string, sql: string): Promise<Refused> {
  try {
    await plan(name, "SELECT 1", sql);
  } catch (error) {
    if (error instanceof Refused) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

const VICTIM = "CREATE TABLE victim (id int PRIMARY KEY);";
const OTHER = "CREATE TABLE other (id int";
const BEFORE = `${VICTIM} ${OTHER}); INSERT INTO victim VALUES (1); INSERT INTO other VALUES (1)`;
const body = (parameters: string, returns: string, statement: string, value: string): string =>
  `CREATE FUNCTION evil(${parameters}) RETURNS ${returns} LANGUAGE plpgsql AS $$ BEGIN ${statement}; RETURN ${value}; END $$;`;
// Qualified: since PostgreSQL 17 what maintains rows runs under a search_path of its own.
const DELETES = "DELETE FROM public.victim";
const INNER = body("", "int", DELETES, "1");

describe("a function that a plan runs on the rows that are there", () => {
  const ways: readonly [string, string][] = [
    ["a new column's default", `${VICTIM} ${OTHER}, g int NOT NULL DEFAULT evil()); ${INNER}`],
    ["a check", `${VICTIM} ${OTHER}, CHECK (evil(id) > 0)); ${body("i int", "int", DELETES, "1")}`],
    [
      "a domain's check",
      `${VICTIM} ${body("i int", "bool", DELETES, "true")} CREATE DOMAIN d AS int CHECK (evil(value)); ${OTHER}, g d);`,
    ],
    [
      "an index, under a false promise to be immutable",
      `${VICTIM} ${INNER} CREATE FUNCTION liar(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$; ${OTHER}); CREATE INDEX ON other (liar(id));`,
    ],
    [
      "a generated column",
      `${VICTIM} ${INNER} CREATE FUNCTION liar(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$; ${OTHER}, g int GENERATED ALWAYS AS (liar(id)) STORED);`,
    ],
    ["a materialized view", `${VICTIM} ${OTHER}); ${INNER} CREATE MATERIALIZED VIEW m AS SELECT evil();`],
  ];
  for (const [at, [way, after]] of ways.entries()) {
    test(`does not delete what the plan keeps: ${way}`, async () => {
      const planned = await plan(`rows_${at}`, BEFORE, after);
      const result = planned.destructive ? undefined : await apply(planned);
      expect(result?.outcome ?? "failed").toBe("failed");
      expect(result?.error ?? "everything was rolled back").toContain("everything was rolled back");
      expect(await runSql(planned.url, "TABLE victim")).toEqual([{ id: 1 }]);
    });
  }

  test("does not empty another table where it stood in the database before, by its own body or another's", async () => {
    const empties = body("", "int", "TRUNCATE public.victim", "1");
    const calls = "CREATE FUNCTION calls() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$;";
    const declared = (call: string) => `${VICTIM} ${empties} ${calls} ${OTHER}, g int DEFAULT ${call});`;
    expect((await plan("rows_stood", `${BEFORE}; ${empties} ${calls}`, declared("evil()"))).destructive).toBe(true);
    const planned = await plan("rows_stood_deep", `${BEFORE}; ${empties} ${calls}`, declared("calls()"));
    expect(planned.destructive).toBe(false);
    const result = await apply(planned);
    expect(result.outcome).toBe("failed");
    expect(result.error).toContain("emptied or replaced table public.victim");
    expect(await runSql(planned.url, "TABLE victim")).toEqual([{ id: 1 }]);
  });

  test("may change rows once a person approved the plan that says so", async () => {
    const counts = body("", "int", "UPDATE public.victim SET id = id + 1", "1");
    const planned = await plan(
      "rows_counted",
      `${BEFORE}; ${counts}`,
      `${VICTIM} ${counts} ${OTHER}, g int DEFAULT evil());`,
    );
    expect(planned.destructive).toBe(true);
    expect((await apply(planned)).outcome).toBe("applied");
    expect(await runSql(planned.url, "TABLE victim")).toEqual([{ id: 2 }]);
  });

  test("does not wait for the next plan as an event trigger that nobody approved", async () => {
    const deletes =
      "CREATE FUNCTION et() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM public.victim; END $$;";
    const after = `${VICTIM} ${OTHER}); ${deletes} CREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION et();`;
    expect((await plan("rows_waits", BEFORE, after)).destructive).toBe(true);
  });

  test("may insert; what an event trigger of the database changes waits for a person", async () => {
    const inserts = body("", "int", "INSERT INTO victim VALUES (2)", "1");
    const one = await plan("rows_insert", BEFORE, `${VICTIM} ${inserts} ${OTHER}, g int DEFAULT evil());`);
    expect((await apply(one)).outcome).toBe("applied");
    const audit = `CREATE TABLE audit (n int); INSERT INTO audit VALUES (0);
      CREATE FUNCTION count_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE audit SET n = n + 1; END $$;
      CREATE EVENT TRIGGER counts ON ddl_command_end EXECUTE FUNCTION count_ddl();`;
    const declared = audit.replace("INSERT INTO audit VALUES (0);", "");
    const two = await plan("rows_audit", audit, `${declared} CREATE TABLE added (a int);`);
    expect(two.destructive).toBe(true);
    expect((await apply(two)).outcome).toBe("applied");
  });

  test("cannot make text be read as more than one statement", async () => {
    const setting = "SET x.y = 'a'; PERFORM pg_catalog.set_config('standard_' || 'conforming_strings', 'off', false)";
    const after = `${VICTIM} ${body("", "int", setting, "1")} ${OTHER}, g int NOT NULL DEFAULT evil());
      COMMENT ON COLUMN other.g IS '\\''; DROP TABLE victim; --';`;
    const planned = await plan("text_read", BEFORE, after);
    // The body is readable enough to be held for destructive; a plan that says so is applied only where somebody decided that.
    expect(planned.destructive).toBe(true);
    const result = await apply(planned);
    expect(result).toMatchObject({ outcome: "failed" });
    expect(result.error).toContain("standard_conforming_strings");
    expect(await runSql(planned.url, "TABLE victim")).toEqual([{ id: 1 }]);
  });
});

describe("what the server's own schemas hold", () => {
  const declarations: readonly [string, string][] = [
    ["a function in pg_catalog", "CREATE FUNCTION pg_catalog.mine() RETURNS int LANGUAGE sql AS 'SELECT 1';"],
    ["a view in information_schema", "CREATE VIEW information_schema.mine AS SELECT 1 AS a;"],
    ["a temporary function", "CREATE FUNCTION pg_temp.mine() RETURNS int LANGUAGE sql AS 'SELECT 1';"],
    ["a right on a server's function", "REVOKE EXECUTE ON FUNCTION pg_sleep(double precision) FROM public;"],
    ["a right on a server's table", "GRANT SELECT ON pg_catalog.pg_authid TO public;"],
    ["a right on a server's schema", "GRANT CREATE ON SCHEMA information_schema TO public;"],
    ["a changed server's function", "ALTER FUNCTION now() COST 500;"],
    ["a comment on a server's function", "COMMENT ON FUNCTION now() IS 'mine';"],
  ];
  for (const [at, [what, sql]] of declarations.entries()) {
    test(`is not declared, and not ignored: ${what}`, async () => {
      expect((await refusal(`system_${at}`, sql)).refusal.code).toBe("system_object");
    });
  }

  test("may be an extension's, and the public schema is everybody's", async () => {
    const sql = `CREATE EXTENSION pg_trgm SCHEMA pg_catalog; COMMENT ON SCHEMA public IS 'mine'; GRANT ALL ON SCHEMA public TO public;
      COMMENT ON EXTENSION plpgsql IS 'mine'; CREATE TABLE a (id int);`;
    const planned = await plan("system_none", "SELECT 1", sql).catch(
      (error: unknown) => (error as Refused).refusal.code,
    );
    expect(planned).not.toBe("system_object");
  });
});

describe("what a function that runs says", () => {
  const saying = (code: string): string => `CREATE FUNCTION evil() RETURNS int LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION USING errcode = '${code}', message = 'row of alice: hunter2'; END $$;
    CREATE TABLE p (a int) PARTITION BY RANGE (a); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (evil()) TO (10);`;
  for (const code of ["42P01", "42501", "0A000", "55000", "P0001"]) {
    test(`is not repeated under SQLSTATE ${code}`, async () => {
      const refused = await refusal(`said_${code.toLowerCase()}`, saying(code));
      expect(refused.message).not.toContain("alice");
      expect(refused.refusal).toMatchObject({ code: "invalid_schema", sqlstate: code });
    });
  }

  test("what a body lacks is still named while it is only checked", async () => {
    const sql = "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT id FROM no_such_table';";
    expect((await refusal("said_nothing", sql)).message).toContain("no_such_table");
    const plpgsql = "CREATE FUNCTION f() RETURNS no_such_type LANGUAGE plpgsql AS 'BEGIN END';";
    expect((await refusal("said_type", plpgsql)).message).toContain("no_such_type");
  });
});

describe("what a row makes the server say", () => {
  const T = "CREATE TABLE t (c ";
  const BAD = `${T} text); INSERT INTO t VALUES ('geheim-4711 & & x')`;
  const ways: readonly [string, string][] = [
    ["a type that is parsed", `${T} tsquery);`],
    ["a relation's name", `${T} text, CHECK (c::regclass IS NOT NULL));`],
    ["a role's name", `${T} text, CHECK (c::regrole IS NOT NULL));`],
    ["a type's name", `${T} text, CHECK (c::regtype IS NOT NULL));`],
    ["a path", `${T} text, CHECK (c::jsonpath IS NOT NULL));`],
    ["a check that parses", `${T} text, CHECK (c::tsquery IS NOT NULL));`],
  ];
  for (const [at, [what, after]] of ways.entries()) {
    test(`is not repeated: ${what}`, async () => {
      const result = await apply(await plan(`row_${at}`, BAD, after));
      expect(result.outcome).toBe("failed");
      expect(result.error).not.toMatch(/geheim|4711|&/);
      expect(result.error).toContain("SQLSTATE");
    });
  }

  test("a name that the statement holds is told", async () => {
    const planned = await plan("row_none", "SELECT 1", "CREATE TABLE late (a int);");
    await runSql(planned.url, "CREATE ROLE nobody_special LOGIN; REVOKE CREATE ON SCHEMA public FROM public");
    const url = planned.url.replace(/\/\/[^@]*@/, "//nobody_special@");
    const result = await apply({ ...planned, url });
    expect(result.error).toContain("permission denied for schema public (SQLSTATE 42501)");
  });
});
