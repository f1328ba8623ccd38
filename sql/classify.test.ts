import { describe, expect, test } from "bun:test";
import { classify, loadParser, type PrivilegeChange, type Severity } from "./index.ts";
import { UNREADABLE_PRIVILEGES } from "./privileges.ts";

const parser = await loadParser();
const classOf = (sql: string) => classify(parser, sql);

describe("severity", () => {
  const table: readonly [string, Severity][] = [
    ["CREATE TABLE t (a int)", "safe"],
    ["ALTER TABLE t ADD COLUMN b int", "safe"],
    ["ALTER TABLE t ADD COLUMN b int NOT NULL DEFAULT 1", "safe"],
    ["ALTER TABLE t ADD COLUMN b int NOT NULL", "warning"],
    ["CREATE INDEX CONCURRENTLY i ON t (a)", "safe"],
    ["CREATE UNIQUE INDEX i ON t (a)", "warning"],
    ["ALTER TABLE t ALTER a SET NOT NULL", "warning"],
    ["ALTER TABLE t RENAME COLUMN a TO b", "warning"],
    ["ALTER TABLE t RENAME TO u", "warning"],
    ["ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0)", "warning"],
    ["CREATE OR REPLACE VIEW v AS SELECT 1", "warning"],
    ["INSERT INTO t VALUES (1)", "info"],
    ["INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING", "info"],
    ["INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2", "destructive"],
    ["UPDATE t SET a = 1", "destructive"],
    ["DELETE FROM t", "destructive"],
    ["MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE", "destructive"],
    ["WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone", "destructive"],
    ["DROP TABLE t", "destructive"],
    ["drop /* x */ table t", "destructive"],
    ["DROP INDEX i", "destructive"],
    ["DROP SEQUENCE s", "destructive"],
    ["DROP EXTENSION e", "destructive"],
    ["DROP VIEW v", "destructive"],
    ["DROP SCHEMA s CASCADE", "destructive"],
    ["DROP TYPE e", "destructive"],
    ["DROP DATABASE d", "destructive"],
    ["DROP USER MAPPING FOR x SERVER s", "destructive"],
    ["TRUNCATE a, b", "destructive"],
    ["ALTER TABLE t DROP COLUMN a", "destructive"],
    ["ALTER TABLE t DROP a", "destructive"],
    ["ALTER TABLE t DROP CONSTRAINT c", "destructive"],
    ["ALTER TABLE t ALTER a DROP NOT NULL", "destructive"],
    ["ALTER TABLE t ALTER a DROP DEFAULT", "destructive"],
    ["ALTER TABLE t ALTER a SET DEFAULT 1", "safe"],
    ["ALTER TABLE t ALTER a DROP IDENTITY", "destructive"],
    ["ALTER TABLE t ALTER a TYPE varchar(10)", "destructive"],
    ["ALTER TABLE t ALTER a SET DATA TYPE bigint", "destructive"],
    ["ALTER TABLE t DISABLE ROW LEVEL SECURITY", "destructive"],
    ["ALTER TABLE t SET UNLOGGED", "destructive"],
    ["ALTER TABLE t DETACH PARTITION p", "destructive"],
    ["ALTER TYPE c DROP ATTRIBUTE x", "destructive"],
    ["ALTER TYPE e ADD VALUE 'x'", "safe"],
    ["ALTER DOMAIN d DROP CONSTRAINT c", "destructive"],
    ["ALTER DOMAIN d DROP NOT NULL", "destructive"],
    ["ALTER DOMAIN d DROP DEFAULT", "destructive"],
    ["ALTER PUBLICATION p DROP TABLE t", "destructive"],
    ["ALTER EXTENSION e DROP FUNCTION f()", "destructive"],
    ["ALTER TEXT SEARCH CONFIGURATION c DROP MAPPING FOR word", "destructive"],
    ["ALTER TABLE t ADD COLUMN b bigint DEFAULT nextval('s')", "safe"],
    ["ALTER TABLE t ADD COLUMN b uuid DEFAULT gen_random_uuid()", "safe"],
    ["ALTER TABLE t ADD COLUMN b bigint DEFAULT setval('s', 1)", "destructive"],
    ["ALTER TABLE t ADD COLUMN b int DEFAULT pg_catalog.lo_unlink(12345)", "destructive"],
    ["ALTER TABLE t ADD CHECK (setval('s', 1) > 0)", "destructive"],
    ["CREATE MATERIALIZED VIEW m AS SELECT setval('s', 1)", "destructive"],
    ["CREATE VIEW v AS SELECT setval('s', 1)", "safe"],
    ["CREATE FUNCTION f() RETURNS bigint LANGUAGE sql AS 'SELECT setval(''s'', 1)'", "safe"],
    ["CREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION f()", "destructive"],
    ["ALTER EVENT TRIGGER e ENABLE", "destructive"],
    ["ALTER EVENT TRIGGER e ENABLE ALWAYS", "destructive"],
    ["ALTER EVENT TRIGGER e DISABLE", "warning"],
    ["CREATE SCHEMA x CREATE TABLE t (a int)", "safe"],
    ["SET lock_timeout = '5s'", "safe"],
    ["SELECT pg_catalog.set_config('search_path', '', false)", "safe"],
    ["SELECT setval('s', 10)", "safe"],
    ["-- nothing but a comment", "safe"],
    ["", "safe"],
    ["CREATE TABLE a (x int); DROP TABLE b", "destructive"],
  ];
  for (const [sql, severity] of table) {
    test(`${sql} is ${severity}`, () => expect(classOf(sql).severity).toBe(severity));
  }
});

