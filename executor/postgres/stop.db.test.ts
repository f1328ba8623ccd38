import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { PTAH } from "../cases/executable.ts";
import { database, runSql, type TestServer, testServer, until } from "../cases/test-server.ts";

const [command, ...first] = PTAH;

let server: TestServer;
let work: string;
let url: string;

beforeAll(async () => {
  server = await testServer();
  work = mkdtempSync(join(tmpdir(), "ptah-stop-"));
  url = await database(server, "stopped", "CREATE TABLE t (a int)");
  schemaOf("quick", "CREATE TABLE t (a int, b int);");
  schemaOf(
    "slow",
    `CREATE FUNCTION slow() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN 1; END $$;
    CREATE TABLE p (a int) PARTITION BY RANGE (a); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (slow()) TO (10);`,
  );
});

afterAll(async () => {
  await server.stop();
  rmSync(work, { recursive: true, force: true });
});

function schemaOf(name: string, sql: string): void {
  mkdirSync(join(work, name));
  writeFileSync(join(work, name, "schema.sql"), sql);
}

interface Ended {
  readonly exit: number | null;
  readonly report: Record<string, unknown>;
}

/** Runs a command and asks it to stop once `isBusy`. */
async function stopped(args: readonly string[], schema: string, isBusy: () => Promise<boolean>): Promise<Ended> {
  const env = { PATH: process.env["PATH"], PTAH_DB_URL: url, PTAH_DEV_URL: server.url("postgres") };
  const child = spawn(command, [...first, "schema", ...args], {
    env: { ...env, PTAH_SCHEMA_FILE: join(work, schema) },
    stdio: ["ignore", "pipe", "ignore"],
  });
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  await until("the command to be busy", isBusy);
  child.kill("SIGTERM");
  const exit = await ended;
  return { exit, report: JSON.parse(said) };
}

/** While this runs, whoever reads the catalogs of the target waits. */
async function whileLocked<T>(run: () => Promise<T>): Promise<T> {
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  try {
    await holder.query("BEGIN; LOCK TABLE pg_catalog.pg_statistic_ext IN ACCESS EXCLUSIVE MODE");
    return await run();
  } finally {
    await holder.end();
  }
}

const isWaiting = async (): Promise<boolean> => {
  const sql = "SELECT FROM pg_stat_activity WHERE application_name = 'ptah' AND wait_event_type = 'Lock'";
  return (await runSql(server.url("postgres"), sql)).length > 0;
};
const isSleeping = async (): Promise<boolean> =>
  (await runSql(server.url("postgres"), "SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'")).length > 0;

describe("a command that is asked to stop says that it was, whatever it was at", () => {
  const canceled = { exit: 143, report: { outcome: "canceled", error: "the command was asked to stop" } };

  test("a plan that reads the target, or has the schema elaborated", async () => {
    const file = join(work, "stopped.plan.json");
    expect(await whileLocked(() => stopped(["plan", "--output", file], "quick", isWaiting))).toMatchObject(canceled);
    expect(await stopped(["plan", "--output", file], "slow", isSleeping)).toMatchObject(canceled);
  });

  test("a drift that reads the target, or has the schema elaborated", async () => {
    expect(await whileLocked(() => stopped(["drift"], "quick", isWaiting))).toMatchObject(canceled);
    expect(await stopped(["drift"], "slow", isSleeping)).toMatchObject(canceled);
  });

  test("an apply that has sent nothing yet", async () => {
    const file = join(work, "apply.plan.json");
    const env = { PATH: process.env["PATH"], PTAH_DB_URL: url, PTAH_DEV_URL: server.url("postgres") };
    const made = spawn(command, [...first, "schema", "plan", "--output", file], {
      env: { ...env, PTAH_SCHEMA_FILE: join(work, "quick") },
      stdio: "ignore",
    });
    expect(await new Promise((resolve) => made.once("close", resolve))).toBe(0);
    const args = ["apply", "--plan", file, "--auto-approve"];
    expect(await whileLocked(() => stopped(args, "quick", isWaiting))).toMatchObject(canceled);
    expect(await runSql(url, "SELECT FROM pg_attribute WHERE attrelid = 't'::regclass AND attname = 'b'")).toEqual([]);
  });
});
