import { afterAll, beforeAll, describe, expect, setSystemTime, test } from "bun:test";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodePlan, type PlanDocument, type PlanStatement } from "../../sql/index.ts";
import { PTAH } from "../cases/executable.ts";
import { database, runSql, type TestServer, testServer, until } from "../cases/test-server.ts";
import { takeLock } from "./lock.ts";
import { connect } from "./session.ts";
import { parseTarget } from "./url.ts";

const LOCK = 1_237_737_229;
const HELD = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = ${LOCK} AND database =
  (SELECT oid FROM pg_database WHERE datname = current_database())`;

let server: TestServer;
let work: string;

beforeAll(async () => {
  server = await testServer();
  work = mkdtempSync(join(tmpdir(), "ptah-apply-"));
});

afterAll(async () => {
  await server.stop();
  rmSync(work, { recursive: true, force: true });
});

interface Ended {
  readonly report: Record<string, unknown> & { refusal?: { code: string; tables?: string[] }; plan?: PlanDocument };
  readonly exit: number | null;
  readonly output: string;
}

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

function start(args: readonly string[], env: Readonly<Record<string, string>>): Running {
  const [binary, ...first] = PTAH;
  const child = spawn(binary, [...first, "schema", ...args], { env: { PATH: process.env["PATH"] ?? "", ...env } });
  const out: Buffer[] = [];
  const all: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => {
    out.push(chunk);
    all.push(chunk);
  });
  child.stderr.on("data", (chunk: Buffer) => all.push(chunk));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("close", (exit) => {
      const output = Buffer.concat(all).toString();
      try {
        resolve({ report: JSON.parse(Buffer.concat(out).toString()), exit, output });
      } catch {
        reject(new Error(`no report: ${output}`));
      }
    });
  });
  return { child, ended };
}

const run = (args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> => start(args, env).ended;

function desired(name: string, sql: string): string {
  const home = join(work, name);
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "schema.sql"), sql);
  return home;
}

interface Planned {
  readonly url: string;
  readonly file: string;
  readonly plan: PlanDocument;
}

async function planned(name: string, before: string, after: string): Promise<Planned> {
  const url = await database(server, name, before);
  const file = join(work, `${name}.plan.json`);
  const env = { PTAH_DB_URL: url, PTAH_DEV_URL: server.url("postgres"), PTAH_SCHEMA_FILE: desired(name, after) };
  const { report } = await run(["plan", "--output", file, "--json"], env);
  expect(report["outcome"]).toBe("changes");
  return { url, file, plan: report.plan as PlanDocument };
}

/** The same plan with other statements: what a person approved is what runs, whatever it is. */
function withStatements(
  plan: PlanDocument,
  file: string,
  statements: readonly (Partial<PlanStatement> & { sql: string })[],
): void {
  const base = {
    severity: "safe",
    reason: "",
    transaction: "joined",
    commitAfter: false,
    class: { destructive: false, privilegeChanges: [] },
  } as const;
  const encoded = encodePlan({ ...plan, statements: statements.map((s) => ({ ...base, ...s }) as PlanStatement) });
  if (!("bytes" in encoded)) throw new Error(encoded.error.message);
  writeFileSync(file, encoded.bytes);
}

const applyArgs = (file: string): string[] => ["apply", "--plan", file, "--auto-approve", "--json"];
const tables = async (url: string): Promise<string[]> =>
  (
    await runSql(
      url,
      "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1",
    )
  ).map((r) => String(r["relname"]));
const isRunning = async (url: string, query: string): Promise<boolean> =>
  (
    await runSql(
      url,
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid() AND query LIKE '${query}%'`,
    )
  ).length > 0;

