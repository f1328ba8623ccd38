/**
 * What a file may leave in its MySQL or MariaDB session, taken back before the next one. The protocol's own reset would give up the
 * migration lock, so that it is done piece by piece.
 */
import { emptySessionState, type MysqlReading, noteSessionState } from "../../sql/mysql/index.ts";
import { Refused } from "../contract.ts";
import { type MysqlSession, mysqlAnswer } from "../mysql/session.ts";

export interface Between {
  /** Notes what a statement that is sent may leave behind. */
  note(statement: string): void;
  /** @throws Refused where a setting cannot be put back to what it was when the session opened */
  restore(): Promise<void>;
}

/** Their values change by themselves, and `insert_id` cannot be let go: 0 is a value to MySQL. The next insert uses it up. */
const CHANGING: ReadonlySet<string> = new Set([
  "timestamp",
  "insert_id",
  "last_insert_id",
  "identity",
  "rand_seed1",
  "rand_seed2",
  "error_count",
  "warning_count",
  "autocommit",
]);
/** Those of them that a file may have fixed. */
const LET_GO: readonly string[] = ["timestamp = DEFAULT", "last_insert_id = 0"];
/** What would keep the others from being read as they are; first, and in one statement. */
const READING: readonly string[] = ["sql_mode", "sql_select_limit", "character_set_results", "max_statement_time"];
/** Answers to setting what no session sets: a variable of the server alone, one that is only read. */
const NOT_OF_SESSION: readonly number[] = [1229, 1238];

type Variables = ReadonlyMap<string, string>;

/** @param database the one that the session was opened in */
export async function betweenFiles(session: MysqlSession, reading: MysqlReading, database: string): Promise<Between> {
  const left = emptySessionState();
  const opened = await variablesOf(session);
  const role = await roleOf(session);
  const first = READING.filter((name) => opened.has(name)).map((name) => assignment(name, opened.get(name)));
  const notOfSession = new Set<string>();
  const differing = (now: Variables): readonly string[] =>
    [...opened.keys()].filter((name) => now.get(name) !== opened.get(name) && !notOfSession.has(name));
  return {
    note: (statement) => noteSessionState(statement, reading, left),
    restore: async () => {
      await session.send("SET autocommit = 1");
      await session.send(`SET SESSION ${first.join(", ")}`);
      await session.send(`USE ${database}`);
      await allowed(session, dropOf("TABLE", left.temporaryTables));
      await allowed(session, dropOf("SEQUENCE", left.temporarySequences));
      for (const name of left.prepared) await allowed(session, `DEALLOCATE PREPARE ${name}`);
      left.prepared.clear();
      await allowed(session, [...left.userVariables].map((n) => `@${n} = NULL`).join(", "), "SET ");
      for (const letGo of LET_GO) await allowed(session, `SET SESSION ${letGo}`);
      if ((await roleOf(session)) !== role) await session.send(`SET ROLE ${role}`);
      const changed = differing(await variablesOf(session));
      if (changed.length === 0) return;
      for (const name of changed) {
        const errno = await allowed(session, `SET SESSION ${assignment(name, opened.get(name))}`);
        if (NOT_OF_SESSION.includes(errno)) notOfSession.add(name);
      }
      const kept = differing(await variablesOf(session));
      if (kept.length > 0) throw notRestored(kept);
    },
  };
}

const notRestored = (names: readonly string[]): Refused =>
  new Refused(
    "session_not_restored",
    `settings of the session could not be put back (${names.slice(0, MAX_NAMES).join(", ")}), and what comes next would run under them; keep files from changing them, or let the user set them`,
  );

const MAX_NAMES = 5;

/** @returns the number of the server's refusal, 0 where it refused nothing or there was nothing to send */
async function allowed(session: MysqlSession, sql: string, before = ""): Promise<number> {
  if (sql === "") return 0;
  try {
    await session.send(before + sql);
    return 0;
  } catch (error) {
    const answer = mysqlAnswer(error);
    if (answer === undefined || session.lost()) throw error;
    return answer.errno;
  }
}

const dropOf = (kind: string, names: ReadonlySet<string>): string =>
  names.size === 0 ? "" : `DROP TEMPORARY ${kind} IF EXISTS ${[...names].join(", ")}`;

async function variablesOf(session: MysqlSession): Promise<Variables> {
  const rows = await session.query("SHOW SESSION VARIABLES");
  return new Map(
    rows
      .map((row): [string, string] => [String(row["Variable_name"]), String(row["Value"] ?? "")])
      .filter(([name]) => !CHANGING.has(name)),
  );
}

/** As `SET ROLE` takes it; none where the server is too old to know roles. */
async function roleOf(session: MysqlSession): Promise<string> {
  const [row] = await session.query("SELECT CURRENT_ROLE() AS role").catch((error: unknown) => {
    if (mysqlAnswer(error) === undefined || session.lost()) throw error;
    return [];
  });
  const role = row?.["role"] == null ? "NONE" : String(row["role"]);
  // MySQL gives a list in backticks, MariaDB one bare name.
  return role === "NONE" || role.startsWith("`") ? role : `\`${role.replaceAll("`", "``")}\``;
}

/** Numbers as they are; texts as their bytes, which no sql_mode reads otherwise. */
function assignment(name: string, value = ""): string {
  if (/^-?\d+(\.\d+)?$/.test(value)) return `${name} = ${value}`;
  if (value === "" && name.startsWith("character_set_")) return `${name} = NULL`;
  return `${name} = CONVERT(X'${Buffer.from(value).toString("hex")}' USING utf8mb4)`;
}