describe("tables that the same plan creates", () => {
  const onNew = (sql: string) => classify(parser, sql, new Set(["public.t"])).severity;

  test("are not warned of: no row there breaks a rule", () => {
    expect(onNew('ALTER TABLE "public"."t" ADD CONSTRAINT c FOREIGN KEY (a) REFERENCES u')).toBe("safe");
    expect(onNew("CREATE UNIQUE INDEX i ON public.t (a)")).toBe("safe");
    expect(onNew("ALTER TABLE public.t ADD COLUMN b int NOT NULL")).toBe("safe");
  });

  test("are no excuse for another table, an unqualified name or a loss", () => {
    expect(onNew("ALTER TABLE public.u ADD CONSTRAINT c FOREIGN KEY (a) REFERENCES public.t")).toBe("warning");
    expect(onNew("ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0)")).toBe("warning");
    expect(onNew("ALTER TABLE public.t DROP COLUMN a")).toBe("destructive");
  });
});

describe("strings and comments are data", () => {
  const table = [
    "COMMENT ON TABLE t IS 'DROP TABLE t'",
    "COMMENT ON FUNCTION f() IS $$ drop table t; grant all on t to x $$",
    "CREATE TABLE t (a text DEFAULT 'drop table t')",
    "CREATE TABLE t (a int) -- DROP TABLE u",
    "/* DROP TABLE u; /* nested */ TRUNCATE v */ CREATE TABLE t (a int)",
    'CREATE TABLE "drop table" ("truncate" int)',
    "CREATE FUNCTION f() RETURNS text LANGUAGE sql AS $$ SELECT 'drop table t' -- truncate t\n $$",
    "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ begin /* drop table t */ raise notice 'drop table t'; end $$",
    "CREATE TABLE t (a text DEFAULT E'\\'; DROP TABLE t; --')",
  ];
  for (const sql of table) test(sql, () => expect(classOf(sql).severity).toBe("safe"));

  test("half-commented SQL is read as the server reads it", () => {
    expect(classOf("/* CREATE TABLE a (x int); */ DROP TABLE b; -- */").destructive).toBe(true);
    expect(classOf("CREATE TABLE a (x int); -- /*\nDROP TABLE b;").destructive).toBe(true);
    expect(classOf("CREATE TABLE a (x int); /* \nDROP TABLE b;").destructive).toBe(true);
  });
});

