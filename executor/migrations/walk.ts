/** Finds and reads the files of a migration directory; follows no link. */
import { closeSync, constants, type Dirent, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import { foreignKind, type MigrationName, nativeName } from "../../sql/migration-names.ts";
import {
  MAX_MIGRATION_ENTRIES,
  MAX_MIGRATION_FILE_BYTES,
  MAX_MIGRATION_FILES,
  MAX_MIGRATION_PATH_BYTES,
  MAX_MIGRATION_PATH_DEPTH,
  MAX_SUM_BYTES,
} from "../limits.ts";
import type { MigrationRefusal } from "./migration.ts";
import { SUM_FILE } from "./sum.ts";

export interface FoundFile extends MigrationName {
  /** Path within the directory, `/` between its parts. */
  readonly path: string;
}

export interface Found {
  readonly files: readonly FoundFile[];
  readonly hasSum: boolean;
}

/** On its way to the caller of this room's readers, who makes a value of it. */
export class DirectoryRefused extends Error {
  readonly refusal: MigrationRefusal;
  constructor(refusal: MigrationRefusal) {
    super(refusal.message);
    this.name = "DirectoryRefused";
    this.refusal = refusal;
  }
}

/**
 * Walks the directory and its sub-directories. Files that are no SQL are passed over; an SQL file that no native name fits is
 * refused, because a migration that is silently left out is worse than one that is refused.
 * @throws DirectoryRefused
 */
export function findFiles(root: string): Found {
  const files: FoundFile[] = [];
  let hasSum = false;
  for (const { entry, path } of entriesBelow(root)) {
    if (entry.isDirectory()) {
      refuseInPlaceOfFile(entry.name, path);
      continue;
    }
    if (path === SUM_FILE) hasSum = true;
    else if (path === "atlas.sum") throw foreign(path, "the Atlas format");
    else if (/\.sql$/i.test(entry.name)) files.push(fileOf(entry.name, path));
    if (files.length > MAX_MIGRATION_FILES) throw tooLarge(`holds more than ${MAX_MIGRATION_FILES} files`);
  }
  return { files, hasSum };
}

function* entriesBelow(root: string): Generator<{ readonly entry: Dirent; readonly path: string }> {
  let seen = 0;
  const open: string[] = [""];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const entry of entriesOf(root, at)) {
      seen += 1;
      if (seen > MAX_MIGRATION_ENTRIES) throw tooLarge(`holds more than ${MAX_MIGRATION_ENTRIES} entries`);
      // Kubernetes keeps a mounted volume's own data behind names that begin with two dots.
      if (entry.name.startsWith("..")) continue;
      const path = at === "" ? entry.name : `${at}/${entry.name}`;
      refuseUnsafe(entry, path);
      if (entry.isDirectory()) open.push(path);
      yield { entry, path };
    }
  }
}

function entriesOf(root: string, at: string): Dirent[] {
  try {
    return readdirSync(join(root, at), { withFileTypes: true });
  } catch {
    throw new DirectoryRefused({
      code: "migration_directory_unreadable",
      message: `the migration directory${at === "" ? "" : `'s part ${at}`} is not there or cannot be read; check the path and its mode`,
    });
  }
}

function refuseUnsafe(entry: Dirent, path: string): void {
  if (entry.isSymbolicLink()) throw unsafe(path, "is a symbolic link; put the file itself there");
  if (!entry.isFile() && !entry.isDirectory()) throw unsafe(path, "is neither a file nor a directory; remove it");
  if (Buffer.byteLength(path) > MAX_MIGRATION_PATH_BYTES || path.split("/").length > MAX_MIGRATION_PATH_DEPTH) {
    throw unsafe(path, `is longer than ${MAX_MIGRATION_PATH_BYTES} bytes or deeper than ${MAX_MIGRATION_PATH_DEPTH}`);
  }
}

/** A directory where a file was meant would be as good as nothing there. */
function refuseInPlaceOfFile(name: string, path: string): void {
  if (path === SUM_FILE || nativeName(name) !== undefined)
    throw unsafe(path, "is a directory; put the file itself there");
}

function fileOf(name: string, path: string): FoundFile {
  const parsed = nativeName(name);
  if (parsed !== undefined) {
    if (parsed.version > 0) return { ...parsed, path };
    throw new DirectoryRefused({
      code: "migration_version_invalid",
      message: `${path} has version 0; versions begin at 1`,
      path,
    });
  }
  const kind = foreignKind(name);
  if (kind === "repeatable") throw foreign(path, "repeatable migrations");
  if (kind === "atlas") throw foreign(path, "the Atlas format");
  const shown = printable(path);
  const checkpoint = /checkpoint/i.test(name) ? " (.checkpoint.up.sql or .checkpoint.down.sql for a checkpoint)" : "";
  throw new DirectoryRefused({
    code: "migration_file_unknown",
    message: `${shown} is no migration: name it with ten digits, _, a description and .up.sql or .down.sql${checkpoint}`,
    path: shown,
  });
}

/**
 * Reads one found file whole.
 * @throws DirectoryRefused when it is gone, became a link, or is too large
 */
export function readFile(root: string, path: string): Buffer {
  const limit = path === SUM_FILE ? MAX_SUM_BYTES : MAX_MIGRATION_FILE_BYTES;
  let descriptor: number | undefined;
  try {
    descriptor = openSync(join(root, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { size } = fstatSync(descriptor);
    if (size > limit) throw tooLarge(`holds ${path}, which is larger than ${limit} bytes`, path);
    const bytes = Buffer.allocUnsafe(size);
    let filled = 0;
    while (filled < size) {
      const count = readSync(descriptor, bytes, filled, size - filled, filled);
      if (count === 0) break;
      filled += count;
    }
    return bytes.subarray(0, filled);
  } catch (thrown) {
    if (thrown instanceof DirectoryRefused) throw thrown;
    throw new DirectoryRefused({
      code: "migration_directory_unreadable",
      message: `${path} cannot be read; check its mode, and that nothing changes the directory meanwhile`,
      path,
    });
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Names come from outside: control characters are not repeated into a report. */
function printable(path: string): string {
  return path.replaceAll(/\p{Cc}/gu, "?");
}

function unsafe(path: string, what: string): DirectoryRefused {
  const shown = printable(path).slice(0, MAX_MIGRATION_PATH_BYTES);
  return new DirectoryRefused({ code: "migration_path_unsafe", message: `${shown} ${what}`, path: shown });
}

export function tooLarge(what: string, path?: string): DirectoryRefused {
  return new DirectoryRefused({
    code: "migration_directory_too_large",
    message: `the migration directory ${what}; split it`,
    ...(path === undefined ? {} : { path }),
  });
}

function foreign(path: string, what: string): DirectoryRefused {
  return new DirectoryRefused({
    code: "migration_format_unsupported",
    message: `${path} belongs to ${what}, which is not read here; write it as a native pair of .up.sql and .down.sql`,
    path,
  });
}
