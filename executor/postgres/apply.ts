import { createHash } from "node:crypto";
import { decodePlan, loadParser, type PlanDocument } from "../../sql/index.ts";
import type { Stop } from "../cancel.ts";
import { Canceled, Refused } from "../contract.ts";
import { MAX_PLAN_BYTES } from "../limits.ts";
import { readRegularFile, type Unreadable, UnreadableFile } from "../regular-file.ts";
import { openTarget } from "./compare.ts";
import { parseExclusion } from "./exclude.ts";
import { type Execution, execute, type TransactionMode } from "./execute.ts";
import { takeLock } from "./lock.ts";
import { displayName } from "./quote.ts";
import { watchRows } from "./row-guard.ts";
import type { ServerFacts } from "./server.ts";
import { connect, type Session } from "./session.ts";
import type { Target } from "./url.ts";
import { fingerprint, readView } from "./view.ts";

export interface ApplyInput {
  readonly target: Target;
  readonly planFile: string;
  readonly dryRun: boolean;
  readonly mode: TransactionMode;
  readonly connectTimeoutMs: number;
  readonly lockTimeoutMs: number;
  readonly expectedMajor: number | undefined;
  readonly stop: Stop;
}

export interface ApplyResult {
  readonly outcome: "applied" | "dry-run" | "failed" | "unknown";
  readonly error?: string;
  readonly statement?: number;
  readonly sqlstate?: string;
}

export interface LoadedPlan {
  readonly plan: PlanDocument;
  readonly digest: string;
}

const UNREADABLE: Readonly<Record<Unreadable, string>> = {
  unreadable: "the plan file cannot be read",
  irregular: "the plan is no regular file",
  too_large: `the plan is larger than ${MAX_PLAN_BYTES} bytes`,
};

function planBytes(path: string): Uint8Array {
  try {
    return readRegularFile(path, MAX_PLAN_BYTES);
  } catch (error) {
    throw error instanceof UnreadableFile ? new Refused("invalid_plan", UNREADABLE[error.why]) : error;
  }
}

/** Reads a plan file strictly. @throws Refused `invalid_plan` */
export function loadPlan(path: string): LoadedPlan {
  const bytes = planBytes(path);
  const decoded = decodePlan(bytes);
  if ("error" in decoded) throw new Refused("invalid_plan", decoded.error.message);
  if (decoded.plan.dialect !== "postgres")
    throw new Refused("invalid_plan", `the plan is for ${decoded.plan.dialect}, the target is PostgreSQL`);
  return { plan: decoded.plan, digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}` };
}

/**
 * Executes a plan's statements in order on one session that holds the proven lock, if the database still is what the plan was
 * made from.
 * @throws Refused (nothing was sent), Failure (could not connect), Canceled (stopped before anything was sent)
 */
export async function applyPlan(plan: PlanDocument, input: ApplyInput): Promise<ApplyResult> {
  const { stop } = input;
  stop.check();
  const { session, server } = await openTarget(input.target, input);
  try {
    const openSecond = (): Promise<Session> =>
      connect(input.target, {
        connectTimeoutMs: input.connectTimeoutMs,
        signal: stop.signal,
        role: "the target database",
      });
    const lock = await takeLock(session, openSecond, input.lockTimeoutMs, stop.check);
    try {
      await requireFresh(session, plan, server);
      stop.check();
      if (input.dryRun) return { outcome: "dry-run" };
      return await run(session, plan, input, lock.backendPid);
    } finally {
      await lock.release();
    }
  } catch (error) {
    // A stop cancels the statement that was being read; nothing of the plan was sent by then.
    if (stop.signal.aborted && !(error instanceof Refused)) throw new Canceled();
    throw error;
  } finally {
    await session.end();
  }
}

async function requireFresh(session: Session, plan: PlanDocument, server: ServerFacts): Promise<void> {
  const exclusion = parseExclusion(plan.exclude ?? []);
  const now = fingerprint(await readView(session, exclusion), server, exclusion);
  if (now === plan.from_fingerprint) return;
  throw new Refused("stale-plan", "the database's schema is not the one the plan was made from; plan again", {
    changed: "schema",
    plan_fingerprint: plan.from_fingerprint,
    database_fingerprint: now,
  });
}

const INVALID_INDEXES = `SELECT n.nspname AS schema, c.relname AS name FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE NOT (i.indisvalid AND i.indisready) ORDER BY 1, 2`;

async function invalidIndexes(session: Session): Promise<readonly string[]> {
  const rows = await session.query(INVALID_INDEXES);
  return rows.map((r) => displayName(String(r["schema"]), String(r["name"])));
}

async function run(session: Session, plan: PlanDocument, input: ApplyInput, backendPid: number): Promise<ApplyResult> {
  const before = new Set(await invalidIndexes(session));
  let sent = false;
  // The grammar is loaded only where it is needed: 27 MB.
  const parser = plan.destructive ? undefined : await loadParser();
  const result = await execute(session, plan.statements, {
    mode: input.mode,
    lockTimeoutMs: input.lockTimeoutMs,
    backendPid,
    ...(parser === undefined
      ? {}
      : {
          watchRows: (watched: Session, statements: readonly string[]) =>
            watchRows(watched, { parser, statements, lockTimeoutMs: input.lockTimeoutMs }),
        }),
    beforeTransaction: () => {
      if (!sent) input.stop.check();
      sent = true;
    },
  });
  if (!result.done) return failure(result, plan);
  try {
    const invalid = (await invalidIndexes(session)).filter((name) => !before.has(name));
    if (invalid.length === 0) return { outcome: "applied" };
    return {
      outcome: "unknown",
      error: `all statements ran, but left invalid indexes: ${invalid.join(", ")}; drop them and plan again`,
    };
  } catch {
    // Everything was committed; only this last look failed, and the proof reads the database anyway.
    return { outcome: "applied" };
  }
}

/** SQLSTATE classes 22 and 23: the values that are there do not fit what is declared. */
const refusedByRows = (sqlstate: string | undefined): boolean => /^2[23]/.test(sqlstate ?? "");

function failure(result: Extract<Execution, { done: false }>, plan: PlanDocument): ApplyResult {
  if (!result.sent) throw new Refused("session_changed", `nothing was sent: ${result.reason}`);
  const place = `statement ${result.position} of ${plan.statements.length}`;
  const kept = result.nothingKept
    ? `everything was rolled back, nothing is kept${refusedByRows(result.sqlstate) ? "; correct the rows or what is declared, then plan again" : ""}`
    : "what the database kept is not certain; read it before anything else";
  return {
    outcome: result.nothingKept ? "failed" : "unknown",
    error: `${place} failed: ${result.reason}; ${kept}`,
    statement: result.position,
    ...(result.sqlstate === undefined ? {} : { sqlstate: result.sqlstate }),
  };
}
