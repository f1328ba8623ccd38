import { spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { loadParser, split } from "../../sql/index.ts";
import { differenceOf, dumpOf, structureOf } from "./dump.ts";
import type { Pair } from "./pair.ts";
import type { LocalServer } from "./server.ts";

export type Verdict =
  | { readonly kind: "converged"; readonly statements: number }
  | { readonly kind: "refused"; readonly code: string; readonly sentence: string; readonly objects: readonly string[] }
  | { readonly kind: "wrong"; readonly why: string };

export interface Bench {
  readonly executable: string;
  readonly target: LocalServer;
  readonly scratch: LocalServer;
  /** A private directory for the run's files. */
  readonly work: string;
}

interface Report {
  readonly outcome: string;
  readonly error?: string;
  readonly refusal?: { readonly code: string; readonly objects?: readonly string[] };
  readonly sqlstate?: string;
  readonly plan?: { readonly destructive: boolean; readonly statements: readonly { readonly sql: string }[] };
  readonly [key: string]: unknown;
}

const COMMAND_TIMEOUT_MS = 120_000;

/** Runs one verb of the compiled executable as the runner would: URLs in the environment, the report from stdout. */
export function executor(
  bench: Bench,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Report> {
  return new Promise((resolve, reject) => {
    const child = spawn(bench.executable, ["schema", ...args], {
      env: { PATH: process.env["PATH"] ?? "", HOME: bench.work, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: COMMAND_TIMEOUT_MS,
    });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
    child.once("error", reject);
    child.once("close", (code) => {
      try {
        resolve(JSON.parse(Buffer.concat(out).toString()) as Report);
      } catch {
        reject(new Error(`no report (exit ${code}): ${Buffer.concat(err).toString().slice(0, 400)}`));
      }
    });
  });
}

async function sql(url: string, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await client.query(text);
  } finally {
    await client.end();
  }
}

async function createDatabase(server: LocalServer, name: string): Promise<string> {
  await sql(server.url("postgres"), `CREATE DATABASE ${name} TEMPLATE template0`);
  return server.url(name);
}

/** Roles are shared by all cases of a run: made once, without a login. */
export async function createRoles(server: LocalServer, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await sql(server.url("postgres"), `CREATE ROLE "${name}" NOLOGIN`).catch((error: unknown) => {
      if ((error as { code?: string }).code !== "42710") throw error;
    });
  }
}

type Rows = ReadonlyMap<string, readonly Readonly<Record<string, unknown>>[]>;

async function rowsOf(url: string): Promise<Rows> {
  const tables = await sql(
    url,
    `SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_toast%'`,
  );
  const rows = new Map<string, Record<string, unknown>[]>();
  for (const { name } of tables.rows as { name: string }[]) {
    const result = await sql(url, `SELECT to_jsonb(t) AS row FROM ${name} t ORDER BY 1`);
    rows.set(
      name,
      (result.rows as { row: Record<string, unknown> }[]).map((r) => r.row),
    );
  }
  return rows;
}

/** Rows of tables that were there must be there still, equal in the columns both have. */
function lostRows(before: Rows, after: Rows): string | undefined {
  for (const [table, rows] of before) {
    const now = after.get(table) ?? [];
    if (now.length < rows.length) return `the table ${table} had ${rows.length} rows and has ${now.length}`;
    const common = Object.keys(rows[0] ?? {}).filter((column) => column in (now[0] ?? {}));
    const print = (list: Rows extends ReadonlyMap<string, infer L> ? L : never): string =>
      JSON.stringify(list.map((row) => common.map((c) => JSON.stringify(row[c]))).sort());
    if (rows.length === now.length && print(rows) !== print(now)) return `rows of the table ${table} changed`;
  }
  return undefined;
}

const CATALOGS = [
  "pg_class",
  "pg_attribute",
  "pg_type",
  "pg_proc",
  "pg_constraint",
  "pg_namespace",
  "pg_trigger",
  "pg_rewrite",
  "pg_enum",
];

/** A mark of the catalogs' row versions: any committed DDL changes it. */
async function catalogMark(url: string): Promise<string> {
  const parts = CATALOGS.map(
    (c) => `(SELECT coalesce(md5(string_agg(xmin::text || ctid::text, ',' ORDER BY ctid)), '') FROM ${c})`,
  );
  const result = await sql(url, `SELECT ${parts.join(" || ")} AS mark`);
  return String((result.rows[0] as { mark: string }).mark);
}

/** Runs one pair to its verdict. */
export async function runPair(bench: Bench, pair: Pair, at: number): Promise<Verdict> {
  const target = await createDatabase(bench.target, `case_${at}`);
  const home = join(bench.work, `case_${at}`);
  mkdirSync(home, { recursive: true });
  try {
    await sql(target, pair.before);
    if (pair.rows !== undefined) await sql(target, pair.rows);
    const steps = [{ after: pair.after, atMost: pair.atMost, byHand: undefined }, ...(pair.next ?? [])];
    let statements = 0;
    for (const [number, step] of steps.entries()) {
      if (step.byHand !== undefined) await sql(target, step.byHand);
      const verdict = await converge(bench, target, step, join(home, String(number)), `case_${at}_${number}`);
      if (verdict.kind !== "converged") return verdict;
      statements += verdict.statements;
    }
    return { kind: "converged", statements };
  } catch (error) {
    return {
      kind: "wrong",
      why: `the case could not be run: ${error instanceof Error ? error.message : String(error)}`,
    };
  } finally {
    await dropDatabase(bench.target, `case_${at}`);
    rmSync(home, { recursive: true, force: true });
  }
}

interface Desired {
  readonly after: string;
  readonly atMost?: number | undefined;
}

const wrong = (why: string): Verdict => ({ kind: "wrong", why });

async function converge(bench: Bench, target: string, desired: Desired, home: string, name: string): Promise<Verdict> {
  const env = environment(bench, target, home, desired.after);
  const before = await catalogMark(target);
  const rows = await rowsOf(target);
  const planFile = join(home, "plan.json");
  const planned = await executor(bench, ["plan", "--output", planFile, "--json"], env.written);
  if (planned.outcome === "refused") return refusal(target, planned, before);
  if (planned.outcome !== "changes" && planned.outcome !== "no-changes")
    return wrong(`plan: ${planned.outcome}: ${planned.error}`);
  const statements = planned.plan?.statements.length ?? 0;
  if (desired.atMost !== undefined && statements > desired.atMost) {
    return wrong(
      `the plan has ${statements} statements, at most ${desired.atMost} are needed: ${JSON.stringify(planned.plan?.statements.map((s) => s.sql))}`,
    );
  }
  if (planned.outcome === "changes") {
    const applied = await executor(bench, ["apply", "--plan", planFile, "--auto-approve", "--json"], env.written);
    if (applied.outcome !== "applied") return byData(target, applied, before);
  }
  const again = await executor(bench, ["plan", "--output", join(home, "again.json"), "--json"], env.reversed);
  if (again.outcome !== "no-changes")
    return wrong(
      `planning again (the statements in another order) gives ${again.outcome}: ${again.error ?? JSON.stringify(again.plan?.statements)}`,
    );
  const difference = await compareWithAfter(bench, target, desired.after, `${name}_expected`);
  if (difference !== undefined) return wrong(`pg_dump differs from a database made from "after":\n${difference}`);
  const lost = planned.plan?.destructive === true ? undefined : lostRows(rows, await rowsOf(target));
  return lost === undefined
    ? { kind: "converged", statements }
    : wrong(`${lost}, but the plan did not say destructive`);
}

interface Environments {
  readonly written: Readonly<Record<string, string>>;
  /** The same statements, one to a file, in the opposite order. */
  readonly reversed: Readonly<Record<string, string>>;
}

function environment(bench: Bench, target: string, home: string, after: string): Environments {
  const written = join(home, "desired");
  const reversed = join(home, "reversed");
  mkdirSync(written, { recursive: true });
  mkdirSync(reversed, { recursive: true });
  writeFileSync(join(written, "schema.sql"), after);
  for (const [at, statement] of [...splitter(after)].reverse().entries()) {
    writeFileSync(join(reversed, `${String(at).padStart(4, "0")}.sql`), `${statement};\n`);
  }
  const common = { PTAH_DB_URL: target, PTAH_DEV_URL: bench.scratch.socketUrl("postgres") };
  return {
    written: { ...common, PTAH_SCHEMA_FILE: written },
    reversed: { ...common, PTAH_SCHEMA_FILE: reversed },
  };
}

const parser = await loadParser();

function splitter(text: string): readonly string[] {
  const pieces = split(parser, text);
  return "error" in pieces ? [text] : pieces.statements.map((s) => s.text);
}

async function compareWithAfter(
  bench: Bench,
  target: string,
  after: string,
  name: string,
): Promise<string | undefined> {
  const pgDump = join(bench.target.binDir, "pg_dump");
  const expected = await createDatabase(bench.target, name);
  try {
    // A routine may call one that is declared after it.
    await sql(expected, `SET check_function_bodies = off; ${after}`);
    const difference = differenceOf(await structureOf(pgDump, target), await structureOf(pgDump, expected));
    if (difference === undefined) return undefined;
    return differenceOf(await restored(bench, target, `${name}_a`), await restored(bench, expected, `${name}_b`));
  } finally {
    await dropDatabase(bench.target, name);
  }
}

/**
 * The structure after one dump and restore: the server prints some expressions in a form it reads back as another, and two spellings of
 * the same thing are equal only then.
 */
async function restored(bench: Bench, url: string, name: string): Promise<readonly string[]> {
  const pgDump = join(bench.target.binDir, "pg_dump");
  const copy = await createDatabase(bench.target, name);
  try {
    await sql(copy, await dumpOf(pgDump, url));
    return await structureOf(pgDump, copy);
  } finally {
    await dropDatabase(bench.target, name);
  }
}

async function dropDatabase(server: LocalServer, name: string): Promise<void> {
  await sql(server.url("postgres"), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
}

async function refusal(target: string, report: Report, before: string): Promise<Verdict> {
  if ((await catalogMark(target)) !== before) return wrong("refused, yet the target's catalog changed");
  const code = report.refusal?.code;
  if (code === undefined || (report.error ?? "") === "") return wrong("refused without a name");
  return { kind: "refused", code, sentence: report.error ?? "", objects: report.refusal?.objects ?? [] };
}

/** Rows that break a new constraint are known only to the server: named by position and SQLSTATE at apply, rolled back whole. */
async function byData(target: string, report: Report, before: string): Promise<Verdict> {
  const dataClass = /^2[23]/.test(report.sqlstate ?? "");
  if (report.outcome !== "failed" || !dataClass) return wrong(`apply: ${report.outcome}: ${report.error}`);
  if ((await catalogMark(target)) !== before) return wrong("apply failed, yet the target's catalog changed");
  return { kind: "refused", code: `apply_failed ${report.sqlstate}`, sentence: report.error ?? "", objects: [] };
}
