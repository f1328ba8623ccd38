import { describe, expect, test } from "bun:test";
import { type Executable, segmentsOf } from "./execute.ts";

const joined = (sql: string): Executable => ({ sql, transaction: "joined", commitAfter: false });
const shape = (statements: readonly Executable[], mode: "file" | "all" | "none") =>
  segmentsOf(statements, mode).map((s) => [s.statements.map((x) => x.sql).join(""), s.first, s.inTransaction]);

describe("grouping statements into transactions", () => {
  const boundary: Executable = { ...joined("b"), commitAfter: true };
  const alone: Executable = { ...joined("x"), transaction: "alone" };

  test("one transaction reaches to the end", () => {
    expect(shape([joined("a"), joined("b")], "file")).toEqual([["ab", 0, true]]);
  });

  test("a commit boundary ends one, a statement that stands alone has none", () => {
    expect(shape([joined("a"), boundary, joined("c"), alone, joined("d")], "file")).toEqual([
      ["ab", 0, true],
      ["c", 2, true],
      ["x", 3, false],
      ["d", 4, true],
    ]);
  });

  test("mode none runs each by itself", () => {
    expect(shape([joined("a"), joined("b"), alone], "none")).toEqual([
      ["a", 0, true],
      ["b", 1, true],
      ["x", 2, false],
    ]);
  });
});