describe("privilege kinds", () => {
  const table: readonly [string, readonly PrivilegeChange[]][] = [
    ["GRANT SELECT ON t TO x", ["Grant"]],
    ["GRANT ALL ON ALL TABLES IN SCHEMA s TO x", ["Grant"]],
    ["REVOKE ALL ON t FROM x", ["Revoke"]],
    ["REVOKE GRANT OPTION FOR SELECT ON t FROM x", ["Revoke"]],
    ["ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO x", ["Grant"]],
    ["ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM x", ["Revoke"]],
    ["GRANT a TO b", ["RoleMembership"]],
    ["REVOKE a FROM b", ["RoleMembership"]],
    ["REVOKE ADMIN OPTION FOR a FROM b", ["RoleMembership"]],
    ["ALTER GROUP g ADD USER u", ["RoleMembership"]],
    ["ALTER GROUP g DROP USER u", ["RoleMembership"]],
    ["CREATE ROLE r", ["Role"]],
    ["CREATE USER r", ["Role"]],
    ["CREATE ROLE r IN ROLE s", ["RoleMembership", "Role"]],
    ["CREATE ROLE r ROLE s", ["RoleMembership", "Role"]],
    ["ALTER ROLE r NOLOGIN", ["Role"]],
    ["ALTER ROLE r SET search_path = x", ["Role"]],
    ["ALTER ROLE r RENAME TO s", ["Role"]],
    ["DROP ROLE r", ["Role"]],
    ["SET ROLE r", ["Role"]],
    ["RESET ROLE", ["Role"]],
    ["SET SESSION AUTHORIZATION r", ["Role"]],
    ["ALTER TABLE t OWNER TO x", ["Ownership"]],
    ["ALTER FUNCTION f() OWNER TO x", ["Ownership"]],
    ["ALTER SCHEMA s OWNER TO x", ["Ownership"]],
    ['ALTER TABLE t RENAME COLUMN "owner to" TO x', []],
    ["ALTER TABLE t ADD COLUMN role int", []],
    ['ALTER TABLE t ADD COLUMN "user" int', []],
    ["REASSIGN OWNED BY a TO b", ["Ownership"]],
    ["CREATE SCHEMA s AUTHORIZATION x", ["Ownership"]],
    ["DROP OWNED BY x", ["Revoke"]],
    ["CREATE POLICY p ON t", ["RowSecurityPolicy"]],
    ["ALTER POLICY p ON t USING (true)", ["RowSecurityPolicy"]],
    ["DROP POLICY p ON t", ["RowSecurityPolicy"]],
    ["ALTER POLICY p ON t RENAME TO q", ["RowSecurityPolicy"]],
    ["ALTER TABLE t DISABLE ROW LEVEL SECURITY", ["RowSecurityPolicy"]],
    ["ALTER TABLE t NO FORCE ROW LEVEL SECURITY", ["RowSecurityPolicy"]],
    ["ALTER TABLE t ENABLE ROW LEVEL SECURITY", []],
    ["ALTER FUNCTION f() SECURITY DEFINER", ["SecurityDefiner"]],
    ["ALTER FUNCTION f() SECURITY INVOKER", []],
    ["CREATE FUNCTION f() RETURNS int SECURITY DEFINER LANGUAGE sql AS 'select 1'", ["SecurityDefiner"]],
    ["CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS 'select 1'", ["FunctionReplacement"]],
    ["CREATE OR REPLACE PROCEDURE f() LANGUAGE sql AS 'select 1'", ["FunctionReplacement"]],
    ["CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'select 1'", []],
    ["CREATE VIEW v WITH (security_invoker = off) AS SELECT 1", ["SecurityDefiner"]],
    ["CREATE VIEW v WITH (security_invoker = true) AS SELECT 1", []],
    ["CREATE VIEW v WITH (security_invoker) AS SELECT 1", []],
    ["ALTER VIEW v SET (security_invoker = false)", ["SecurityDefiner"]],
    ["ALTER VIEW v RESET (security_invoker)", ["SecurityDefiner"]],
    ["ALTER VIEW v SET (security_barrier = false)", []],
    ["CREATE SCHEMA s CREATE TABLE t (a int) GRANT SELECT ON t TO x", ["Grant"]],
    ["GRANT a TO b; REVOKE ALL ON t FROM b; CREATE ROLE z", ["Revoke", "RoleMembership", "Role"]],
  ];
  for (const [sql, kinds] of table) {
    test(`${sql} is ${kinds.join(", ") || "none"}`, () => expect(classOf(sql).privilegeChanges).toEqual([...kinds]));
  }
});

