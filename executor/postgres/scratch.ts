import { randomBytes } from "node:crypto";
import { Refused } from "../contract.ts";
import { SCRATCH_READY_POLL_MS, SCRATCH_READY_TIMEOUT_MS } from "../limits.ts";
import { quoteIdent, quoteLiteral } from "./quote.ts";
import { readServer, type ServerFacts } from "./server.ts";
import { connect, delay, describeServerError, messageOf, type Session, sqlstateOf } from "./session.ts";
import type { Target } from "./url.ts";

/** A server of the target's major on which throwaway databases are made; it never holds anything of value. */
export interface Scratch {
  readonly server: ServerFacts;
  /** An empty database, opened as the server's administrator and acting as the target's role. */
  openDatabase(): Promise<Session>;
  /** Names of extensions the server can install. */
  availableExtensions(): Promise<ReadonlySet<string>>;
  /** Makes the roles that a schema names, without a login. */
  ensureRoles(names: readonly string[]): Promise<void>;
  /** Drops every database made here and closes all sessions; never throws. */
  dispose(): Promise<void>;
}

interface ScratchOptions {
  readonly connectTimeoutMs: number;
  readonly signal: AbortSignal;
  /** The target whose role, memberships and encoding are imitated. */
  readonly like: ServerFacts;
}

/**
 * Connects to the scratch server and makes the target's role there, so that what the schema's statements create is owned by the
 * same name on both sides and what that role may not do fails here first.
 * @throws Refused `scratch_version_mismatch` or `server_version_changed` when its major differs from the target's
 */
export async function openScratch(target: Target, options: ScratchOptions): Promise<Scratch> {
  const admin = await connectWhenReady(target, options);
  const databases: { name: string; session: Session }[] = [];
  const disposal = async (): Promise<void> => {
    for (const { name, session } of databases) {
      await session.end();
      await admin.query(`DROP DATABASE IF EXISTS ${quoteIdent(name)} WITH (FORCE)`).catch(() => undefined);
    }
    await admin.end();
  };
  try {
    const server = await readServer(admin);
    if (server.major !== options.like.major) throw otherMajor(target, server, options.like);
    await makeTargetRole(admin, server, options.like);
    return {
      server,
      openDatabase: async () => {
        const name = `ptah_scratch_${randomBytes(8).toString("hex")}`;
        const session = await createDatabase(admin, target, name, options);
        databases.push({ name, session });
        return session;
      },
      availableExtensions: async () => {
        const rows = await admin.query("SELECT name FROM pg_catalog.pg_available_extensions");
        return new Set(rows.map((r) => String(r["name"])));
      },
      ensureRoles: (names) => ensureRoles(admin, names, options.like),
      dispose: disposal,
    };
  } catch (error) {
    await disposal();
    throw error;
  }
}

/** A server behind a socket was started for this run. One behind a host name was configured by somebody. */
const startedForThisRun = (scratch: Target): boolean => scratch.host.startsWith("/");

/** Where the scratch server was started for this run, the target has changed since. */
function otherMajor(scratch: Target, server: ServerFacts, target: ServerFacts): Refused {
  const what = `the scratch server is PostgreSQL ${server.major} and the target is ${target.major}`;
  return startedForThisRun(scratch)
    ? new Refused("server_version_changed", `${what}; the run is prepared again for the target's version`)
    : new Refused("scratch_version_mismatch", `${what}; both must be of one major version`);
}

/** A sidecar's server may still be in initdb when the command starts: a refused connection is tried again within a bound. */
async function connectWhenReady(target: Target, options: ScratchOptions): Promise<Session> {
  const deadline = Date.now() + SCRATCH_READY_TIMEOUT_MS;
  for (;;) {
    try {
      return await connect(target, {
        connectTimeoutMs: options.connectTimeoutMs,
        signal: options.signal,
        role: "the scratch server",
      });
    } catch (error) {
      const starting = /ENOENT|ECONNREFUSED|starting up|57P03/.test(messageOf(error));
      if (!starting || Date.now() > deadline || options.signal.aborted) throw error;
      await delay(SCRATCH_READY_POLL_MS);
    }
  }
}

async function createDatabase(admin: Session, target: Target, name: string, options: ScratchOptions): Promise<Session> {
  const { encoding, collate, ctype, user } = options.like;
  const base = `CREATE DATABASE ${quoteIdent(name)} TEMPLATE template0 OWNER ${quoteIdent(user)} ENCODING ${quoteLiteral(encoding)}${strategyOf(target, options.like)}`;
  try {
    await admin.query(`${base} LC_COLLATE ${quoteLiteral(collate)} LC_CTYPE ${quoteLiteral(ctype)}`);
  } catch (error) {
    if (sqlstateOf(error) !== "42809" && sqlstateOf(error) !== "22023") throw privileges(error);
    // The image lacks the target's locale. Only sort order and case depend on it, and no catalog entry does.
    await admin.query(`${base} LC_COLLATE 'C' LC_CTYPE 'C'`);
  }
  const session = await connect(
    { ...target, database: name, options: undefined },
    { connectTimeoutMs: options.connectTimeoutMs, signal: options.signal, role: "the scratch server" },
  );
  await session.query(`SET ROLE ${quoteIdent(user)}`);
  return session;
}

/**
 * Copying files takes half the processor time of copying through the log (14 to 26 ms against 34 and more), but its checkpoint is
 * only free on a server that was started for this run.
 */
function strategyOf(scratch: Target, { major }: ServerFacts): string {
  return startedForThisRun(scratch) && major >= 15 ? " STRATEGY file_copy" : "";
}

async function makeTargetRole(admin: Session, scratch: ServerFacts, like: ServerFacts): Promise<void> {
  if (!scratch.roles.some((r) => r.name === like.user)) {
    await createRole(admin, `${quoteIdent(like.user)} NOLOGIN ${like.superuser ? "SUPERUSER" : "NOSUPERUSER"}`);
  }
}

async function ensureRoles(admin: Session, names: readonly string[], like: ServerFacts): Promise<void> {
  const rows = await admin.query("SELECT rolname FROM pg_catalog.pg_roles WHERE rolname = ANY($1)", [names]);
  const present = new Set(rows.map((r) => String(r["rolname"])));
  for (const name of names) {
    if (!present.has(name)) await createRole(admin, `${quoteIdent(name)} NOLOGIN`);
    const member = like.roles.some((r) => r.name === name && r.member);
    if (member && name !== like.user) {
      await admin.query(`GRANT ${quoteIdent(name)} TO ${quoteIdent(like.user)}`).catch(() => undefined);
    }
  }
}

async function createRole(admin: Session, definition: string): Promise<void> {
  try {
    await admin.query(`CREATE ROLE ${definition}`);
  } catch (error) {
    // Another run on the same server made it in between.
    if (sqlstateOf(error) !== "42710" && sqlstateOf(error) !== "23505") throw privileges(error);
  }
}

function privileges(error: unknown): Error {
  return new Refused(
    "scratch_privileges",
    `the scratch server's role may not create databases and roles: ${describeServerError(error)}; use a superuser of a server that holds nothing of value`,
  );
}
