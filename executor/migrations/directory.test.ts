import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe as title } from "../../sql/migration-names.ts";
import { MAX_MIGRATION_FILE_BYTES } from "../limits.ts";
import { computeSumText, readDirectory } from "./directory.ts";
import type { MigrationDirectory, MigrationRefusal } from "./migration.ts";
import { partialChecksum } from "./revisions.ts";
import { statementsOf } from "./statements.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "ptah-migrations-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}
function pair(stem: string, up: string | Uint8Array = "SELECT 1;\n", down = "SELECT 2;\n"): void {
  write(`${stem}.up.sql`, up);
  write(`${stem}.down.sql`, down);
}
function writeSum(): void {
  const computed = computeSumText(root);
  if ("refusal" in computed) throw new Error(computed.refusal.message);
  write("ptah.sum", computed.text);
}
function directory(options?: { requireSum: boolean }): MigrationDirectory {
  const result = readDirectory(root, options);
  if ("refusal" in result) throw new Error(`${result.refusal.code}: ${result.refusal.message}`);
  return result.directory;
}
function refusal(options?: { requireSum: boolean }): MigrationRefusal {
  const result = readDirectory(root, options);
  if (!("refusal" in result)) throw new Error("the directory was read");
  return result.refusal;
}

describe("a native directory", () => {
  test("is read with its sub-directories, by version, with both halves and checkpoints", () => {
    pair("0000000010_add_users");
    pair("2024/0000000002_create_orders", "CREATE TABLE orders (id int);\n", "DROP TABLE orders;\n");
    pair("0000000005_snapshot.checkpoint", "-- +ptah no_transaction\nSELECT 5;\n");
    write("README.md", "x");
    write("..data/0000000001_x.up.sql", "x");
    const { migrations, sum } = directory();
    expect(sum).toBe("absent");
    expect(migrations.map((m) => [m.version, m.name, m.description, m.checkpoint, m.transactionMode])).toEqual([
      [2, "create_orders", "Create Orders", false, "file"],
      [5, "snapshot", "Snapshot", true, "none"],
      [10, "add_users", "Add Users", false, "file"],
    ]);
    expect(migrations[0]?.up).toEqual({
      path: "2024/0000000002_create_orders.up.sql",
      text: "CREATE TABLE orders (id int);\n",
    });
    expect(migrations[0]?.down.text).toBe("DROP TABLE orders;\n");
  });

  test("an empty one has no migrations", () => {
    expect(directory().migrations).toEqual([]);
  });

  test("a byte order mark stays in the text and in the checksum", () => {
    pair("0000000001_a", "\uFEFFSELECT 1;\r\n");
    expect(directory().migrations[0]?.up.text).toBe("\uFEFFSELECT 1;\r\n");
  });

  test.each<[string, string, () => void]>([
    ["migration_pair_incomplete", "0000000001_a.up.sql", () => write("0000000001_a.up.sql", "x")],
    ["migration_pair_incomplete", "0000000001_a.down.sql", () => write("0000000001_a.down.sql", "x")],
    [
      "migration_pair_incomplete",
      "0000000001_b.down.sql",
      () => {
        write("0000000001_a.up.sql", "x");
        write("0000000001_b.down.sql", "x");
      },
    ],
    [
      "migration_version_duplicate",
      "sub/0000000001_a",
      () => {
        pair("0000000001_a");
        pair("sub/0000000001_a");
      },
    ],
    ["migration_version_invalid", "0000000000_a", () => pair("0000000000_a")],
    ["migration_file_unknown", "000000001_a.UP.SQL", () => write("000000001_a.UP.SQL", "x")],
    ["migration_file_unknown", "0000000001_.up.sql", () => write("0000000001_.up.sql", "x")],
    ["migration_file_unknown", "0000000001_a.sql", () => write("0000000001_a.sql", "x")],
    ["migration_file_unknown", "setup.sql", () => write("setup.sql", "x")],
    ["migration_format_unsupported", "20240101093000_a.sql", () => write("20240101093000_a.sql", "x")],
    ["migration_format_unsupported", "20240101093000.sql", () => write("20240101093000.sql", "x")],
    ["migration_format_unsupported", "R__views.sql", () => write("R__views.sql", "x")],
    ["migration_format_unsupported", "3R_views.sql", () => write("3R_views.sql", "x")],
    ["migration_format_unsupported", "atlas.sum", () => write("atlas.sum", "h1:x\n")],
  ])("%s names %s", (code, path, make) => {
    make();
    const found = refusal();
    expect(found.code).toBe(code as MigrationRefusal["code"]);
    expect(found.path).toContain(path);
    expect(found.message).toContain(path);
  });

  test.each([
    "4_bad.up.sql",
    "4_bad.sql",
    "00000000004_bad.down.sql",
    "20240101093000_bad.up.sql",
    "20240101_bad.sql",
    "0000000004-bad.up.sql",
    "0000000004.up.sql",
    "4.sql",
  ])("%s is nearly a name of ours, so the rule for names is told and no other tool is spoken of", (name) => {
    write(name, "x");
    const { code, message } = refusal();
    expect(code).toBe("migration_file_unknown");
    expect(message).toBe(`${name} is no migration: name it with ten digits, _, a description and .up.sql or .down.sql`);
  });

  test("a symbolic link to a file, to a directory or out of it is refused, and so is a special file", () => {
    pair("0000000001_a");
    symlinkSync("/etc/passwd", join(root, "0000000002_b.up.sql"));
    expect(refusal()).toMatchObject({ code: "migration_path_unsafe", path: "0000000002_b.up.sql" });
    rmSync(join(root, "0000000002_b.up.sql"));
    symlinkSync("..", join(root, "up"));
    expect(refusal()).toMatchObject({ code: "migration_path_unsafe", path: "up" });
    rmSync(join(root, "up"));
    execFileSync("mkfifo", [join(root, "0000000002_b.up.sql")]);
    expect(refusal()).toMatchObject({ code: "migration_path_unsafe", path: "0000000002_b.up.sql" });
  });

  test("a directory in place of a file is refused, so that nothing is left out unseen", () => {
    pair("0000000001_a");
    mkdirSync(join(root, "ptah.sum"));
    expect(refusal()).toMatchObject({ code: "migration_path_unsafe", path: "ptah.sum" });
    rmSync(join(root, "ptah.sum"), { recursive: true });
    mkdirSync(join(root, "0000000002_b.up.sql"));
    expect(refusal()).toMatchObject({ code: "migration_path_unsafe", path: "0000000002_b.up.sql" });
  });

  test.each(["_.checkpoint", "_a.Checkpoint", "_.CHECKPOINT"])("the misspelt checkpoint %j is refused", (name) => {
    pair(`0000000002${name}`);
    expect(refusal().code).toBe("migration_file_unknown");
  });

  test.each(["SELECT 1;\r\n-- x\rDROP TABLE a;\r\n", "-- +ptah no_transaction\rSELECT 1;\n", "SELECT 1;\r\r\n"])(
    "%j is read and cannot be run, for its line ends",
    (text) => {
      pair("0000000001_a", text);
      expect(directory().migrations[0]?.refusal).toMatchObject({
        code: "migration_syntax",
        rule: "lone-carriage-return",
      });
    },
  );

  test("a path that is too deep and a name with control characters are refused without repeating them", () => {
    write(`${"d/".repeat(33)}0000000001_a.up.sql`, "x");
    expect(refusal().code).toBe("migration_path_unsafe");
    rmSync(join(root, "d"), { recursive: true });
    write("0000000001_a\n.up.sql", "x");
    expect(refusal()).toMatchObject({ code: "migration_file_unknown", path: "0000000001_a?.up.sql" });
  });

  test("a file beyond the bound is refused unread", () => {
    pair("0000000001_a");
    truncateSync(join(root, "0000000001_a.up.sql"), MAX_MIGRATION_FILE_BYTES + 1);
    expect(refusal()).toMatchObject({ code: "migration_directory_too_large", path: "0000000001_a.up.sql" });
  });

  test("one that is not there is refused", () => {
    rmSync(root, { recursive: true });
    expect(refusal().code).toBe("migration_directory_unreadable");
  });

  test.each<[string, string | Uint8Array]>([
    ["migration_not_text", new Uint8Array([0xff, 0xfe, 0x41])],
    ["migration_not_text", "SELECT 1;\0"],
    ["migration_directive_unsupported", "-- +ptah online_ddl_tool=ghost\nSELECT 1;"],
    ["migration_directive_invalid", "-- +ptah lock_timeout=x\nSELECT 1;"],
  ])("%s keeps its version from running and no other from being read", async (code, up) => {
    pair("0000000001_a", up);
    pair("0000000002_b");
    const [first, second] = directory().migrations;
    expect(first?.refusal?.code).toBe(code as MigrationRefusal["code"]);
    expect(second?.refusal).toBeUndefined();
    if (first === undefined) throw new Error("no migration");
    const result = await statementsOf(first, { engine: "postgresql", mode: "file" });
    expect("refusal" in result && result.refusal.path).toBe("0000000001_a.up.sql");
  });
});

