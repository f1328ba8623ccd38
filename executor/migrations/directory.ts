/** A migration directory in the native format: read whole, checked, hashed (reference, runner §6.1 to §6.3). */
import { createHash } from "node:crypto";
import { describe } from "../../sql/migration-names.ts";
import { MAX_MIGRATION_DIRECTORY_BYTES } from "../limits.ts";
import { loneCarriageReturn, readDirectives } from "./directives.ts";
import type {
  DirectoryResult,
  Migration,
  MigrationDirectory,
  MigrationFile,
  MigrationRefusal,
  MigrationRefusalCode,
} from "./migration.ts";
import { h1, parseSum, SUM_FILE, type Sum, sumDifference, sumOf, sumText } from "./sum.ts";
import { DirectoryRefused, type Found, type FoundFile, findFiles, readFile, tooLarge } from "./walk.ts";

export interface ReadOptions {
  /** A directory without `ptah.sum` is refused. */
  readonly requireSum?: boolean;
}

/**
 * Reads a migration directory. Every file is read once, so that what is hashed, checked and later run are the same bytes. Where
 * `ptah.sum` exists it must agree.
 * @returns the migrations ascending by version, or the first thing that keeps the directory from being used, by the file's name
 */
export function readDirectory(root: string, { requireSum = false }: ReadOptions = {}): DirectoryResult {
  try {
    return { directory: read(root, requireSum) };
  } catch (thrown) {
    if (thrown instanceof DirectoryRefused) return { refusal: thrown.refusal };
    throw thrown;
  }
}

/** The text `ptah.sum` should have for this directory, whatever it has now. The names are checked, pairs are not. */
export function computeSumText(root: string): { readonly text: string } | { readonly refusal: MigrationRefusal } {
  try {
    const { sum } = load(root, findFiles(root));
    return { text: sumText(sum) };
  } catch (thrown) {
    if (thrown instanceof DirectoryRefused) return { refusal: thrown.refusal };
    throw thrown;
  }
}

interface LoadedFile extends FoundFile {
  readonly bytes: Buffer;
  readonly digest: Buffer;
}

function read(root: string, requireSum: boolean): MigrationDirectory {
  const found = findFiles(root);
  const { files, sum } = load(root, found);
  const state = found.hasSum ? verify(root, sum) : "absent";
  if (state === "absent" && requireSum) {
    throw refused(
      "migration_sum_missing",
      SUM_FILE,
      `${SUM_FILE} is missing; write it with migrations hash and review it`,
    );
  }
  return { migrations: pair(files), sum: state, directoryHash: sum.directoryHash };
}

function load(root: string, found: Found): { readonly files: readonly LoadedFile[]; readonly sum: Sum } {
  let totalBytes = 0;
  const files = found.files.map((file): LoadedFile => {
    const bytes = readFile(root, file.path);
    totalBytes += bytes.length;
    if (totalBytes > MAX_MIGRATION_DIRECTORY_BYTES) {
      throw tooLarge(`is larger than ${MAX_MIGRATION_DIRECTORY_BYTES} bytes`);
    }
    return { ...file, bytes, digest: createHash("sha256").update(bytes).digest() };
  });
  return { files, sum: sumOf(files.map(({ path, digest }) => ({ path, hash: h1(digest) }))) };
}

function verify(root: string, actual: Sum): "verified" {
  const parsed = parseSum(readFile(root, SUM_FILE).toString("utf8"));
  const refusal = "refusal" in parsed ? parsed.refusal : sumDifference(actual, parsed.sum);
  if (refusal !== undefined) throw new DirectoryRefused(refusal);
  return "verified";
}

interface Halves {
  up?: LoadedFile;
  down?: LoadedFile;
}

function pair(files: readonly LoadedFile[]): Migration[] {
  const versions = new Map<number, Halves>();
  for (const file of files) {
    const halves = versions.get(file.version) ?? {};
    const twin = halves[file.direction];
    if (twin !== undefined) {
      const message = `${file.path} has the version of ${twin.path}; give one of them another`;
      throw refused("migration_version_duplicate", file.path, message);
    }
    halves[file.direction] = file;
    versions.set(file.version, halves);
  }
  return [...versions.values()].map(migrationOf).sort((a, b) => a.version - b.version);
}

function migrationOf({ up, down }: Halves): Migration {
  if (up === undefined || down === undefined) {
    const path = up?.path ?? down?.path ?? "";
    const missing = up === undefined ? "up" : "down";
    throw refused("migration_pair_incomplete", path, `${path} has no ${missing} file; both halves must be there`);
  }
  if (up.checkpoint !== down.checkpoint || up.name !== down.name) {
    const message = `${up.path} and ${down.path} have one version and different names; name both halves alike`;
    throw refused("migration_pair_incomplete", down.path, message);
  }
  const text = textOf(up);
  const read = text === undefined ? undefined : readDirectives(up.path, text);
  const refusal =
    text === undefined || read === undefined
      ? notText(up.path)
      : (loneCarriageReturn(up.path, text) ?? ("refusal" in read ? read.refusal : undefined));
  const directives = read !== undefined && "directives" in read ? read.directives : { noTransaction: false };
  return {
    version: up.version,
    name: up.name,
    description: describe(up.name),
    up: { path: up.path, text: text ?? "" },
    down: downFile(down),
    checkpoint: up.checkpoint,
    checksum: up.digest.toString("hex"),
    directives,
    transactionMode: directives.noTransaction ? "none" : "file",
    ...(refusal === undefined ? {} : { refusal }),
  };
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Bytes become text only where they are UTF-8 without NUL: anything else would not be what the checksum was made of. */
function textOf({ bytes }: LoadedFile): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

function downFile(file: LoadedFile): MigrationFile {
  return { path: file.path, text: textOf(file) ?? "" };
}

function notText(path: string): MigrationRefusal {
  return {
    code: "migration_not_text",
    message: `${path} is not UTF-8 text without NUL; save it as UTF-8`,
    path,
  };
}

function refused(code: MigrationRefusalCode, path: string, message: string): DirectoryRefused {
  return new DirectoryRefused({ code, message, path });
}
