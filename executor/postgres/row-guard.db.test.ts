import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { loadParser } from "../../sql/index.ts";
import { database, runSql, type TestServer, testServer, until } from "../cases/test-server.ts";
import { type Execution, execute } from "./execute.ts";
import { watchRows } from "./row-guard.ts";
import { connect } from "./session.ts";
import { parseTarget } from "./url.ts";

let server: TestServer;
const parser = await loadParser();

beforeAll(async () => {
  server = await testServer();
});
afterAll(() => server.stop());

const SCHEMA = `CREATE TABLE victim (id int, note text); INSERT INTO victim SELECT g, 'n' FROM generate_series(1, 1000) g;
  CREATE TABLE other (id int); INSERT INTO other VALUES (1), (2); CREATE SEQUENCE s; SELECT setval('s', 999);
  SELECT lo_create(12345);`;
const doing = (name: string, what: string): string =>
  `CREATE FUNCTION ${name}() RETURNS int LANGUAGE plpgsql AS $$ BEGIN ${what}; RETURN 1; END $$;`;
const trigger = (event: string, what: string): string =>
  `CREATE FUNCTION et() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN ${what}; END $$;
   CREATE EVENT TRIGGER e ON ${event} EXECUTE FUNCTION et();`;

async function applied(url: string, statements: readonly string[]): Promise<Execution> {
  const session = await connect(parseTarget(url, "url"), { connectTimeoutMs: 5_000, role: "test" });
  try {
    return await execute(
      session,
      statements.map((sql) => ({ sql, transaction: "joined", commitAfter: false })),
      {
        mode: "file",
        lockTimeoutMs: 20_000,
        watchRows: (watched, texts) => watchRows(watched, { parser, statements: texts, lockTimeoutMs: 20_000 }),
      },
    );
  } finally {
    await session.end();
  }
}

const count = async (url: string, table: string): Promise<number> =>
  Number((await runSql(url, `SELECT count(*) AS n FROM ${table}`))[0]?.["n"]);

const ADD = "ALTER TABLE public.other ADD COLUMN g integer NOT NULL DEFAULT public.f()";
const OWN = "ALTER TABLE public.victim ADD COLUMN u uuid DEFAULT gen_random_uuid()";
const CHILDREN = `CREATE TABLE family (id int) PARTITION BY LIST (id); CREATE TABLE one PARTITION OF family FOR VALUES IN (1);
  CREATE TABLE two PARTITION OF family FOR VALUES IN (2); INSERT INTO family VALUES (1), (2);`;

