/** What a person's changes of a history say of themselves, and which of them would tell a lie about the database. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  benchesFor,
  ENGINES,
  type EngineName,
  type Files,
  migrationDirectory,
  openLine,
  ptah,
  startPtah,
  through,
} from "../cases/migration-bench.ts";
import { until } from "../cases/test-server.ts";

const benches = benchesFor({ beforeAll, afterAll });
let made = 0;
const directories: string[] = [];

afterAll(() => {
  for (const path of directories) rmSync(path, { recursive: true, force: true });
});

const fresh = (engine: EngineName, sql?: string): Promise<string> =>
  benches[engine].database(`maintain_${++made}`, sql);

function directory(files: Files, checkpoints: Files = {}): string {
  const { path } = migrationDirectory(files);
  directories.push(path);
  for (const [version, up] of Object.entries(checkpoints)) {
    const base = join(path, `${version.padStart(10, "0")}_all.checkpoint`);
    writeFileSync(`${base}.up.sql`, up);
    writeFileSync(`${base}.down.sql`, "SELECT 1;\n");
  }
  return path;
}

const ONE = "CREATE TABLE a (id int);\n";
const TWO = "CREATE TABLE b (id int);\n";
const BROKEN = "INSERT INTO missing VALUES (1);\n";

for (const engine of ENGINES) {
  const versions = async (url: string): Promise<string[]> =>
    (await benches[engine].sql(url, "SELECT version, state FROM schema_migrations ORDER BY version")).map(
      (row) => `${row["version"]} ${row["state"]}`,
    );

  describe(`a change of the history on ${engine} whose commit is not answered`, () => {
    const cut = async (url: string, files: string, args: readonly string[], done: string): Promise<unknown> => {
      const { port, engine: kind } = benches[engine];
      const line = await openLine(port, kind, "COMMIT");
      const running = startPtah(through(url, port, line.port), files, args);
      await until("the commit", async () => line.swallowed() && (await versions(url)).join() === done);
      line.cut();
      const { stdout } = await running.ended;
      line.close();
      return JSON.parse(stdout);
    };
    const unknown = {
      outcome: "unknown",
      recorded: [],
      removed: [],
      error: expect.stringContaining("migrations status"),
    };

    test("is unknown, for set, repair and baseline alike", async () => {
      const files = directory({ 1: ONE, 2: BROKEN });
      const url = await fresh(engine);
      await ptah(url, files, ["up"]);
      expect(await cut(url, files, ["set", "--version", "1"], "1 applied")).toMatchObject(unknown);
      await ptah(url, files, ["up"]);
      expect(await cut(url, files, ["repair", "--version", "2", "--force"], "1 applied,2 applied")).toMatchObject(
        unknown,
      );
      const other = await fresh(engine);
      await ptah(other, files, ["baseline", "--version", "1"]);
      await ptah(other, files, ["set", "--version", "0"]);
      expect(await cut(other, files, ["baseline", "--version", "1"], "1 applied")).toMatchObject(unknown);
    });
  });

  describe(`the rest of a version on ${engine} whose kept statements made something of their session`, () => {
    const made = engine === "PostgreSQL" ? "CREATE TEMP TABLE x AS SELECT 7 AS id" : "SET @id = 7";
    const used = engine === "PostgreSQL" ? "INSERT INTO a SELECT id FROM x" : "INSERT INTO a VALUES (@id)";
    const file = { 1: `-- +ptah no_transaction\n${ONE}${made};\n${BROKEN}${used};\n` };

    test("is refused by their numbers, and run where a person says that it needs none of it", async () => {
      const url = await fresh(engine);
      const files = directory(file);
      expect((await ptah(url, files, ["up"])).report).toMatchObject({ outcome: "partial", failure: { statement: 3 } });
      const resume = ["repair", "--version", "1", "--resume-from", "3"];
      for (const dry of [[], ["--dry-run"]]) {
        const { status, report } = await ptah(url, files, [...resume, ...dry]);
        expect(status).toBe(2);
        expect(report).toMatchObject({ outcome: "refused", refusal: { code: "resume_session_lost", statement: 2 } });
        expect(report["error"]).toContain("statement 2 of version 1 ");
      }
      const { report } = await ptah(url, files, [...resume, "--force", "--dry-run"]);
      expect(report["would"]).toContain("statement 2 made or read something that ended with its session");
      await benches[engine].sql(url, "CREATE TABLE missing (id int)");
      expect((await ptah(url, files, [...resume, "--force"])).report).toMatchObject({
        outcome: engine === "PostgreSQL" ? "partial" : "changed",
      });
    });
  });

  describe(`a database on ${engine} begun at a checkpoint that failed`, () => {
    test("is not set to a version below it, because nothing of those was run", async () => {
      const files = directory({ 1: ONE, 2: TWO }, { 3: BROKEN });
      const url = await fresh(engine);
      await ptah(url, files, ["up"]);
      expect(await versions(url)).toEqual(["3 failed"]);
      for (const dry of [[], ["--dry-run"]]) {
        const { status, report } = await ptah(url, files, ["set", "--version", "2", ...dry]);
        expect(status).toBe(2);
        expect(report).toMatchObject({ outcome: "refused", refusal: { code: "checkpoint_unfinished" } });
        expect(report["error"]).toContain("set --version 0");
      }
      expect(await versions(url)).toEqual(["3 failed"]);
      expect((await ptah(url, files, ["set", "--version", "0"])).report).toMatchObject({
        outcome: "changed",
        removed: [3],
      });
      const mended = directory({ 1: ONE, 2: TWO }, { 3: `${ONE}${TWO}` });
      expect((await ptah(url, mended, ["up"])).report).toMatchObject({ outcome: "applied", applied: [3] });
      await benches[engine].sql(url, "SELECT * FROM b");
    });

    test("and a later version that failed is another matter: the checkpoint was run", async () => {
      const files = directory({ 1: ONE, 4: BROKEN }, { 3: ONE });
      const url = await fresh(engine);
      await ptah(url, files, ["up"]);
      expect(await versions(url)).toEqual(["3 applied", "4 failed"]);
      expect((await ptah(url, files, ["set", "--version", "3"])).report).toMatchObject({
        outcome: "changed",
        removed: [4],
      });
    });
  });
}
