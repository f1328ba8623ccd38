import { describe, expect, test } from "bun:test";
import { loadParser } from "./index.ts";
import { touchedBy } from "./touched.ts";

const parser = await loadParser();
const named = (sql: string) => touchedBy(parser, sql).named.map(({ schema, name }) => `${schema}.${name}`);

describe("what a statement's own text names", () => {
  test("is each relation of it, whatever part it plays", () => {
    expect(named('ALTER TABLE "a b"."T" ADD FOREIGN KEY (x) REFERENCES s.u (y)').sort()).toEqual(["a b.T", "s.u"]);
    expect(named("CREATE TABLE s.p1 PARTITION OF s.p FOR VALUES IN (1)").sort()).toEqual(["s.p", "s.p1"]);
    expect(named("CREATE POLICY p ON s.t")).toEqual(["s.t"]);
  });

  test("is not what a body or a call's text holds", () => {
    expect(named("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'DELETE FROM victim RETURNING 1'")).toEqual([]);
    expect(named("ALTER TABLE s.t ADD COLUMN g int DEFAULT f('victim')")).toEqual(["s.t"]);
  });

  test("is nothing where it cannot be read as one statement", () => {
    expect(named("ALTER TABLE s.t ADD COLUMN a int; TRUNCATE s.t")).toEqual([]);
    expect(named("ALTER TABEL s.t")).toEqual([]);
  });
});

describe("what a statement locks to work on its rows", () => {
  test("is the table it adds a column or a check to, or gives other storage", () => {
    const main = { schema: "s", name: "t", only: false };
    expect(touchedBy(parser, "ALTER TABLE s.t ADD COLUMN a uuid DEFAULT gen_random_uuid()").locks).toEqual(main);
    expect(touchedBy(parser, "ALTER TABLE s.t ADD CHECK (f(a))").locks).toEqual(main);
    expect(touchedBy(parser, "ALTER TABLE s.t SET LOGGED").locks).toEqual(main);
    expect(touchedBy(parser, "ALTER TABLE ONLY s.t ADD COLUMN a int").locks).toEqual({ ...main, only: true });
  });

  test("is none for a foreign key, a default or an index", () => {
    for (const sql of [
      "ALTER TABLE s.t ADD FOREIGN KEY (a) REFERENCES s.u (b)",
      "ALTER TABLE s.t ALTER a SET DEFAULT f()",
      "CREATE INDEX ON s.t (f(a))",
    ])
      expect(touchedBy(parser, sql).locks).toBeUndefined();
  });
});

describe("what a statement changes itself", () => {
  const own = (sql: string) => touchedBy(parser, sql).own.map(({ schema, name }) => `${schema}.${name}`);

  test("is its table, a partition that it attaches, the parent of a new partition", () => {
    expect(own("ALTER TABLE s.t ADD COLUMN a int REFERENCES s.u (b)")).toEqual(["s.t"]);
    expect(own("ALTER TABLE s.t ATTACH PARTITION s.p FOR VALUES IN (1)")).toEqual(["s.t", "s.p"]);
    expect(own("CREATE TABLE s.p1 PARTITION OF s.p DEFAULT")).toEqual(["s.p1", "s.p"]);
    expect(own("CREATE POLICY p ON s.t")).toEqual(["s.t"]);
  });

  test("is nothing that it only reads", () => {
    expect(own("CREATE INDEX ON s.t (f(a))")).toEqual([]);
    expect(own("CREATE MATERIALIZED VIEW s.m AS SELECT f(a) FROM s.t")).toEqual([]);
  });
});
