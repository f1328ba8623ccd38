import { Refused } from "../contract.ts";
import type { Declaration, DesiredSchema } from "./admit.ts";
import { linesBeforeMistake } from "./place.ts";
import type { Scratch } from "./scratch.ts";
import { describeServerError, type Session, sqlstateOf } from "./session.ts";

/** Of several statements that fail, these states only say that something else has to come first. */
const WAITING_STATES: ReadonlySet<string> = new Set(["42P01", "42883", "42704", "3F000", "42703", "42P17"]);

interface Failed {
  readonly declaration: Declaration;
  readonly error: unknown;
}

/**
 * Loads the desired schema into an empty scratch database: in rounds, one statement at a time, so that neither the order of the
 * files nor of the statements matters. Routine bodies are checked once everything is there.
 * @throws Refused `extension_unavailable`, or `invalid_schema` with the file and line of the statement the server refuses
 */
export async function loadDesired(session: Session, schema: DesiredSchema, scratch: Scratch): Promise<void> {
  await requireExtensions(schema, scratch);
  await session.query("SET search_path TO public");
  const inPhase = (phase: number): Declaration[] => schema.declarations.filter((d) => d.phase === phase);
  const early = await rounds(session, inPhase(0));
  const late = await rounds(session, [...early.map((f) => f.declaration), ...inPhase(1)]);
  if (late.length > 0)
    await loadUnchecked(
      session,
      late.map((f) => f.declaration),
    );
  const [failed] = await rounds(session, inPhase(2));
  if (failed !== undefined) throw invalid(failed);
  await session.query("RESET search_path");
}

async function requireExtensions(schema: DesiredSchema, scratch: Scratch): Promise<void> {
  if (schema.extensions.length === 0) return;
  const available = await scratch.availableExtensions();
  const missing = schema.extensions.filter((name) => !available.has(name));
  if (missing.length > 0) {
    throw new Refused(
      "extension_unavailable",
      `the scratch server cannot install the extension ${missing.join(", ")}; use a scratch image that has it, or set spec.dev`,
      { objects: missing },
    );
  }
}

/** Tries what is left again as long as a round loads something. @returns what no round could load, with its last error. */
async function rounds(session: Session, declarations: readonly Declaration[]): Promise<readonly Failed[]> {
  let pending = declarations.map((declaration): Failed => ({ declaration, error: undefined }));
  while (pending.length > 0) {
    const failed: Failed[] = [];
    for (const { declaration } of pending) {
      const error = await attempt(session, declaration);
      if (error !== undefined) failed.push({ declaration, error });
    }
    if (failed.length === pending.length) return failed;
    pending = failed;
  }
  return [];
}

async function attempt(session: Session, declaration: Declaration): Promise<unknown> {
  if (declaration.extension !== undefined) return attemptAsAdministrator(session, declaration.sql);
  try {
    await session.query(declaration.sql);
    return undefined;
  } catch (error) {
    if (session.lost() || sqlstateOf(error) === "57014") throw error;
    return error;
  }
}

/** On the target an extension may be the work of its administrator, so its creation is not held to the target's role. */
async function attemptAsAdministrator(session: Session, sql: string): Promise<unknown> {
  const [row] = await session.query("SELECT current_user AS name");
  const role = String(row?.["name"]);
  await session.query("RESET ROLE");
  try {
    await session.query(sql);
    return undefined;
  } catch (error) {
    if (session.lost() || sqlstateOf(error) === "57014") throw error;
    return error;
  } finally {
    await session.query(`SELECT pg_catalog.set_config('role', $1, false)`, [role]);
  }
}

/** Routines that need each other load only with unchecked bodies; what was loaded that way is checked afterwards. */
async function loadUnchecked(session: Session, declarations: readonly Declaration[]): Promise<void> {
  const [before] = await session.query("SELECT coalesce(max(oid::bigint), 0) AS oid FROM pg_catalog.pg_proc");
  await session.query("SET check_function_bodies = off");
  const failed = await rounds(session, declarations);
  await session.query("SET check_function_bodies = on");
  if (failed.length > 0) throw invalid(worst(failed));
  const made = await session.query(
    "SELECT p.oid::regprocedure::text AS name, pg_catalog.pg_get_functiondef(p.oid) AS definition FROM pg_catalog.pg_proc p WHERE p.oid::bigint > $1 AND p.prokind IN ('f', 'p') ORDER BY p.oid",
    [before?.["oid"]],
  );
  for (const row of made) {
    try {
      await session.query(String(row["definition"]));
    } catch (error) {
      const name = String(row["name"]);
      throw new Refused(
        "invalid_schema",
        `the body of the routine ${name} is not valid: ${describeServerError(error)}`,
        { objects: [name] },
      );
    }
  }
}

/** The error worth telling: the first that is not merely a consequence of another statement's failure. */
function worst(failed: readonly Failed[]): Failed {
  const own = failed.find((f) => !WAITING_STATES.has(sqlstateOf(f.error) ?? ""));
  return own ?? (failed[0] as Failed);
}

function invalid({ declaration, error }: Failed): Refused {
  const where = `${declaration.file}:${declaration.line + linesBeforeMistake(declaration.sql, error)}`;
  const state = sqlstateOf(error);
  return new Refused(
    "invalid_schema",
    `${where}: the server refuses the statement: ${describeServerError(error)}; correct the file`,
    {
      objects: [where],
      ...(state === undefined ? {} : { sqlstate: state }),
    },
  );
}
