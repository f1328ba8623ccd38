import { loadParser, type Parser } from "../../sql/index.ts";
import type { Stop } from "../cancel.ts";
import { Refused } from "../contract.ts";
import { admit } from "./admit.ts";
import type { Exclusion } from "./exclude.ts";
import { loadDesired } from "./load.ts";
import { openScratch, type Scratch } from "./scratch.ts";
import { readServer, type ServerFacts } from "./server.ts";
import { connect, type Session } from "./session.ts";
import { readSource } from "./source.ts";
import { markBefore, refuseSystemObjects } from "./system-objects.ts";
import type { Target } from "./url.ts";

export interface CompareInput {
  readonly target: Target;
  readonly dev: Target;
  readonly schemaFile: string;
  readonly exclusion: Exclusion;
  readonly connectTimeoutMs: number;
  readonly expectedMajor: number | undefined;
  readonly stop: Stop;
}

/** The two sides of a comparison, as one reader sees them. */
export interface Sides<T> {
  readonly target: T;
  readonly desired: T;
}

/** Both sides of a comparison, each elaborated by a server of the same major. */
export interface Comparison {
  readonly parser: Parser;
  readonly server: ServerFacts;
  readonly scratch: Scratch;
  /** Reads both sides now. What a reader costs is a server's processor time, so each command reads what it needs. */
  read<T>(reader: (session: Session, exclusion: Exclusion) => Promise<T>): Promise<Sides<T>>;
  /** Reads the target alone. */
  readTarget<T>(reader: (session: Session) => Promise<T>): Promise<T>;
}

/** Opens a session to the target and reads the server behind it. @throws Refused `server_version_changed` */
export async function openTarget(
  target: Target,
  options: { readonly connectTimeoutMs: number; readonly expectedMajor: number | undefined; readonly stop: Stop },
): Promise<{ session: Session; server: ServerFacts }> {
  const session = await connect(target, {
    connectTimeoutMs: options.connectTimeoutMs,
    signal: options.stop.signal,
    role: "the target database",
  });
  try {
    const server = await readServer(session);
    if (options.expectedMajor !== undefined && server.major !== options.expectedMajor) {
      const refused = new Refused(
        "server_version_changed",
        `the target is PostgreSQL ${server.major}, but this run was prepared for ${options.expectedMajor}; it is prepared again for the new version`,
      );
      refused.serverVersionNum = server.versionNum;
      throw refused;
    }
    return { session, server };
  } catch (error) {
    await session.end();
    throw error;
  }
}

/**
 * Elaborates the desired schema on the scratch server and hands it to `use` beside the target. Everything made on the
 * scratch server is dropped afterwards; on the target nothing is ever created.
 */
export async function withComparison<T>(input: CompareInput, use: (comparison: Comparison) => Promise<T>): Promise<T> {
  const parser = await loadParser();
  const schema = admit(parser, readSource(input.schemaFile));
  const { session, server } = await openTarget(input.target, input);
  try {
    requireRoles(schema.roles, server);
    const scratch = await openScratch(input.dev, {
      connectTimeoutMs: input.connectTimeoutMs,
      signal: input.stop.signal,
      like: server,
    });
    try {
      await scratch.ensureRoles(server.roles.map((r) => r.name));
      const database = await scratch.openDatabase();
      const mark = await markBefore(database);
      await loadDesired(database, schema, scratch);
      input.stop.check();
      await database.query("RESET ROLE");
      await refuseSystemObjects(database, mark);
      const read: Comparison["read"] = async (reader) => {
        const desired = await reader(database, input.exclusion);
        const target = await reader(session, input.exclusion);
        input.stop.check();
        return { target, desired };
      };
      return await use({ parser, server, scratch, read, readTarget: (reader) => reader(session) });
    } finally {
      await scratch.dispose();
    }
  } catch (error) {
    if (error instanceof Refused) error.serverVersionNum = server.versionNum;
    throw error;
  } finally {
    await session.end();
  }
}

/** A role belongs to the cluster and is not made here: one that is missing on the target is named before anything is planned. */
function requireRoles(named: readonly string[], server: ServerFacts): void {
  const present = new Set(server.roles.map((r) => r.name));
  const missing = named.filter((name) => !present.has(name));
  if (missing.length > 0) {
    throw new Refused(
      "role_missing",
      `the desired schema names the role ${missing.join(", ")}, which the target does not have; create it there first`,
      {
        objects: missing,
      },
    );
  }
}