describe("applying a plan", () => {
  test("changes the database, and planning again finds nothing", async () => {
    const { url, file } = await planned("apply_once", "create table t(a int)", "create table t(a int, b text);");
    const { report, exit } = await run(applyArgs(file), { PTAH_DB_URL: url });
    expect([report["outcome"], exit]).toEqual(["applied", 0]);
    const env = { PTAH_DB_URL: url, PTAH_DEV_URL: server.url("postgres"), PTAH_SCHEMA_FILE: join(work, "apply_once") };
    expect((await run(["plan", "--output", `${file}.2`, "--json"], env)).report["outcome"]).toBe("no-changes");
  });

  test("a dry run sends nothing and lists the plan's statements", async () => {
    const { url, file, plan } = await planned("apply_dry", "create table t(a int)", "create table t(a int, b text);");
    const { report } = await run(["apply", "--plan", file, "--auto-approve", "--dry-run", "--json"], {
      PTAH_DB_URL: url,
    });
    expect(report["outcome"]).toBe("dry-run");
    expect(report["statements"]).toEqual(plan.statements.map((s) => s.sql));
    expect(
      await runSql(url, "SELECT attname FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0"),
    ).toHaveLength(1);
  });

  test("a database that moved since the plan is refused as stale, and nothing is sent", async () => {
    const { url, file } = await planned("apply_stale", "create table t(a int)", "create table t(a int, b text);");
    await runSql(url, "create table other(x int)");
    const { report, exit } = await run(applyArgs(file), { PTAH_DB_URL: url });
    expect([report["outcome"], report.refusal?.code, exit]).toEqual(["refused", "stale-plan", 2]);
    expect(await tables(url)).toEqual(["other", "t"]);
  });

  test("a lock held by another session is waited for up to the timeout, then refused", async () => {
    const { url, file } = await planned("apply_locked", "create table t(a int)", "create table t(a int, b text);");
    const holder = await connect(parseTarget(url, "url"), { connectTimeoutMs: 5_000, role: "test" });
    await holder.query(`SELECT pg_advisory_lock(${LOCK})`);
    const { report } = await run([...applyArgs(file), "--lock-timeout", "200ms"], { PTAH_DB_URL: url });
    await holder.end();
    expect([report["outcome"], report.refusal?.code]).toEqual(["refused", "lock_timeout"]);
  });

  test("a clock that is set back does not make the wait for a lock longer", async () => {
    const url = await database(server, "apply_clock", "select 1");
    const open = () => connect(parseTarget(url, "url"), { connectTimeoutMs: 5_000, role: "test" });
    const [holder, waiting] = await Promise.all([open(), open()]);
    await holder.query(`SELECT pg_advisory_lock(${LOCK})`);
    const yesterday = new Date(Date.now() - 86_400_000);
    const refused = takeLock(waiting, open, 300, () => void setSystemTime(yesterday));
    await expect(refused).rejects.toMatchObject({ refusal: { code: "lock_timeout" } });
    setSystemTime();
    await Promise.all([holder.end(), waiting.end()]);
  });

  test("a lock that a second session can take too is refused: a transaction pooler protects nothing", async () => {
    const url = await database(server, "apply_pooler", "select 1");
    const session = await connect(parseTarget(url, "url"), { connectTimeoutMs: 5_000, role: "test" });
    const shared = { ...session, end: async () => undefined };
    await expect(
      takeLock(
        session,
        async () => shared,
        1_000,
        () => undefined,
      ),
    ).rejects.toMatchObject({ refusal: { code: "lock_not_exclusive" } });
    await session.end();
  });

  test("a lock that is not exclusive does not stay in the server session that a pooler keeps", async () => {
    const url = await database(server, "apply_pooler_left", "select 1");
    const session = await connect(parseTarget(url, "url"), { connectTimeoutMs: 5_000, role: "test" });
    const shared = { ...session, end: async () => undefined };
    const refused = takeLock(
      session,
      async () => shared,
      1_000,
      () => undefined,
    );
    await expect(refused).rejects.toMatchObject({ refusal: { code: "lock_not_exclusive" } });
    expect(await runSql(url, HELD)).toEqual([]);
    await session.end();
  });

  test("a busy pooler is found although the second session is given another server session at first", async () => {
    const url = await database(server, "apply_pooler_busy", "select 1");
    const open = () => connect(parseTarget(url, "url"), { connectTimeoutMs: 5_000, role: "test" });
    const [first, other] = await Promise.all([open(), open()]);
    let asked = 0;
    const pooled = { ...first, announcedPid: () => 1 };
    const second = {
      ...other,
      query: (sql: string, values?: readonly unknown[]) => (++asked > 5 ? first : other).query(sql, values),
    };
    const refused = takeLock(
      pooled,
      async () => second,
      1_000,
      () => undefined,
    );
    await expect(refused).rejects.toMatchObject({ refusal: { code: "lock_not_exclusive" } });
    expect(await runSql(url, HELD)).toEqual([]);
    await first.end();
  });

  test.each(["commit", "rollback", "commit and chain", "prepare transaction 'p'"])(
    "a statement that ends the plan's transaction (%s) is never told as rolled back",
    async (sql) => {
      const name = `apply_ends_${sql.replaceAll(/\W/g, "")}`;
      const { url, file, plan } = await planned(name, "create table t(a int)", "create table t(a int, b text);");
      withStatements(plan, file, [{ sql: "create table one(a int)" }, { sql }, { sql: "create table two(a int)" }]);
      const { report } = await run(applyArgs(file), { PTAH_DB_URL: url });
      expect([report["outcome"], report["statement"]]).toEqual([sql.startsWith("prepare") ? "failed" : "unknown", 2]);
      expect(await tables(url)).not.toContain("two");
    },
  );

  test("a failing statement rolls everything before it back and says that nothing is kept", async () => {
    const { url, file, plan } = await planned("apply_fails", "create table t(a int)", "create table t(a int, b text);");
    withStatements(plan, file, [
      { sql: "create table one(a int)" },
      { sql: "create table two(a int)" },
      { sql: "select 'secret-row'::int" },
    ]);
    const { report, output } = await run(applyArgs(file), { PTAH_DB_URL: url });
    expect([report["outcome"], report["statement"], report["sqlstate"]]).toEqual(["failed", 3, "22P02"]);
    expect(String(report["error"])).toContain("nothing is kept");
    expect(String(report["error"])).not.toContain("secret-row");
    expect(output.split("\n")).toHaveLength(2);
    expect(await tables(url)).toEqual(["t"]);
  });

  test("a failure after a commit boundary is unknown, because something is kept", async () => {
    const { url, file, plan } = await planned(
      "apply_boundary",
      "create table t(a int)",
      "create table t(a int, b text);",
    );
    withStatements(plan, file, [
      { sql: "create table one(a int)", commitAfter: true },
      { sql: "create table two(a int)" },
      { sql: "select 1/0" },
    ]);
    const { report } = await run(applyArgs(file), { PTAH_DB_URL: url });
    expect([report["outcome"], report["statement"]]).toEqual(["unknown", 3]);
    expect(await tables(url)).toEqual(["one", "t"]);
  });

  test("transaction mode none runs each statement alone", async () => {
    const { url, file, plan } = await planned("apply_none", "create table t(a int)", "create table t(a int, b text);");
    withStatements(plan, file, [{ sql: "create table one(a int)" }, { sql: "select 1/0" }]);
    const { report } = await run([...applyArgs(file), "--tx-mode", "none"], { PTAH_DB_URL: url });
    expect(report["outcome"]).toBe("unknown");
    expect(await tables(url)).toEqual(["one", "t"]);
  });

  test("a session that is ended while it works leaves the outcome unknown", async () => {
    const { url, file, plan } = await planned(
      "apply_killed",
      "create table t(a int)",
      "create table t(a int, b text);",
    );
    withStatements(plan, file, [{ sql: "select pg_sleep(60)" }]);
    const { ended } = start(applyArgs(file), { PTAH_DB_URL: url });
    await until("the statement to run", () => isRunning(url, "select pg_sleep"));
    await runSql(
      url,
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'select pg_sleep%' AND pid <> pg_backend_pid()",
    );
    expect((await ended).report["outcome"]).toBe("unknown");
  });

  test("SIGTERM while it waits for the lock cancels before anything was sent", async () => {
    const { url, file } = await planned("apply_term", "create table t(a int)", "create table t(a int, b text);");
    const holder = await connect(parseTarget(url, "url"), { connectTimeoutMs: 5_000, role: "test" });
    await holder.query(`SELECT pg_advisory_lock(${LOCK})`);
    const { child, ended } = start(applyArgs(file), { PTAH_DB_URL: url });
    await until(
      "the lock to be tried",
      async () =>
        (
          await runSql(
            url,
            "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_try_advisory_lock%' AND datname = current_database() AND pid <> pg_backend_pid()",
          )
        ).length > 0,
    );
    child.kill("SIGTERM");
    const { report, exit } = await ended;
    await holder.end();
    expect([report["outcome"], exit]).toEqual(["canceled", 143]);
  });

  test("SIGTERM while a statement runs cancels it on the server, and nothing is kept", async () => {
    const { url, file, plan } = await planned(
      "apply_term_run",
      "create table t(a int)",
      "create table t(a int, b text);",
    );
    withStatements(plan, file, [{ sql: "create table one(a int)" }, { sql: "select pg_sleep(60)" }]);
    const { child, ended } = start(applyArgs(file), { PTAH_DB_URL: url });
    await until("the statement to run", () => isRunning(url, "select pg_sleep"));
    child.kill("SIGTERM");
    const { report, exit } = await ended;
    expect([report["outcome"], report["sqlstate"], exit]).toEqual(["failed", "57014", 143]);
    expect(await tables(url)).toEqual(["t"]);
  });

  test("a plan that is a pipe is refused and not waited for", async () => {
    const pipe = join(work, "plan.pipe");
    execFileSync("mkfifo", [pipe]);
    const { report } = await run(applyArgs(pipe), { PTAH_DB_URL: server.url("postgres") });
    expect([report["outcome"], report.refusal?.code]).toEqual(["refused", "invalid_plan"]);
  });

  test("a plan file that was changed by one byte is refused", async () => {
    const { url, file } = await planned("apply_byte", "create table t(a int)", "create table t(a int, b text);");
    writeFileSync(file, readFileSync(file, "utf8").replace('"format_version": 1', '"format_version":  1'));
    expect((await run(applyArgs(file), { PTAH_DB_URL: url })).report.refusal?.code).toBe("invalid_plan");
  });
});

