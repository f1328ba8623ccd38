/** The general query log of MySQL and MariaDB (log_output=FILE), which has every command that the server was sent. Pure. */

export interface LoggedCommand {
  /** The session, counted anew by a server that was started anew. */
  readonly session: number;
  /** The session's default database when the command came, "" for none. */
  readonly database: string;
  /** `Query`, `Execute`, `Prepare`, `Connect`, `Quit` and so on, as the server calls them. */
  readonly command: string;
  /** What was sent, lines and all. */
  readonly text: string;
}

/**
 * A command begins with its time (MySQL: ISO 8601; MariaDB: `yymmdd hh:mm:ss`, left out while it is the same), the session's
 * number and its name; further lines of its text follow as they were sent.
 */
const BEGINNING =
  /^(?:\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)|\d{6} {1,2}\d{1,2}:\d\d:\d\d|\t)\t *(\d+) ([A-Z][A-Za-z]*(?: [A-Z][A-Za-z]*)*)\t?(.*)$/;
/** The first of three lines that a server writes when it starts; the last is the heading of the columns. */
const STARTED = /^\S+, Version: .* started with:$/;
const HEADING = /^Time\s+Id\s+Command\s+Argument\s*$/;
const DATABASE_OF_CONNECT = / on (\S*) using /;
/** A client may change its database by a statement, too; one that the server refused is taken for one that it obeyed. */
const USE = /^\s*use\s+`?([^`;\s]+)`?\s*;?\s*$/i;

/** Reads a whole log. A text that itself looks like the beginning of a command is taken for one: nothing marks its end. */
export function parseGeneralLog(log: string): LoggedCommand[] {
  const commands: LoggedCommand[] = [];
  const databases = new Map<number, string>();
  let current: { session: number; command: string; lines: string[] } | undefined;
  let heading = false;
  const finish = () => {
    if (current === undefined) return;
    const { session, command, lines } = current;
    const text = lines.join("\n");
    if (command === "Connect") databases.set(session, DATABASE_OF_CONNECT.exec(text)?.[1] ?? "");
    if (command === "Init DB") databases.set(session, text);
    commands.push({ session, command, text, database: databases.get(session) ?? "" });
    const used = command === "Query" ? USE.exec(text)?.[1] : undefined;
    if (used !== undefined) databases.set(session, used);
    current = undefined;
  };
  for (const line of log.split("\n")) {
    if (STARTED.test(line)) {
      finish();
      databases.clear();
      heading = true;
      continue;
    }
    if (heading) {
      heading = !HEADING.test(line);
      continue;
    }
    const found = BEGINNING.exec(line);
    if (found === null) {
      current?.lines.push(line);
      continue;
    }
    finish();
    current = { session: Number(found[1]), command: found[2] ?? "", lines: [found[3] ?? ""] };
  }
  if (current?.lines.at(-1) === "") current.lines.pop();
  finish();
  return commands;
}

/** The statements that were run, in the order they came: what was only prepared was not run. */
export function statementsOf(log: string): LoggedCommand[] {
  return parseGeneralLog(log).filter(({ command }) => command === "Query" || command === "Execute");
}
