import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { execFileSync, spawnSync } from "node:child_process";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const main = join(import.meta.dir, "..", "main.ts");

let work: string;
beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), "ptah-install-"));
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

/** Installs in a shell that has done `first`. */
function install(path: string, first = ":"): { status: number | null; stderr: string } {
  const script = `${first}; "${process.execPath}" "${main}" runner --install-to "${path}"`;
  const { status, stderr } = spawnSync("sh", ["-c", script], { encoding: "utf8" });
  return { status, stderr };
}

describe("the executable is installed", () => {
  test("whole, over an older one and over what a killed run left", () => {
    const home = join(work, "whole");
    mkdirSync(home);
    writeFileSync(join(home, "ptah"), "old", { mode: 0o555 });
    writeFileSync(join(home, "ptah.partial"), "half", { mode: 0o444 });
    expect(install(join(home, "ptah"))).toEqual({ status: 0, stderr: "" });
    expect(readdirSync(home)).toEqual(["ptah"]);
    expect(lstatSync(join(home, "ptah")).mode & 0o777).toBe(0o555);
    expect(lstatSync(join(home, "ptah")).size).toBe(lstatSync(process.execPath).size);
  });

  test("or not at all where there is no room, and what there was stays", () => {
    const home = join(work, "full");
    mkdirSync(home);
    writeFileSync(join(home, "ptah"), "old");
    const { status, stderr } = install(join(home, "ptah"), `trap "" XFSZ; ulimit -f 100`);
    expect(status).toBe(2);
    expect(stderr).toMatch(/^error: the runner cannot go on \([A-Z]+\)\n$/);
    expect(readdirSync(home)).toEqual(["ptah"]);
    expect(readFileSync(join(home, "ptah"), "utf8")).toBe("old");
  });

  test("never in the place of a pipe, a directory or a link", () => {
    const home = join(work, "other");
    mkdirSync(join(home, "directory"), { recursive: true });
    execFileSync("mkfifo", [join(home, "pipe")]);
    symlinkSync("/dev/null", join(home, "link"));
    for (const path of readdirSync(home).map((name) => join(home, name))) {
      const { status, stderr } = install(path);
      expect(stderr).toContain("no regular file");
      expect(status).toBe(2);
    }
    expect(readdirSync(home).sort()).toEqual(["directory", "link", "pipe"]);
  });
});
