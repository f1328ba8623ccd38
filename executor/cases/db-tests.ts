/** Runs the tests of this room that need a database (`*.db.test.ts`); they start their own servers. */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";

/** A test plans several times, on a machine that may be busy with other things. */
const TEST_TIMEOUT_MS = 120_000;

const room = dirname(import.meta.dirname);

/** @returns the exit status of the test runner */
export function runDatabaseTests(): number {
  const found = readdirSync(room, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".db.test.ts"));
  const files = found.sort().map((name) => join(room, name));
  const args = ["test", "--timeout", String(TEST_TIMEOUT_MS), ...files];
  return spawnSync(process.execPath, args, { cwd: dirname(room), stdio: "inherit" }).status ?? 1;
}

if (import.meta.main) process.exitCode = runDatabaseTests();
