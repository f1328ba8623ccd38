import { afterAll, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Refused } from "../contract.ts";
import { readSource } from "./source.ts";

const work = mkdtempSync(join(tmpdir(), "ptah-source-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

/** A directory with one good file and what `make` adds. @returns the code reading it ends with */
function codeOf(name: string, make: (directory: string) => void): string {
  const directory = join(work, name);
  mkdirSync(directory);
  writeFileSync(join(directory, "good.sql"), "create table a (id int);");
  make(directory);
  try {
    return `${readSource(directory).length} files`;
  } catch (error) {
    return error instanceof Refused ? error.refusal.code : String(error);
  }
}

describe("what is no regular file of SQL is refused and never read", () => {
  test("a pipe, a device, a dangling link, a directory", () => {
    expect(codeOf("pipe", (d) => execFileSync("mkfifo", [join(d, "b.sql")]))).toBe("unsupported_schema_format");
    expect(codeOf("device", (d) => symlinkSync("/dev/zero", join(d, "b.sql")))).toBe("unsupported_schema_format");
    expect(codeOf("dangling", (d) => symlinkSync("nowhere", join(d, "b.sql")))).toBe("schema_missing");
    expect(codeOf("directory", (d) => mkdirSync(join(d, "b.sql")))).toBe("unsupported_schema_format");
  });

  test("a link to a file is what a mounted source is made of", () => {
    expect(codeOf("linked", (d) => symlinkSync("good.sql", join(d, "b.sql")))).toBe("2 files");
  });
});
