import { execFile } from "node:child_process";

const MAX_DUMP_BYTES = 32 * 1024 * 1024;

/** `pg_dump -s` of a database, brought into a form in which only column order and layout do not count. */
export async function structureOf(pgDump: string, url: string): Promise<readonly string[]> {
  return normalise(await dump(pgDump, url));
}

/** The text of `pg_dump -s`, without the lines only psql understands. */
export async function dumpOf(pgDump: string, url: string): Promise<string> {
  const text = await dump(pgDump, url);
  return text.replaceAll(/^\\(un)?restrict .*$/gm, "");
}

function dump(pgDump: string, url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(pgDump, ["--schema-only", url], { maxBuffer: MAX_DUMP_BYTES }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`pg_dump: ${stderr.split("\n")[0]}`));
    });
  });
}

/** Statements of a dump, sorted; the lines within CREATE TABLE and CREATE TYPE … AS ( … ) sorted too. */
export function normalise(sql: string): readonly string[] {
  const lines = sql
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("--") && !/^\\(un)?restrict/.test(line));
  const statements = lines.join("\n").split(/;\n(?=[A-Z])/);
  return statements.map((s) => sortMembers(s.replace(/;$/, ""))).sort();
}

function sortMembers(statement: string): string {
  const match = /^(CREATE (?:UNLOGGED |FOREIGN )?(?:TABLE|TYPE) [\s\S]*?\(\n)([\s\S]*?)(\n\)[\s\S]*)?$/.exec(statement);
  if (match === null) return statement;
  const [, head = "", body = "", rest = ""] = match;
  const tail = rest.replace(
    /WITH \(([^)]*)\)/,
    (_, options: string) => `WITH (${options.split(", ").sort().join(", ")})`,
  );
  const members = body.split("\n").map((line) => line.trim().replace(/,$/, ""));
  return `${head}${members.sort().join("\n")}${tail}`;
}

/** What stands on one side only, for the sentence of a wrong case. */
export function differenceOf(actual: readonly string[], expected: readonly string[]): string | undefined {
  const extra = actual.filter((s) => !expected.includes(s));
  const missing = expected.filter((s) => !actual.includes(s));
  if (extra.length === 0 && missing.length === 0) return undefined;
  return [...extra.map((s) => `  has:   ${s}`), ...missing.map((s) => `  lacks: ${s}`)].join("\n");
}
