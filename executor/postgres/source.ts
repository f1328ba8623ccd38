import { readdirSync, statSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { Refused } from "../contract.ts";
import { MAX_SCHEMA_BYTES, MAX_SCHEMA_FILES } from "../limits.ts";
import { readRegularFile, UnreadableFile } from "../regular-file.ts";

export interface SourceFile {
  /** Name within the source, as a person wrote it. */
  readonly name: string;
  readonly text: string;
}

const OTHER_FORMATS: readonly string[] = [".hcl", ".yaml", ".yml", ".json"];

/**
 * Reads the desired schema: one `.sql` file, or the `.sql` files of a directory in name order (not recursive; names beginning
 * with a dot are the mount's own). Another format is refused, never half-read.
 */
export function readSource(path: string): readonly SourceFile[] {
  const files = isDirectory(path) ? filesOf(path) : [path];
  let total = 0;
  return files.map((file) => {
    const name = basename(file);
    if (extname(name).toLowerCase() !== ".sql") throw wrongFormat(name);
    const bytes = bytesOf(file, name);
    total += bytes.length;
    if (total > MAX_SCHEMA_BYTES) throw tooLarge();
    return { name, text: decode(bytes, name) };
  });
}

/** @throws Refused for what is no readable file */
function bytesOf(file: string, name: string): Buffer {
  try {
    return readRegularFile(file, MAX_SCHEMA_BYTES);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    throw refusalOf(error, name);
  }
}

function refusalOf({ why }: UnreadableFile, name: string): Refused {
  switch (why) {
    case "too_large":
      return tooLarge();
    case "irregular":
      return new Refused("unsupported_schema_format", `"${name}" is no regular file; write the schema as .sql files`, {
        objects: [name],
      });
    case "unreadable":
      return new Refused("schema_missing", `the file "${name}" of the desired schema cannot be read`, {
        objects: [name],
      });
  }
}

const tooLarge = (): Refused =>
  new Refused(
    "schema_too_large",
    `the desired schema is larger than ${MAX_SCHEMA_BYTES} bytes; split it over several resources`,
  );

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    throw new Refused("schema_missing", `the desired schema "${basename(path)}" does not exist or cannot be read`);
  }
}

function filesOf(path: string): string[] {
  const names = readdirSync(path).filter((name) => !name.startsWith("."));
  names.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  if (names.length > MAX_SCHEMA_FILES) {
    throw new Refused("schema_too_large", `the desired schema has more than ${MAX_SCHEMA_FILES} files`);
  }
  if (names.length === 0) throw new Refused("schema_missing", "the desired schema's directory holds no .sql file");
  for (const name of names) {
    if (isDirectory(join(path, name))) {
      throw new Refused(
        "unsupported_schema_format",
        `the desired schema holds a directory "${name}"; files must lie side by side`,
      );
    }
  }
  return names.map((name) => join(path, name));
}

function wrongFormat(name: string): Refused {
  const known = OTHER_FORMATS.includes(extname(name).toLowerCase())
    ? "HCL, YAML and JSON schemas are for other executors"
    : "only .sql files are read";
  return new Refused(
    "unsupported_schema_format",
    `cannot read "${name}": ${known}; write the schema as plain SQL in .sql files`,
    { objects: [name] },
  );
}

function decode(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Refused("invalid_schema", `${name} is not UTF-8`, { objects: [name] });
  }
}