describe("rows that a plan's statements do not speak of", () => {
  const ways: readonly (readonly [string, string, readonly string[], string])[] = [
    ["TRUNCATE", doing("f", "TRUNCATE public.victim"), [ADD], "emptied or replaced table public.victim"],
    [
      "TRUNCATE inside a block with an exception handler",
      doing("f", "BEGIN TRUNCATE public.victim; EXCEPTION WHEN division_by_zero THEN NULL; END"),
      [ADD],
      "emptied or replaced table public.victim",
    ],
    ["DROP TABLE", doing("f", "DROP TABLE IF EXISTS public.victim"), [ADD], "dropped table public.victim"],
    ["DROP SEQUENCE", doing("f", "DROP SEQUENCE IF EXISTS public.s"), [ADD], "dropped sequence public.s"],
    [
      "DROP COLUMN",
      doing("f", "ALTER TABLE public.victim DROP COLUMN IF EXISTS note"),
      [ADD],
      "dropped a column of table public.victim",
    ],
    ["a large object", doing("f", "PERFORM lo_unlink(oid) FROM pg_largeobject_metadata"), [ADD], "large objects"],
    ["a sequence's value", doing("f", "PERFORM setval('public.s', 1)"), [ADD], "set sequence public.s back"],
    [
      "a sequence that begins again",
      doing("f", "PERFORM setval('public.s', 1, false)"),
      [ADD],
      "sequence public.s back",
    ],
    [
      "a sequence's value, beside the rows",
      doing("f", "PERFORM setval('public.s', 1); DELETE FROM public.victim"),
      [ADD],
      "changed or deleted 1000 rows",
    ],
    [
      "TRUNCATE of a table that an earlier statement wrote anew",
      doing("f", "TRUNCATE public.victim"),
      [OWN, ADD],
      "emptied table public.victim",
    ],
    [
      "TRUNCATE of such a table before it is written anew once more",
      doing("f", "TRUNCATE public.victim"),
      [OWN, ADD, OWN.replace("COLUMN u", "COLUMN v")],
      "emptied table public.victim",
    ],
    [
      "TRUNCATE of such a table, and as many rows put there",
      doing("f", "TRUNCATE public.victim; INSERT INTO public.victim SELECT g FROM generate_series(1, 5000) g"),
      [OWN, ADD],
      "put rows into table public.victim",
    ],
    [
      "TRUNCATE of a table that a later statement writes anew",
      doing("f", "TRUNCATE public.victim"),
      [ADD, OWN],
      "emptied or replaced table public.victim",
    ],
    [
      "TRUNCATE of a table that the statement only reads",
      doing("f", "TRUNCATE public.victim"),
      ["CREATE TABLE public.like_it (LIKE public.victim)", "ALTER TABLE public.other ADD CHECK (public.f() > 0)"],
      "emptied or replaced table public.victim",
    ],
    [
      "TRUNCATE by an event trigger, of the table that is indexed",
      trigger("ddl_command_end", "TRUNCATE public.victim"),
      ["CREATE INDEX ON public.victim (id)"],
      "emptied table public.victim",
    ],
    [
      "TRUNCATE by an event trigger, of the table that gets a policy",
      trigger("ddl_command_end", "TRUNCATE public.victim"),
      ["CREATE POLICY p ON public.victim"],
      "emptied table public.victim",
    ],
    [
      "TRUNCATE by an event trigger, of the very table that is altered",
      trigger("ddl_command_end", "TRUNCATE public.victim"),
      [OWN],
      "emptied table public.victim",
    ],
    [
      "DELETE by an event trigger",
      trigger("ddl_command_end", "DELETE FROM public.victim"),
      ["CREATE TABLE nn (a int)"],
      "changed or deleted 1000 rows",
    ],
    [
      "DELETE by a default, where an event trigger does nothing",
      `${trigger("ddl_command_end", "NULL")} ${doing("f", "DELETE FROM public.victim")}`,
      [ADD],
      "changed or deleted 1000 rows",
    ],
  ];
  for (const [at, [what, before, statements, said]] of ways.entries()) {
    test(`are kept: ${what}`, async () => {
      const url = await database(server, `guard_${at}`, `${SCHEMA} ${before}`);
      const result = await applied(url, statements);
      expect(result).toMatchObject({ done: false, nothingKept: true });
      expect("reason" in result ? result.reason : "").toContain(said);
      expect(await count(url, "victim")).toBe(1000);
      expect(await count(url, "pg_largeobject_metadata")).toBe(1);
      expect(await runSql(url, "SELECT last_value::int AS n FROM s")).toEqual([{ n: 999 }]);
    });
  }

  test("are kept in a partition while another one is written", async () => {
    const url = await database(server, "guard_family", `${CHILDREN} ${doing("f", "TRUNCATE public.one, public.two")}`);
    const result = await applied(url, [ADD.replace("other", "family")]);
    expect(result.done).toBe(false);
    expect(await count(url, "family")).toBe(2);
    const later = await database(
      server,
      "guard_family_two",
      `${CHILDREN} ${doing("f", "BEGIN TRUNCATE public.two; EXCEPTION WHEN object_in_use THEN NULL; END")}`,
    );
    expect(await applied(later, [ADD.replace("other", "family")])).toMatchObject({ done: false, nothingKept: true });
    expect(await count(later, "two")).toBe(1);
    const checked = "ALTER TABLE public.family ADD CHECK (public.f() > 0)";
    expect(await applied(later, [checked])).toMatchObject({ done: false, nothingKept: true });
    expect(await count(later, "two")).toBe(1);
  });

  test("that an event trigger changes are refused with what to do", async () => {
    const url = await database(
      server,
      "guard_advice",
      `${SCHEMA} ${trigger("ddl_command_end", "UPDATE victim SET id = 0")}`,
    );
    const result = await applied(url, ["CREATE TABLE nn (a int)"]);
    expect("reason" in result ? result.reason : "").toContain("a person approves it");
  });
});

