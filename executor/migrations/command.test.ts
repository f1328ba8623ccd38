/** What the commands say of the database that they were given, before any of it is reached. */
import { afterAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { migrationDirectory } from "../cases/migration-bench.ts";

const MAIN = join(import.meta.dir, "..", "..", "main.ts");
const directory = migrationDirectory({ 1: "CREATE TABLE a (id int);\n" });

afterAll(() => {
  directory.remove();
});

function ptah(url: string, words: string): { readonly text: string; readonly report: Record<string, unknown> } {
  const env = { PATH: process.env["PATH"], PTAH_DB_URL: url, PTAH_MIGRATIONS_DIR: directory.path };
  const { stdout } = spawnSync(process.execPath, [MAIN, "migrations", ...words.split(" ")], { encoding: "utf8", env });
  return { text: stdout, report: JSON.parse(stdout) as Record<string, unknown> };
}

const COMMANDS = ["status", "up", "set --version 1", "baseline --version 1", "repair --version 1"];

describe.each(COMMANDS)("migrations %s", (words) => {
  test.each([
    ["postgres://someone:hunter22@127.0.0.1:1/shop?sslmode=disable", "postgres://127.0.0.1:1/shop"],
    ["someone:hunter22@tcp(127.0.0.1:1)/shop", "mysql://127.0.0.1:1/shop"],
  ])("names the database also where it ends early, without user and password: %s", (url, named) => {
    const { text, report } = ptah(url, words);
    expect(report["database_url"]).toBe(named);
    expect(report["error"]).toBeString();
    expect(text).not.toMatch(/someone|hunter22/);
  });

  test("tells the forms of a URL that has none of them, and names no database", () => {
    for (const url of ["mysq://someone:hunter22@h/d", "foo", "someone:hunter22@h/d", "//h/d"]) {
      const { text, report } = ptah(url, words);
      expect(report["refusal"] ?? report["cause"]).toMatchObject({ code: "invalid_target" });
      for (const form of ["postgres://", "postgresql://", "mysql://", "mariadb://", "user@tcp(host:port)/database"])
        expect(report["error"]).toContain(form);
      expect(report["database_url"]).toBeUndefined();
      expect(text).not.toMatch(/someone|hunter22|mysq:/);
    }
  });
});