describe("routine bodies", () => {
  const plpgsql = (body: string) =>
    `CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $body$ begin ${body} end $body$`;
  const block = (body: string) => `DO $body$ begin ${body} end $body$`;

  test("a stored body may change rows, for that is what routines are for", () => {
    const found = classOf(plpgsql("delete from t; update t set a = 1; perform other(1); insert into t values (1);"));
    expect(found).toMatchObject({ severity: "safe", tables: [] });
  });
  test("a stored body that drops or truncates counts", () => {
    expect(classOf(plpgsql("if true then drop table t; end if;")).destructive).toBe(true);
    expect(classOf(plpgsql("truncate t;")).destructive).toBe(true);
    expect(classOf("CREATE FUNCTION f() RETURNS void LANGUAGE sql AS 'drop table t'").destructive).toBe(true);
    expect(classOf("CREATE FUNCTION f() RETURNS void BEGIN ATOMIC DELETE FROM t; END").severity).toBe("safe");
  });
  test("a stored body that grants carries the privilege kind", () => {
    expect(classOf(plpgsql("grant select on t to x;")).privilegeChanges).toEqual(["Grant"]);
  });
  test("a stored body that changes how the session reads, acts or counts is unreadable", () => {
    const settings = ["standard_conforming_strings", "role", "track_counts", "client_encoding"];
    const bodies = [
      ...settings.map((name) => `perform set_config('${name}', 'off', false);`),
      "perform pg_catalog.set_config('standard_' || 'conforming_strings', 'off', false);",
      "set track_counts = off;",
      "set standard_conforming_strings = off;",
    ].map(plpgsql);
    const heads = ["standard_conforming_strings", "track_counts"].map(
      (name) => `CREATE FUNCTION f() RETURNS int LANGUAGE sql SET ${name} = off AS 'select 1'`,
    );
    for (const sql of [...bodies, ...heads]) expect(classOf(sql).destructive).toBe(true);
    expect(classOf(plpgsql("perform set_config('app.tenant', a, true);")).severity).toBe("safe");
    expect(classOf("CREATE FUNCTION f() RETURNS int LANGUAGE sql SET search_path = app AS 'select 1'").severity).toBe(
      "safe",
    );
  });
  test("a DO block counts as what it does", () => {
    expect(classOf(block("create table t (a int);"))).toMatchObject({ severity: "safe", tables: ["t"] });
    expect(classOf(block("delete from s.t;"))).toMatchObject({
      destructive: true,
      privilegeChanges: [],
      tables: ["s.t"],
    });
    expect(classOf(block("if to_regclass('x') is null then drop table x; end if;")).destructive).toBe(true);
    expect(classOf(block("call p();")).privilegeChanges).toEqual([...UNREADABLE_PRIVILEGES]);
    expect(classOf(block("perform p();")).destructive).toBe(true);
  });
  test("EXECUTE is read where its kind of statement is fixed", () => {
    expect(classOf(block("execute 'create table t (a int)';")).severity).toBe("safe");
    expect(classOf(block("execute 'drop' || ' table t';"))).toMatchObject({ destructive: true, privilegeChanges: [] });
    expect(classOf(block("execute format('alter table %I.%I add column x int', a, b);")).severity).toBe("safe");
    expect(
      classOf(block("execute 'comment on table ' || quote_ident(a) || ' is ' || quote_literal(b);")).severity,
    ).toBe("safe");
    expect(classOf(block("execute format('grant select on %I to %I', a, b);")).privilegeChanges).toEqual(["Grant"]);
  });
  test("EXECUTE whose text depends on a value is unreadable", () => {
    for (const sql of [
      "execute a;",
      "execute 'x ' || a;",
      "execute format('%s', a);",
      "execute format(a, 'x');",
      "execute lower('X');",
    ]) {
      expect(classOf(block(sql))).toMatchObject({ destructive: true, privilegeChanges: [...UNREADABLE_PRIVILEGES] });
      expect(classOf(plpgsql(sql)).destructive).toBe(true);
    }
    const loop = "declare r record; begin for r in execute a loop null; end loop; end;";
    expect(classOf(block(loop)).destructive).toBe(true);
    expect(classOf(block("declare c refcursor; begin open c for execute a; end;")).destructive).toBe(true);
  });
  test("a body of a row type the parser does not know is read by its words", () => {
    const known =
      "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ declare z s.t%rowtype; begin z.x := 1; delete from t; end $$";
    expect(classOf(known).severity).toBe("safe");
    expect(classOf(known.replace("delete from t", "drop table t"))).toMatchObject({
      destructive: true,
      privilegeChanges: [...UNREADABLE_PRIVILEGES],
    });
    expect(classOf("DO $$ declare z s.t%rowtype; begin z.x := 1; end $$").destructive).toBe(true);
  });
  test("other languages are not read", () => {
    expect(classOf("CREATE FUNCTION f() RETURNS int LANGUAGE plpython3u AS 'return 1'").destructive).toBe(true);
    expect(classOf("CREATE FUNCTION f() RETURNS int LANGUAGE c AS 'lib', 'sym'").destructive).toBe(true);
    expect(classOf("DO LANGUAGE plperl $$ 1 $$").destructive).toBe(true);
  });
  test("a routine made inside a routine is read too", () => {
    const inner = "create function g() returns void language sql as 'drop table t'";
    expect(classOf(block(`execute $x$ ${inner} $x$;`)).destructive).toBe(true);
  });
});