describe("with ptah.sum", () => {
  beforeEach(() => {
    pair("0000000001_a");
    pair("sub/0000000002_b");
    writeSum();
  });

  test("it is verified wherever it is there", () => {
    expect(directory({ requireSum: true }).sum).toBe("verified");
  });

  test("a changed, added or removed file is refused by its name", () => {
    write("sub/0000000002_b.down.sql", "SELECT 3;\n");
    expect(refusal()).toMatchObject({ code: "migration_sum_mismatch", path: "sub/0000000002_b.down.sql" });
    writeSum();
    pair("0000000003_c");
    expect(refusal()).toMatchObject({ code: "migration_sum_mismatch", path: "0000000003_c.down.sql" });
    rmSync(join(root, "0000000003_c.up.sql"));
    rmSync(join(root, "0000000003_c.down.sql"));
    rmSync(join(root, "0000000001_a.up.sql"));
    expect(refusal()).toMatchObject({ code: "migration_sum_mismatch", path: "0000000001_a.up.sql" });
  });

  test("one that cannot be read is refused, and a missing one where it is required", () => {
    write("ptah.sum", "x");
    expect(refusal().code).toBe("migration_sum_invalid");
    rmSync(join(root, "ptah.sum"));
    expect(refusal({ requireSum: true })).toMatchObject({ code: "migration_sum_missing", path: "ptah.sum" });
    expect(directory().sum).toBe("absent");
  });
});

