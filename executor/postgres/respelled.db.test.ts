import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { database, NEVER_STOPPED, runSql, type TestServer, TIMING, testServer } from "../cases/test-server.ts";
import { Refused } from "../contract.ts";
import { applyPlan, loadPlan } from "./apply.ts";
import { type DriftResult, driftOf } from "./drift.ts";
import { NO_EXCLUSION } from "./exclude.ts";
import { type PlanResult, planSchema } from "./plan.ts";
import { parseTarget } from "./url.ts";

let server: TestServer;
let work: string;

beforeAll(async () => {
  server = await testServer();
  work = mkdtempSync(join(tmpdir(), "ptah-respelled-"));
});

afterAll(async () => {
  await server.stop();
  rmSync(work, { recursive: true, force: true });
});

/** One database and the schema that is declared for it. */
interface Pair {
  readonly url: string;
  plan(): Promise<PlanResult>;
  drift(): Promise<DriftResult>;
  apply(): Promise<string>;
}

async function pair(name: string, before: string, after: string): Promise<Pair> {
  const url = await database(server, name, before);
  const home = join(work, name);
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "schema.sql"), after);
  const planFile = join(work, `${name}.plan.json`);
  const target = parseTarget(url, "target");
  const dev = parseTarget(server.url("postgres"), "scratch");
  const asked = { ...TIMING, stop: NEVER_STOPPED, target, dev, schemaFile: home, exclusion: NO_EXCLUSION };
  return {
    url,
    plan: () => planSchema({ ...asked, protectedTables: [], mode: "file", output: planFile, dumpBinary: undefined }),
    drift: () => driftOf(asked),
    apply: async () => {
      const { plan } = loadPlan(planFile);
      const result = await applyPlan(plan, {
        ...TIMING,
        stop: NEVER_STOPPED,
        target,
        planFile,
        dryRun: false,
        mode: "file",
      });
      return result.outcome;
    },
  };
}

const PART = "CREATE TABLE part (a int, b int) PARTITION BY RANGE (a);";
const PART1 = "CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (10);";
const INDEX = "CREATE INDEX ON part (b);";
const TABLE = "CREATE TABLE t (i int);";
const VIEW = "CREATE VIEW v AS SELECT i FROM t;";
const ROOT = "CREATE TABLE root (a int DEFAULT 1);";
const CHILD = "CREATE TABLE child (b int) INHERITS (root);";

const DEFAULTS = `SELECT c.relname || '.' || a.attname AS at, pg_get_expr(d.adbin, d.adrelid) AS text FROM pg_attrdef d
  JOIN pg_class c ON c.oid = d.adrelid JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.adnum ORDER BY 1`;
const OPTIONS = `SELECT relname AS at, (SELECT string_agg(o, ' ' ORDER BY o) FROM unnest(reloptions) o) AS text FROM pg_class
  WHERE relkind = 'i' AND relnamespace = 'public'::regnamespace AND reloptions IS NOT NULL ORDER BY 1`;

/** What is declared (or found) beside the same structure, and what a database then has. */
const PROPERTIES: readonly (readonly [string, string, string, string, readonly [string, string][]])[] = [
  [
    "a partition's default",
    PART + PART1,
    "ALTER TABLE part1 ALTER COLUMN b SET DEFAULT 3;",
    DEFAULTS,
    [["part1.b", "3"]],
  ],
  ["a view column's default", TABLE + VIEW, "ALTER VIEW v ALTER COLUMN i SET DEFAULT 4;", DEFAULTS, [["v.i", "4"]]],
  [
    "an inheriting table's default",
    ROOT + CHILD,
    "ALTER TABLE child ALTER COLUMN a SET DEFAULT 2;",
    DEFAULTS,
    [
      ["child.a", "2"],
      ["root.a", "1"],
    ],
  ],
  [
    "an inheriting table's missing default",
    ROOT + CHILD,
    "ALTER TABLE child ALTER COLUMN a DROP DEFAULT;",
    DEFAULTS,
    [["root.a", "1"]],
  ],
  [
    "an option of a partition's index",
    PART + PART1 + INDEX,
    "ALTER INDEX part1_b_idx SET (fillfactor = 50);",
    OPTIONS,
    [["part1_b_idx", "fillfactor=50"]],
  ],
  [
    "two options of a partition's index",
    PART + PART1 + INDEX,
    "ALTER INDEX part1_b_idx SET (fillfactor = 50, deduplicate_items = off);",
    OPTIONS,
    [["part1_b_idx", "deduplicate_items=off fillfactor=50"]],
  ],
];

