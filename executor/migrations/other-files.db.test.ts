/** A history that was written from other files than this directory's: what a person may still change of it, and what is said. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  benchesFor,
  ENGINES,
  type EngineName,
  type Files,
  migrationDirectory,
  ptah,
} from "../cases/migration-bench.ts";

const benches = benchesFor({ beforeAll, afterAll });
let made = 0;
const removals: (() => void)[] = [];

afterAll(() => {
  for (const remove of removals) remove();
});

const fresh = (engine: EngineName): Promise<string> => benches[engine].database(`other_${++made}`);

function directory(files: Files): string {
  const { path, remove } = migrationDirectory(files);
  removals.push(remove);
  return path;
}

const OURS = { 1: "CREATE TABLE a (id int);\n", 2: "CREATE TABLE b (id int);\n" };
const BROKEN = "INSERT INTO missing VALUES (1);\n";
const THEIRS = { 1: "CREATE TABLE x (id int);\n", 2: "CREATE TABLE y (id int);\n", 3: "CREATE TABLE z (id int);\n" };

for (const engine of ENGINES) {
  const rows = (url: string) =>
    benches[engine].sql(url, "SELECT version, state, checksum FROM schema_migrations ORDER BY version");
  const states = async (url: string, files: string): Promise<string[]> => {
    const { report } = await ptah(url, files, ["status"]);
    return (report["migrations"] as { version: number; state: string }[]).map((m) => `${m.version} ${m.state}`);
  };

  /** What `status` calls the database: no report of another command calls it otherwise. */
  const named = async (url: string, files: string): Promise<unknown> =>
    (await ptah(url, files, ["status"])).report["database_url"];

  describe(`a database on ${engine} whose history is of another directory`, () => {
    test("is not repaired, and says which versions have other files and which database it is", async () => {
      const url = await fresh(engine);
      const [ours, theirs] = [directory({ ...OURS, 3: BROKEN }), directory(THEIRS)];
      expect((await ptah(url, ours, ["up"])).report["database_url"]).toBe(await named(url, ours));
      const before = await rows(url);
      for (const form of [["--resume-from", "1"], ["--force"], ["--resume-from", "1", "--force"]]) {
        for (const dry of [[], ["--dry-run"]]) {
          const { status, report } = await ptah(url, theirs, ["repair", "--version", "3", ...form, ...dry]);
          expect(status).toBe(2);
          expect(report).toMatchObject({ refusal: { code: "history_modified", objects: ["1", "2"] } });
          expect(report["error"]).toContain("versions 1, 2");
          expect(report["database_url"]).toBe(await named(url, theirs));
        }
      }
      expect(await rows(url)).toEqual(before);
      expect(benches[engine].received("TABLE z")).toBe(0);
    });

    test("has the rows that are kept named by set and baseline, dry or not", async () => {
      const url = await fresh(engine);
      const [ours, theirs] = [directory(OURS), directory(THEIRS)];
      await ptah(url, ours, ["up"]);
      const dry = (await ptah(url, theirs, ["set", "--version", "3", "--dry-run"])).report;
      expect(dry).toMatchObject({ recorded: [3], checksum_kept: [1, 2] });
      expect(dry["would"]).toContain("keep the rows of versions 1, 2 with the checksums of other files");
      const lower = (await ptah(url, theirs, ["set", "--version", "1", "--dry-run"])).report;
      expect(lower).toMatchObject({ removed: [2], checksum_kept: [1] });
      expect((await ptah(url, theirs, ["set", "--version", "2"])).report).toMatchObject({
        outcome: "unchanged",
        checksum_kept: [1, 2],
      });
      expect((await ptah(url, theirs, ["baseline", "--version", "3", "--force"])).report).toMatchObject({
        outcome: "changed",
        recorded: [3],
        checksum_kept: [1, 2],
      });
      expect((await ptah(url, ours, ["set", "--version", "2"])).report["checksum_kept"]).toBeUndefined();
    });
  });

  describe(`a row on ${engine} that is wrong where the file is right`, () => {
    test("alone, is put right by repair --force, and nothing is run", async () => {
      const url = await fresh(engine);
      await ptah(url, directory(OURS), ["up"]);
      const right = directory({ ...OURS, 1: THEIRS[1] });
      const { report } = await ptah(url, right, ["repair", "--version", "1", "--force"]);
      expect(report).toMatchObject({ outcome: "changed", recorded_only: [1], database_url: await named(url, right) });
      expect(await states(url, right)).toEqual(["1 applied", "2 applied"]);
    });

    test("among several, is put right as each of them is, and then what stopped is repaired", async () => {
      const url = await fresh(engine);
      await ptah(url, directory({ ...OURS, 3: BROKEN }), ["up"]);
      const right = directory(THEIRS);
      for (const version of ["1", "2"]) {
        const { report } = await ptah(url, right, ["repair", "--version", version, "--force"]);
        expect(report).toMatchObject({ outcome: "changed", recorded_only: [Number(version)] });
      }
      expect(await states(url, right)).toEqual(["1 applied", "2 applied", "3 dirty"]);
      const { report } = await ptah(url, right, ["repair", "--version", "3", "--resume-from", "1", "--force"]);
      expect(report).toMatchObject({ outcome: "changed", recorded: [3] });
      expect(benches[engine].received("TABLE x")).toBe(0);
      expect(benches[engine].received("TABLE z")).toBe(1);
    });
  });
}