describe("planning", () => {
  const plan = async (
    name: string,
    before: string,
    after: string,
    flags: readonly string[] = [],
    env: Record<string, string> = {},
  ): Promise<Ended> => {
    const url = await database(server, name, before);
    const base = { PTAH_DB_URL: url, PTAH_DEV_URL: server.url("postgres"), PTAH_SCHEMA_FILE: desired(name, after) };
    return run(["plan", "--output", join(work, `${name}.plan.json`), "--json", ...flags], { ...base, ...env });
  };

  test("an excluded table stays, and so does what belongs to it", async () => {
    const before =
      "create table keep(id serial primary key, v text); create index on keep(v); comment on table keep is 'x'; create table gone(a int)";
    const { report } = await plan("plan_exclude", before, "create table t(a int);", ["--exclude", "public.keep"]);
    expect(report.plan?.statements.map((s) => s.sql).filter((sql) => sql.includes("keep"))).toEqual([]);
    expect(report.plan?.statements.some((s) => s.sql.includes("gone"))).toBe(true);
    expect(report.plan?.exclude).toEqual(["public.keep"]);
  });

  test("a plan that would change a protected table is refused with its name", async () => {
    const { report } = await plan("plan_fence", "create table users(a int)", "create table users(a int, b int);", [
      "--protected-table",
      "USERS",
    ]);
    expect(report.refusal).toMatchObject({ code: "protected-table", tables: ["public.users"] });
  });

  test("a syntax error is named by file and line", async () => {
    const { report } = await plan(
      "plan_syntax",
      "select 1",
      "create table a(x int);\n\n-- a comment\ncreate tabel b(x int);\n",
    );
    expect(report.refusal?.code).toBe("invalid_schema");
    expect(String(report["error"])).toContain("schema.sql:4");
    expect(String(report["error"])).toContain('syntax error at or just before "tabel"');
  });

  test("a statement the server refuses is named by file and line", async () => {
    const { report } = await plan(
      "plan_unknown",
      "select 1",
      "create table a(x int);\ncreate view v as select y from a;\n",
    );
    expect(report.refusal?.code).toBe("invalid_schema");
    expect(String(report["error"])).toContain("schema.sql:2");
  });

  test("an extension the scratch server lacks is refused by its name", async () => {
    const { report } = await plan("plan_extension", "select 1", "create extension no_such_thing;");
    expect(report.refusal).toMatchObject({ code: "extension_unavailable", objects: ["no_such_thing"] });
  });

  test("a role the target lacks is refused by its name", async () => {
    const { report } = await plan("plan_role", "select 1", "create table t(a int); grant select on t to nobody_here;");
    expect(report.refusal).toMatchObject({ code: "role_missing", objects: ["nobody_here"] });
  });

  test("another major than the one prepared for ends the run by name", async () => {
    const { report } = await plan("plan_major", "select 1", "create table t(a int);", [], {
      PTAH_EXPECT_SERVER_MAJOR: "9",
    });
    expect(report.refusal?.code).toBe("server_version_changed");
  });

  test("without a scratch server drift tells the version and plan refuses", async () => {
    const url = await database(server, "plan_bare", "select 1");
    const env = { PTAH_DB_URL: url, PTAH_SCHEMA_FILE: desired("plan_bare", "create table t(a int);") };
    const drift = await run(["drift", "--format", "json"], env);
    expect([drift.report["outcome"], drift.exit]).toEqual(["version-only", 0]);
    expect(Number(drift.report["server_version_num"])).toBeGreaterThan(140_000);
    expect((await run(["plan", "--output", join(work, "bare.json"), "--json"], env)).report.refusal?.code).toBe(
      "scratch_missing",
    );
  });

  test("planning leaves nothing behind, neither on the target nor on the scratch server", async () => {
    await plan("plan_clean", "create table t(a int)", "create table t(a int, b int);");
    const left = await runSql(
      server.url("postgres"),
      "SELECT datname FROM pg_database WHERE datname LIKE 'ptah_scratch%'",
    );
    expect(left).toEqual([]);
    expect(await tables(server.url("plan_clean"))).toEqual(["t"]);
  });

  test("a password never reaches a report", async () => {
    const env = {
      PTAH_DB_URL: "postgres://u:hunter2secret@127.0.0.1:1/x",
      PTAH_DEV_URL: server.url("postgres"),
      PTAH_SCHEMA_FILE: desired("pw", "create table t(a int);"),
    };
    const { output, report } = await run(["plan", "--output", join(work, "pw.json"), "--json"], env);
    expect(report["outcome"]).toBe("failed");
    expect(output).not.toContain("hunter2secret");
  });
});
