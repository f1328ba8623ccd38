import { expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { EVENT_REASONS, REASONS } from "../crds/reasons.ts";

/** Words used as reasons in the lifecycle's source: `reason: "X"`, a condition line's third member, `told(…, "X"`. */
const USES = [
  /\breason: "([A-Z][A-Za-z]+)"/g,
  /"(?:True|False|Unknown|absent)",\s*"([A-Z][A-Za-z]+)"/g,
  /\bdropped\(\{?[^()]*?,\s*"([A-Z][A-Za-z]+)"/g,
];

test("every reason that the lifecycle writes stands in the closed table", () => {
  const root = normalize(join(import.meta.dir, ".."));
  const known = new Set<string>([...REASONS, ...EVENT_REASONS].map((entry) => entry.reason));
  const files = execFileSync("git", ["ls-files", "lifecycle/*.ts"], { cwd: root }).toString().split("\n");
  const product = files.filter((file) => file !== "" && !file.endsWith(".test.ts") && !file.includes("/model/"));
  const texts = product.map((file) => readFileSync(join(root, file), "utf8"));
  const used = new Set(texts.flatMap((text) => USES.flatMap((use) => [...text.matchAll(use)].map((m) => m[1] ?? ""))));
  expect(used.size).toBeGreaterThan(20);
  expect([...used].filter((word) => !known.has(word))).toEqual([]);
});
