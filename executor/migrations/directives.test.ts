import { describe, expect, test } from "bun:test";
import { misplacedDirective, readDirectives } from "./directives.ts";

function directives(text: string) {
  const outcome = readDirectives("a.up.sql", text);
  if ("refusal" in outcome) throw new Error(outcome.refusal.message);
  return outcome.directives;
}
function refusal(text: string) {
  const outcome = readDirectives("a.up.sql", text);
  if (!("refusal" in outcome)) throw new Error("the header was read");
  return outcome.refusal;
}

describe("header directives", () => {
  test("a file without any runs in a transaction", () => {
    expect(directives("-- a comment\nSELECT 1;")).toEqual({ noTransaction: false });
    expect(directives("SELECT '+ptah';")).toEqual({ noTransaction: false });
  });

  test("they are read from blank lines and comments before the first statement, several on a line", () => {
    const text =
      "\uFEFF-- created by hand\r\n\r\n  -- +ptah no_transaction lock_timeout=3s\r\n# x\n-- +ptah statement-timeout=1m30s\nSELECT 1;";
    expect(directives(text)).toEqual({ noTransaction: true, lockTimeoutMs: 3_000, statementTimeoutMs: 90_000 });
  });

  test("no_transaction takes a value", () => {
    expect(directives("-- +ptah no_transaction=true\n").noTransaction).toBe(true);
    expect(directives("-- +ptah no_transaction=0\n").noTransaction).toBe(false);
  });

  test("atlas:txmode is read from the first comment block with an empty line behind it", () => {
    expect(directives("-- x\n-- atlas:txmode none\n\nSELECT 1;")).toEqual({
      noTransaction: true,
      transactionMode: "none",
    });
    expect(directives("-- atlas:txmode file\n\n")).toEqual({ noTransaction: false, transactionMode: "file" });
    expect(directives("-- atlas:nolint\nSELECT 1;")).toEqual({ noTransaction: false });
  });

  test.each([
    ["-- +ptah\nSELECT 1;", 1],
    ["-- +ptah no_transactions\n", 1],
    ["-- +ptah no_transaction=maybe\n", 1],
    ["-- x\n-- +ptah lock_timeout\n", 2],
    ["-- +ptah lock_timeout=0s\n", 1],
    ["-- +ptah lock_timeout=-3s\n", 1],
    ["-- +ptah lock_timeout=3\n", 1],
    ["-- +ptah lock_timeout=1s\n-- +ptah lock_timeout=2s\n", 2],
    ["--+ptah no_transaction\n", 1],
    ["-- +PTAH no_transaction\n", 1],
    ["-- + ptah no_transaction\n", 1],
    ["-- x\n-- +ptah: no_transaction\n", 2],
    ["-- +ptah:no_transaction\n", 1],
    ["# +ptah no_transaction\n", 1],
    ["-- atlas: txmode none\n\n", 1],
    ["-- Atlas:txmode none\n\n", 1],
    ["-- atlas:txmode none\nSELECT 1;", 1],
    ["\n-- atlas:txmode none\n\n", 2],
    ["-- atlas:txmode all\n\n", 1],
    ["-- atlas:txmode file\n-- atlas:txmode file\n\n", 2],
    ["-- atlas:txmode file\n-- +ptah no_transaction\n\n", 1],
  ])("%j is refused as malformed with its line", (text, line) => {
    expect(refusal(text)).toMatchObject({ code: "migration_directive_invalid", path: "a.up.sql", line });
  });

  test.each([
    ['-- +ptah check name="a" assert="SELECT 1" on_fail=abort\n', "check"],
    ["-- +ptah online_ddl_tool=ghost\n", "online_ddl_tool"],
    ["-- atlas:checkpoint\n", "atlas:checkpoint"],
    ["-- atlas:txtar\n", "atlas:txtar"],
    ["-- atlas:delimiter \\n\\n\n", "atlas:delimiter"],
  ])("%j is refused by name", (text, name) => {
    expect(refusal(text)).toMatchObject({ code: "migration_directive_unsupported", line: 1 });
    expect(refusal(text).message).toContain(name);
  });

  test("one below the first statement is refused, not passed over", () => {
    const misplaced = (text: string): number | undefined => misplacedDirective("a.up.sql", text)?.line;
    expect(misplaced("-- x\nSELECT 1;\n-- +ptah no_transaction\n")).toBe(3);
    expect(misplaced("SELECT 1;\n  -- +ptah lock-timeout=1s\n")).toBe(2);
    expect(misplaced("/* x */\n-- atlas:txmode none\n\n")).toBe(2);
    expect(misplaced("/* +ptah no_transaction */\nSELECT 1;\n")).toBe(1);
    expect(misplaced("/*\n * + ptah: no-transaction\n */\nSELECT 1;\n")).toBe(2);
    expect(misplaced("/*\n  +ptah lock_timeout=1s\n*/\nSELECT 1;\n")).toBe(2);
    expect(misplaced("SELECT 1 +\nptah FROM t; -- and 1 + ptah\n/* ptah no_transaction */")).toBeUndefined();
    expect(misplaced("-- +ptah no_transaction\nSELECT '+ptah';\n-- +ptah is nice\n")).toBeUndefined();
  });
});