describe("history left by the reference's executor", () => {
  interface Row {
    readonly version: number;
    readonly description: string;
    readonly state: string;
    readonly applied: number;
    readonly total: number;
    readonly checksum: string;
    readonly error_stmt: string | null;
  }

  test.each<["postgres" | "mariadb", "postgresql" | "mariadb"]>([
    ["postgres", "postgresql"],
    ["mariadb", "mariadb"],
  ])(
    "%s: every row's checksum, count and description is reproduced, and ptah.sum byte for byte",
    async (name, engine) => {
      const from = join(import.meta.dir, "history-cases", name);
      const rows = JSON.parse(readFileSync(`${from}.rows.json`, "utf8")) as Row[];
      cpSync(from, root, { recursive: true });
      const { migrations, sum, directoryHash } = directory({ requireSum: true });
      const text = readFileSync(join(root, "ptah.sum"), "utf8");
      expect(sum).toBe("verified");
      expect(text.startsWith(`${directoryHash}\n`)).toBe(true);
      expect(computeSumText(root)).toEqual({ text });
      expect(migrations.map(({ version }) => version)).toEqual(rows.map(({ version }) => version));
      for (const [index, migration] of migrations.entries()) {
        const row = rows[index] as Row;
        const result = await statementsOf(migration, { engine, mode: "none" });
        if ("refusal" in result) throw new Error(result.refusal.message);
        const { statements } = result;
        expect(migration.description).toBe(row.description);
        expect(statements).toHaveLength(row.total);
        const dirty = row.state !== "applied";
        expect(dirty ? partialChecksum(statements, row.applied) : migration.checksum).toBe(row.checksum);
        if (dirty) expect(statements[row.applied]?.text).toBe(row.error_stmt as string);
      }
    },
  );
});

test("descriptions are title-cased words", () => {
  expect(title("create_orders")).toBe("Create Orders");
  expect(title("add-URL_to_user's_2fa")).toBe("Add-Url To User's 2fa");
});

test("5,000 versions are read, verified and paired", () => {
  for (let version = 1; version <= 5_000; version += 1) {
    pair(`${String(version).padStart(10, "0")}_m`, `CREATE TABLE t${version} (id int);\n`, `DROP TABLE t${version};\n`);
  }
  writeSum();
  const began = process.cpuUsage();
  expect(directory({ requireSum: true }).migrations).toHaveLength(5_000);
  const { user, system } = process.cpuUsage(began);
  // Processor time, so that a busy machine does not decide; the target is 500 ms.
  expect((user + system) / 1_000).toBeLessThan(2_000);
}, 60_000);
