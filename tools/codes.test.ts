import { expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { explainCode } from "../crds/codes.ts";

/** Codes in the source of the rooms whose errors people read: the first argument of an error, or a fallback for one. */
const USES = [
  /new (?:Failed|Refused|Failure)\(\s*"([a-z_-]+)"/g,
  /failureCode\(report, "([a-z_]+)"\)/g,
  /\bcode: "([a-z_]+)"/g,
  /\brefused\("([a-z_]+)"/g,
];

test("every code that an operation ends with can be explained", () => {
  const root = normalize(join(import.meta.dir, ".."));
  const files = execFileSync(
    "git",
    ["ls-files", "runner/*.ts", "executor/postgres/*.ts", "executor/migrations/*.ts", "executor/migrations/*.ts"],
    {
      cwd: root,
    },
  );
  const product = files
    .toString()
    .split("\n")
    .filter((file) => file !== "" && !file.endsWith(".test.ts"));
  const texts = product.map((file) => readFileSync(join(root, file), "utf8"));
  const used = new Set(texts.flatMap((text) => USES.flatMap((use) => [...text.matchAll(use)].map((m) => m[1] ?? ""))));
  expect(used.size).toBeGreaterThan(40);
  expect([...used].filter((code) => explainCode(code) === undefined)).toEqual([]);
});
