import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const MAIN = join(import.meta.dir, "..", "main.ts");

function ptah(...argv: readonly string[]): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...argv], { encoding: "utf8" });
  return { status, stdout, stderr };
}

const PARTS = ["manager", "webhook", "certs", "runner", "plugin", "schema", "migrations", "version"];

test.each([
  ...PARTS,
  ...["drift", "plan", "apply"].map((verb) => `schema ${verb}`),
  ...["status", "up", "hash", "set", "baseline", "repair"].map((verb) => `migrations ${verb}`),
])("ptah %s --help prints a usage and nothing else, and ends with 0", (words) => {
  const { status, stdout, stderr } = ptah(...words.split(" "), "--help");
  expect(stdout).toMatch(/^usage: /i);
  expect(stderr).toBe("");
  expect(status).toBe(0);
});

test("the flags of a command are told with their variables, also behind others", () => {
  const { stdout } = ptah("migrations", "repair", "--version", "3", "--help");
  expect(stdout).toContain("usage: ptah migrations repair [flags]");
  expect(stdout).toMatch(/--db-url VALUE +URL of the database \(PTAH_DB_URL\)/);
  expect(stdout).toMatch(/--resume-from VALUE +run the version's statements from this one on, now/);
});

test("a usage error names the command's help; a command that is not there, those that are", () => {
  const flag = ptah("migrations", "repair", "--frobnicate");
  expect(flag).toEqual({
    status: 2,
    stdout: "",
    stderr: "error: unknown flag --frobnicate; see ptah migrations repair --help\n",
  });
  expect(ptah("version", "x").stderr).toBe('error: unexpected argument "x"; see ptah version --help\n');
  expect(ptah("migrations", "frobnicate").stderr).toBe(
    'error: unknown command "migrations frobnicate"; there are: status, up, hash, set, baseline, repair\n',
  );
});

test("without a part, or with one that is not there, every part is named", () => {
  const none = ptah();
  expect(none.status).toBe(2);
  expect(ptah("--help")).toEqual({ status: 0, stdout: none.stderr, stderr: "" });
  for (const part of PARTS) expect(none.stderr).toMatch(new RegExp(`^ {2}${part} +\\w`, "m"));
  const unknown = ptah("constructor");
  expect(unknown.status).toBe(2);
  expect(unknown.stderr).toStartWith('error: ptah has no part named "constructor"; it has: manager, ');
});
