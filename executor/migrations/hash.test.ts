import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Refused } from "../contract.ts";
import { readDirectory } from "./directory.ts";
import { writeSum } from "./hash.ts";

const made: string[] = [];
afterEach(() => {
  for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true });
});

function directory(files: Readonly<Record<string, string>>): string {
  const path = mkdtempSync(join(tmpdir(), "ptah-hash-"));
  made.push(path);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return path;
}

const INIT = {
  "0000000001_init.up.sql": "CREATE TABLE a (id int);\n",
  "0000000001_init.down.sql": "DROP TABLE a;\n",
};

describe("migrations hash", () => {
  test("writes the integrity file that reading verifies, and nothing beside it", () => {
    const path = directory(INIT);
    expect(writeSum(path)).toEqual({
      path: join(path, "ptah.sum"),
      directory_hash: "h1:XJL1IpR8rRvPPT7TTmTSLBsWbXeb8kfNiHHzNNpZNHQ=",
      files: 2,
    });
    expect(readdirSync(path).sort()).toEqual([...Object.keys(INIT).sort(), "ptah.sum"]);
    expect(readDirectory(path)).toMatchObject({ directory: { sum: "verified" } });
  });

  test("replaces one that no longer fits", () => {
    const path = directory({ ...INIT, "ptah.sum": "nonsense\n" });
    writeSum(path);
    expect(readFileSync(join(path, "ptah.sum"), "utf8")).toStartWith("h1:");
    expect(readDirectory(path)).toMatchObject({ directory: { sum: "verified" } });
  });

  test("refuses a directory it cannot read as migrations, and leaves it as it is", () => {
    const path = directory({ ...INIT, "R__views.sql": "SELECT 1;\n" });
    expect(() => writeSum(path)).toThrow(Refused);
    expect(readdirSync(path)).not.toContain("ptah.sum");
  });
});