describe("what a plan may do by itself", () => {
  const plain: readonly (readonly [string, string, readonly string[]])[] = [
    ["a volatile default", "", [OWN, "ALTER TABLE victim ADD COLUMN n timestamptz DEFAULT clock_timestamp()"]],
    ["a default from a sequence", "", ["ALTER TABLE victim ADD COLUMN k bigint NOT NULL DEFAULT nextval('s')"]],
    [
      "a sequence that begins again by itself, or by the plan's statement",
      "CREATE SEQUENCE c MAXVALUE 3 CYCLE; SELECT setval('c', 3);",
      [
        "ALTER TABLE victim ADD COLUMN k bigint NOT NULL DEFAULT nextval('c')",
        "ALTER SEQUENCE public.s RESTART WITH 5",
      ],
    ],
    [
      "an identity, a generated column",
      "",
      [
        "ALTER TABLE victim ADD COLUMN k bigint GENERATED ALWAYS AS IDENTITY",
        "ALTER TABLE victim ADD COLUMN d int GENERATED ALWAYS AS (id * 2) STORED",
        "ALTER TABLE victim ADD CHECK (id > 0), ALTER id SET NOT NULL",
        "ALTER TABLE victim ADD PRIMARY KEY (id)",
      ],
    ],
    [
      "a rewrite of partitions",
      CHILDREN,
      [
        "ALTER TABLE family ADD COLUMN u uuid DEFAULT gen_random_uuid()",
        "CREATE TABLE three PARTITION OF family FOR VALUES IN (3)",
        "CREATE TABLE rest PARTITION OF family DEFAULT",
      ],
    ],
    [
      "a new default partition's neighbour",
      `${CHILDREN} CREATE TABLE rest PARTITION OF family DEFAULT;`,
      ["CREATE TABLE three PARTITION OF family FOR VALUES IN (3)"],
    ],
    ["a table that was emptied by its users", "DELETE FROM victim;", [OWN]],
    [
      "partitions of which one was emptied",
      `${CHILDREN} DELETE FROM two;`,
      ["ALTER TABLE family ADD COLUMN u uuid DEFAULT gen_random_uuid()"],
    ],
    ["a changed type, once somebody approved it", "", ["ALTER TABLE victim ALTER id TYPE bigint"]],
    [
      "storage that is logged again",
      "ALTER TABLE victim ADD k serial; ALTER TABLE victim SET UNLOGGED;",
      ["ALTER TABLE victim SET LOGGED"],
    ],
    [
      "a materialized view",
      "CREATE MATERIALIZED VIEW m AS SELECT * FROM victim;",
      [
        "REFRESH MATERIALIZED VIEW m",
        "CREATE MATERIALIZED VIEW m2 AS SELECT * FROM victim",
        "CREATE UNIQUE INDEX ON m2 (id)",
      ],
    ],
    [
      "names that have to be quoted",
      'CREATE SCHEMA "A.b"; CREATE TABLE "A.b"."T""t" (id int); INSERT INTO "A.b"."T""t" VALUES (1);',
      ['ALTER TABLE "A.b"."T""t" ADD COLUMN u uuid DEFAULT gen_random_uuid()'],
    ],
    [
      "an event trigger that writes a log",
      `CREATE TABLE log (t text); ${trigger("ddl_command_end", "INSERT INTO log VALUES (tg_tag)")}`,
      [OWN, "CREATE TABLE nn (a int)"],
    ],
    [
      "a foreign key, a policy, an index, a trigger",
      `ALTER TABLE victim ADD PRIMARY KEY (id); ${doing("f", "NULL").replace("RETURNS int", "RETURNS trigger").replace("RETURN 1", "RETURN NEW")}`,
      [
        "ALTER TABLE other ADD FOREIGN KEY (id) REFERENCES victim (id)",
        "CREATE POLICY p ON victim",
        "ALTER TABLE victim ENABLE ROW LEVEL SECURITY",
        "CREATE INDEX ON victim (id)",
        "CREATE TRIGGER t BEFORE INSERT ON victim FOR EACH ROW EXECUTE FUNCTION f()",
      ],
    ],
  ];
  for (const [at, [what, before, statements]] of plain.entries()) {
    test(`is not taken for a loss: ${what}`, async () => {
      const url = await database(server, `guard_plain_${at}`, `${SCHEMA} ${before}`);
      expect(await applied(url, statements)).toEqual({ done: true });
    });
  }

  test("is watched for a role that owns its tables and nothing else", async () => {
    const before = `CREATE ROLE keeper LOGIN; CREATE SCHEMA mine AUTHORIZATION keeper; CREATE SCHEMA hidden; ${SCHEMA}
      CREATE TABLE mine.family (id int) PARTITION BY LIST (id); CREATE TABLE hidden.one PARTITION OF mine.family FOR VALUES IN (1);
      CREATE TABLE mine.two PARTITION OF mine.family FOR VALUES IN (2); INSERT INTO mine.family VALUES (1), (2); CREATE SEQUENCE mine.n;
      SELECT nextval('mine.n'); ALTER TABLE mine.family OWNER TO keeper; ALTER TABLE hidden.one OWNER TO keeper;
      ALTER TABLE mine.two OWNER TO keeper; ALTER SEQUENCE mine.n OWNER TO keeper;
      CREATE FUNCTION mine.f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN TRUNCATE mine.two; RETURN 1; END $$;`;
    const url = (await database(server, "guard_owner", before)).replace(/\/\/[^@]*@/, "//keeper@");
    const add = (value: string) => `ALTER TABLE mine.family ADD COLUMN g bigint NOT NULL DEFAULT ${value}`;
    expect(await applied(url, [add("nextval('mine.n')")])).toEqual({ done: true });
    const result = await applied(url, [add("mine.f()").replace("g bigint", "h int")]);
    expect("reason" in result ? result.reason : "").toContain("table mine.two");
  });

  test("is not what another session does meanwhile to a table that the plan then alters, or leaves alone", async () => {
    const url = await database(
      server,
      "guard_foreign",
      `${SCHEMA} CREATE TABLE apart (id int); INSERT INTO apart VALUES (1)`,
    );
    const holder = await connect(parseTarget(url, "url"), { connectTimeoutMs: 5_000, role: "test" });
    await holder.query("BEGIN");
    await holder.query("TRUNCATE victim, apart");
    await holder.query("INSERT INTO victim VALUES (1)");
    const running = applied(url, ["CREATE TABLE nn (a int)", "ALTER TABLE victim ADD CHECK (id > 0)", OWN]);
    await until(
      "the plan waits",
      async () => (await runSql(url, "SELECT 1 FROM pg_locks WHERE NOT granted")).length > 0,
    );
    await holder.query("COMMIT");
    await holder.end();
    expect(await running).toEqual({ done: true });
    expect(await count(url, "victim")).toBe(1);
  });
});
