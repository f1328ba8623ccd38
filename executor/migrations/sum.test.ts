import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { h1, parseSum, type Sum, sumDifference, sumOf, sumText } from "./sum.ts";

const entry = (path: string, text: string) => ({ path, hash: h1(createHash("sha256").update(text).digest()) });
const UP = entry("0000000001_init.up.sql", "CREATE TABLE a (id int);\n");
const DOWN = entry("0000000001_init.down.sql", "DROP TABLE a;\n");

function parsed(text: string): Sum {
  const outcome = parseSum(text);
  if ("refusal" in outcome) throw new Error(outcome.refusal.message);
  return outcome.sum;
}

describe("ptah.sum", () => {
  test("the reference's vector comes out", () => {
    expect(sumOf([UP, DOWN]).directoryHash).toBe("h1:XJL1IpR8rRvPPT7TTmTSLBsWbXeb8kfNiHHzNNpZNHQ=");
  });

  test("files are listed by the bytes of their path, and what is written is read again", () => {
    const files = ["b.sql", "a/z.sql", "a.sql", "\u{1F600}.sql", "\uFF00.sql"].map((path) => entry(path, path));
    const sum = sumOf(files);
    expect(sum.entries.map(({ path }) => path)).toEqual(["a.sql", "a/z.sql", "b.sql", "\uFF00.sql", "\u{1F600}.sql"]);
    expect(parsed(sumText(sum))).toEqual(sum);
    expect(sumText(sum).endsWith("=\n")).toBe(true);
  });

  test("CR LF and spaces within a path are read", () => {
    const file = entry("0000000001_a b.up.sql", "x");
    const text = sumText(sumOf([file])).replaceAll("\n", "\r\n");
    expect(parsed(text).entries).toEqual([file]);
  });

  test.each([
    ["", 1],
    ["h1:abc\n", 1],
    ["0000000001_a.up.sql h1:x\n", 1],
    [`${UP.hash}\nno-hash\n`, 2],
    [`${UP.hash}\na ${UP.hash}\na ${UP.hash}\n`, 3],
    [`${UP.hash}\na ${UP.hash}\n\n`, 3],
  ])("a malformed text %j is refused with its line", (text, line) => {
    const outcome = parseSum(text);
    expect("refusal" in outcome && outcome.refusal).toMatchObject({
      code: "migration_sum_invalid",
      path: "ptah.sum",
      line,
    });
  });

  test("every difference names its file", () => {
    const recorded = sumOf([UP, DOWN]);
    const changed = entry(UP.path, "CREATE TABLE b (id int);\n");
    const more = entry("0000000002_b.up.sql", "x");
    const nameOf = (actual: Sum, from = recorded): string | undefined => sumDifference(actual, from)?.path;
    expect(nameOf(recorded)).toBeUndefined();
    expect(nameOf(sumOf([changed, DOWN]))).toBe(UP.path);
    expect(nameOf(sumOf([DOWN]))).toBe(UP.path);
    expect(nameOf(sumOf([UP, DOWN, more]))).toBe(more.path);
    expect(nameOf(recorded, { ...recorded, directoryHash: UP.hash })).toBe("ptah.sum");
    expect(sumDifference(sumOf([changed, DOWN]), recorded)?.message).toContain(UP.path);
  });
});