describe("a property that a rebuild loses on both sides is no other spelling", () => {
  for (const [at, [what, structure, property, query, wanted]] of PROPERTIES.entries()) {
    const rows = wanted.map(([where, text]) => ({ at: where, text }));

    test(`${what} is drift, is made, and is then in sync`, async () => {
      const declared = await pair(`made_${at}`, structure, structure + property);
      expect((await declared.drift()).drift).toBe(true);
      expect((await declared.plan()).outcome).toBe("changes");
      expect(await declared.apply()).toBe("applied");
      expect(await runSql(declared.url, query)).toEqual(rows);
      expect((await declared.plan()).outcome).toBe("no-changes");
      expect((await declared.drift()).drift).toBe(false);
    });

    test(`${what} that was set by hand is drift and is taken back`, async () => {
      const found = await pair(`found_${at}`, structure + property, structure);
      expect((await found.drift()).drift).toBe(true);
      expect((await found.plan()).outcome).toBe("changes");
      expect(await found.apply()).toBe("applied");
      expect(await runSql(found.url, query)).not.toEqual(rows);
      expect((await found.plan()).outcome).toBe("no-changes");
    });

    test(`${what} is made with everything else from nothing`, async () => {
      const fresh = await pair(`fresh_${at}`, "SELECT 1", structure + property);
      expect((await fresh.plan()).outcome).toBe("changes");
      expect(await fresh.apply()).toBe("applied");
      expect(await runSql(fresh.url, query)).toEqual(rows);
      expect((await fresh.drift()).drift).toBe(false);
    });
  }

  test("a change beside it does not lose it", async () => {
    const all = `${PART}${PART1}${INDEX}${TABLE}${VIEW} ALTER TABLE part1 ALTER COLUMN b SET DEFAULT 3;
      ALTER VIEW v ALTER COLUMN i SET DEFAULT 4; ALTER INDEX part1_b_idx SET (fillfactor = 50);`;
    const beside = await pair("beside", all, `${all} CREATE TABLE more (a int);`);
    const planned = await beside.plan();
    expect(planned.plan?.statements.map((s) => s.sql.slice(0, 12))).toEqual(["CREATE TABLE"]);
    expect(await beside.apply()).toBe("applied");
    expect((await beside.drift()).drift).toBe(false);
  });
});

describe("what a partition's index has and its parent's has not", () => {
  const plain = `${PART}${PART1} CREATE INDEX i ON ONLY part (b); CREATE INDEX i1 ON part1 (b); ALTER INDEX i ATTACH PARTITION i1;`;
  const descending = plain.replace("part1 (b)", "part1 (b DESC)");
  const outcome = (pair: Pair): Promise<string> =>
    pair.plan().then(
      (result) => result.outcome,
      (error: unknown) => (error instanceof Refused ? error.refusal.code : String(error)),
    );

  test("is drift where only one side has it, and is refused by name", async () => {
    for (const [name, before, after] of [
      ["ordered", plain, descending],
      ["unordered", descending, plain],
    ] as const) {
      const other = await pair(name, before, after);
      expect((await other.drift()).drift).toBe(true);
      expect(await outcome(other)).toBe("not_managed");
    }
  });

  test("is no hindrance where both have it", async () => {
    const same = await pair("both_ordered", descending, `${descending} CREATE TABLE more (a int);`);
    expect(await outcome(same)).toBe("changes");
    expect(await same.apply()).toBe("applied");
    expect((await same.drift()).drift).toBe(false);
  });
});

describe("what only is another spelling", () => {
  const printed = `CREATE TABLE s (c varchar(9) CHECK (c IN ('a', 'b')), d varchar(9));
    CREATE INDEX si ON s (d) WITH (fillfactor = 70) WHERE d IN ('a', 'b');`;
  const again = `CREATE TABLE s (c varchar(9), d varchar(9),
      CONSTRAINT s_c_check CHECK (((c)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[]))));
    CREATE INDEX si ON s USING btree (d) WITH (fillfactor = '70') WHERE ((d)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[]));`;

  test("is no change", async () => {
    const same = await pair("spelled", printed, again);
    expect((await same.plan()).outcome).toBe("no-changes");
    expect((await same.drift()).drift).toBe(false);
  });

  test("does not hide another option beside it", async () => {
    const other = await pair("optioned", printed, again.replace("'70'", "'60'"));
    expect((await other.drift()).drift).toBe(true);
    const outcome = await other.plan().then(
      (result) => result.outcome as string,
      (error: unknown) => (error instanceof Refused ? error.refusal.code : String(error)),
    );
    expect(outcome).toBe("changes");
    expect(await other.apply()).toBe("applied");
    expect(await runSql(other.url, OPTIONS)).toEqual([{ at: "si", text: "fillfactor=60" }]);
  });
});
