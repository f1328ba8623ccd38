/** Runs the tests that need a database (`*.db.test.ts`), this room's and the runner's over it; they start their own servers. */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";

/** A test plans several times, on a machine that may be busy with other things. */
const TEST_TIMEOUT_MS = 120_000;

const root = dirname(dirname(import.meta.dirname));
const ROOMS = ["executor", "runner"];

/** @returns the exit status of the test runner */
export function runDatabaseTests(): number {
  const files = ROOMS.flatMap((room) => {
    const found = readdirSync(join(root, room), { recursive: true, encoding: "utf8" });
    return found
      .filter((name) => name.endsWith(".db.test.ts"))
      .sort()
      .map((name) => join(root, room, name));
  });
  const args = ["test", "--timeout", String(TEST_TIMEOUT_MS), ...files];
  return spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" }).status ?? 1;
}

if (import.meta.main) process.exitCode = runDatabaseTests();
