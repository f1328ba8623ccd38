/** The integrity file `ptah.sum` (reference, runner §6.2): computed, read and compared. Pure. */
import { createHash } from "node:crypto";
import { byPath } from "../../sql/migration-names.ts";
import type { MigrationRefusal } from "./migration.ts";

export const SUM_FILE = "ptah.sum";

/** A recognised file and `h1:` + base64 SHA-256 of its bytes. */
export interface SumEntry {
  readonly path: string;
  readonly hash: string;
}

export interface Sum {
  /** `h1:` + base64 SHA-256 over the entries. */
  readonly directoryHash: string;
  /** Ascending by the bytes of their path. */
  readonly entries: readonly SumEntry[];
}

/** `h1:` and the digest in base64. */
export function h1(digest: Buffer): string {
  return `h1:${digest.toString("base64")}`;
}

/** The sum of these files, in whatever order they are given. */
export function sumOf(files: readonly SumEntry[]): Sum {
  const entries = [...files].sort((a, b) => byPath(a.path, b.path));
  const hash = createHash("sha256");
  hash.update(entries.map(({ path, hash: fileHash }) => `${path} ${fileHash}\n`).join(""), "utf8");
  return { directoryHash: h1(hash.digest()), entries };
}

/** The integrity file's text: the directory's hash, then a line per file, each with a newline. */
export function sumText({ directoryHash, entries }: Sum): string {
  return `${directoryHash}\n${entries.map(({ path, hash }) => `${path} ${hash}\n`).join("")}`;
}

const HASH = /^h1:[A-Za-z0-9+/]{43}=$/;

/** Reads an integrity file. Lines may end with CR LF; the last space of a line parts path and hash. */
export function parseSum(text: string): { readonly sum: Sum } | { readonly refusal: MigrationRefusal } {
  const lines = text.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  if (lines.at(-1) === "") lines.pop();
  const directoryHash = lines[0] ?? "";
  if (!HASH.test(directoryHash)) return invalid(1, "does not begin with the directory's h1: hash");
  const entries = new Map<string, string>();
  for (const [index, line] of lines.slice(1).entries()) {
    const at = line.lastIndexOf(" ");
    const path = line.slice(0, Math.max(at, 0));
    const hash = line.slice(at + 1);
    if (path === "" || !HASH.test(hash)) return invalid(index + 2, "holds a line that is no path with an h1: hash");
    if (entries.has(path)) return invalid(index + 2, `lists ${path} twice`);
    entries.set(path, hash);
  }
  return { sum: { directoryHash, entries: [...entries].map(([path, hash]) => ({ path, hash })) } };
}

function invalid(line: number, what: string): { readonly refusal: MigrationRefusal } {
  return {
    refusal: {
      code: "migration_sum_invalid",
      message: `${SUM_FILE} ${what} (line ${line}); write it again with migrations hash`,
      path: SUM_FILE,
      line,
    },
  };
}

/** What differs between the files and the integrity file, by the name of the first such file; undefined when nothing does. */
export function sumDifference(actual: Sum, recorded: Sum): MigrationRefusal | undefined {
  const listed = new Map(recorded.entries.map(({ path, hash }) => [path, hash]));
  for (const { path, hash } of actual.entries) {
    const expected = listed.get(path);
    if (expected === undefined) return mismatch(path, `is not listed in ${SUM_FILE}`);
    if (expected !== hash) return mismatch(path, `differs from what ${SUM_FILE} records`);
    listed.delete(path);
  }
  const [missing] = listed.keys();
  if (missing !== undefined)
    return mismatch(missing, `is listed in ${SUM_FILE} and is no migration file of the directory`);
  if (actual.directoryHash === recorded.directoryHash) return undefined;
  return mismatch(SUM_FILE, "has a directory hash that does not fit its own lines");
}

function mismatch(path: string, what: string): MigrationRefusal {
  return {
    code: "migration_sum_mismatch",
    message: `${path} ${what}; put back what was reviewed, or write ${SUM_FILE} again with migrations hash`,
    path,
  };
}
