/** From a command's flags to the one session on its database. */
import type { Stop } from "../cancel.ts";
import { Refused, UsageError } from "../contract.ts";
import { type Flags, parseBoundMs } from "../flags.ts";
import { DEFAULT_CONNECT_TIMEOUT_MS } from "../limits.ts";
import type { MigrationDatabase, OpenOptions, TableName } from "./database.ts";

/** Which database a report is about. Filled once the URL is read, so that a report of an early end says it too. */
export interface Where {
  /** Without user, password and parameters. */
  database_url?: string;
}

/** Opens the session that the URL's form asks for, and closes it. @throws Refused, Failure, or what `use` throws */
export async function withDatabase(
  flags: Flags,
  stop: Stop,
  where: Where,
  use: (database: MigrationDatabase) => Promise<number>,
): Promise<number> {
  const url = flags.text("db-url");
  if (url === undefined) throw new Refused("missing_target", "no database URL is given (PTAH_DB_URL)");
  const timeout = flags.text("connect-timeout");
  const options = {
    connectTimeoutMs: timeout === undefined ? DEFAULT_CONNECT_TIMEOUT_MS : parseBoundMs(timeout, "connect-timeout"),
    name: tableName(flags),
    stop,
  };
  stop.check();
  const opening = await openingOf(url, options);
  where.database_url = opening.display;
  const database = await opening.open();
  try {
    return await use(database);
  } finally {
    await database.end();
  }
}

const NAME = /^[A-Za-z_][A-Za-z0-9_$]{0,62}$/;

function tableName(flags: Flags): TableName {
  const table = flags.text("migrations-table") ?? "schema_migrations";
  const schema = flags.text("migrations-schema");
  if (!NAME.test(table)) throw new UsageError("--migrations-table must be a plain name");
  if (schema !== undefined && !NAME.test(schema)) throw new UsageError("--migrations-schema must be a plain name");
  return { schema, table };
}

interface Opening {
  readonly display: string;
  open(): Promise<MigrationDatabase>;
}

/** What the URL is called in the sentence of a refusal. */
const CALLED = "the database URL";

async function openingOf(url: string, options: OpenOptions): Promise<Opening> {
  const { isMysqlUrl, parseMysqlTarget } = await import("../mysql/url.ts");
  const { isPostgresUrl, parseTarget } = await import("../postgres/url.ts");
  if (isMysqlUrl(url)) {
    const target = parseMysqlTarget(url, CALLED);
    const { openMysql } = await import("./mysql.ts");
    return { display: target.display, open: () => openMysql(target, options) };
  }
  if (!isPostgresUrl(url)) {
    throw new Refused(
      "invalid_target",
      `${CALLED} has none of the forms that are taken: postgres:// or postgresql:// for PostgreSQL; mysql://, mariadb:// or user@tcp(host:port)/database for MySQL and MariaDB`,
    );
  }
  const target = parseTarget(url, CALLED);
  const { openPostgres } = await import("./postgres.ts");
  return { display: target.display, open: () => openPostgres(target, options) };
}
