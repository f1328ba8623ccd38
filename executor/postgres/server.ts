import { Refused } from "../contract.ts";
import type { Session } from "./session.ts";

/** What the plan must know about a server and about the role it works as. */
export interface ServerFacts {
  readonly versionNum: number;
  readonly major: number;
  readonly version: string;
  readonly user: string;
  readonly superuser: boolean;
  readonly database: string;
  readonly encoding: string;
  readonly collate: string;
  readonly ctype: string;
  /** Every role of the server, and whether the connected one may act as it. */
  readonly roles: readonly { readonly name: string; readonly member: boolean }[];
}

const FACTS = `SELECT pg_catalog.current_setting('server_version_num')::int AS version_num, pg_catalog.current_setting('server_version') AS version,
  current_user AS user_name, pg_catalog.current_database() AS database,
  (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) AS superuser,
  pg_catalog.pg_encoding_to_char(d.encoding) AS encoding, d.datcollate AS collate, d.datctype AS ctype,
  pg_catalog.pg_is_in_recovery() AS standby
  FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()`;

const ROLES = `SELECT rolname AS name, pg_catalog.pg_has_role(current_user, oid, 'MEMBER') AS member
  FROM pg_catalog.pg_roles ORDER BY rolname`;

/** The oldest major whose catalogs the differ reads. */
const OLDEST_MAJOR = 14;

/** Reads the server's version, the connected role and the roles there are. @throws Refused for a standby or a too old server. */
export async function readServer(session: Session): Promise<ServerFacts> {
  const [row = {}] = await session.query(FACTS);
  const versionNum = Number(row["version_num"]);
  const major = Math.floor(versionNum / 10_000);
  if (major < OLDEST_MAJOR) {
    throw new Refused(
      "unsupported_server",
      `PostgreSQL ${String(row["version"])} is older than ${OLDEST_MAJOR}, the oldest supported`,
    );
  }
  if (row["standby"] === true) {
    throw new Refused("read_only_server", "the server is a standby in recovery; name its primary in the URL");
  }
  const roles = await session.query(ROLES);
  return {
    versionNum,
    major,
    version: String(row["version"]),
    user: String(row["user_name"]),
    superuser: row["superuser"] === true,
    database: String(row["database"]),
    encoding: String(row["encoding"]),
    collate: String(row["collate"]),
    ctype: String(row["ctype"]),
    roles: roles.map((r) => ({ name: String(r["name"]), member: r["member"] === true })),
  };
}