describe("what cannot be read", () => {
  const table = [
    "DROP TABEL t",
    "CREATE TABLE t (a int",
    "SELECT 'never closed",
    "CREATE TABLE t (a int)\0; DROP TABLE u",
    "CREATE TABLE \ud800 (a int)",
    "\\copy t from x",
    "CALL p()",
    "SELECT my_function()",
    "SELECT s.setval('a', 1)",
    "SELECT set_config('role', 'x', false)",
    "SELECT set_config(a, 'x', false) FROM t",
    "COPY t FROM PROGRAM 'x'",
    "COPY t FROM '/etc/passwd'",
    "EXECUTE prepared",
    "COMMIT",
    "LOAD 'x'",
    "ALTER SYSTEM SET x = 1",
    "SET standard_conforming_strings = off",
    `COMMENT ON TABLE t IS '${"x".repeat(1024 * 1024)}'`,
    `SELECT ${"(".repeat(20_000)}1${")".repeat(20_000)}`,
  ];
  for (const sql of table) {
    test(`${JSON.stringify(sql.slice(0, 50))} is destructive and privilege-changing`, () => {
      expect(classOf(sql)).toMatchObject({ severity: "destructive", privilegeChanges: [...UNREADABLE_PRIVILEGES] });
    });
  }
});

describe("credentials and relations", () => {
  const credentials = [
    "ALTER ROLE x PASSWORD 'hunter2'",
    "CREATE USER x WITH ENCRYPTED PASSWORD 'hunter2'",
    "ALTER USER x PASSWORD NULL",
    "CREATE USER MAPPING FOR x SERVER s OPTIONS (user 'a', password 'hunter2')",
    "ALTER USER MAPPING FOR x SERVER s OPTIONS (SET password 'hunter2')",
    "CREATE SUBSCRIPTION s CONNECTION 'host=a password=hunter2' PUBLICATION p",
    "DO $$ begin alter role x password 'hunter2'; end $$",
    "CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ alter role x password 'hunter2' $$",
  ];
  for (const sql of credentials) {
    test(`${sql.slice(0, 40)} is flagged and not repeated`, () => {
      const found = classOf(sql);
      expect(found.credential).toBe(true);
      expect(JSON.stringify(found)).not.toContain("hunter2");
    });
  }
  test("a column that is called password is no credential", () => {
    expect(classOf("CREATE TABLE t (password text)").credential).toBe(false);
  });

  const relations: readonly [string, readonly string[]][] = [
    ["DROP TABLE a.t, u", ["a.t", "u"]],
    ["ALTER TABLE only_it ADD COLUMN x int REFERENCES other (id)", ["only_it"]],
    ["ALTER TABLE t ATTACH PARTITION p FOR VALUES IN (1)", ["p", "t"]],
    ["DELETE FROM s.t USING u", ["s.t"]],
    ["INSERT INTO t SELECT * FROM u", ["t"]],
    ["CREATE INDEX i ON s.t (a)", ["s.t"]],
    ["CREATE POLICY p ON s.t", ["s.t"]],
    ["DROP TRIGGER g ON s.t", ["s.t"]],
    ["COMMENT ON COLUMN s.t.c IS 'x'", ["s.t"]],
    ["GRANT SELECT ON s.t TO x", ["s.t"]],
    ["TRUNCATE a, s.b", ["a", "s.b"]],
    ["CREATE VIEW v AS SELECT * FROM t", ["v"]],
    ["CREATE TRIGGER g BEFORE INSERT ON s.t EXECUTE FUNCTION f()", ["s.t"]],
    ["SELECT 1 FROM t", []],
  ];
  for (const [sql, tables] of relations) {
    test(`${sql} changes ${tables.join(", ") || "nothing"}`, () => expect(classOf(sql).tables).toEqual([...tables]));
  }
});
