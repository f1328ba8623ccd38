/** Finds the tests that need a database (`*.db.test.ts`), this room's and the runner's over it; they start their own servers. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { bringEveryServer } from "./bring.ts";
import { EXECUTABLE_VARIABLE } from "./executable.ts";
import { BUILT, ROOT } from "./paths.ts";
import { say } from "./server.ts";
import type { Task } from "./side-by-side.ts";
import { type Ran, runTestFile, sayWhatFailed } from "./test-file.ts";

/** A test plans several times, on a machine that may be busy with other things. */
const TEST_TIMEOUT_MS = 120_000;

/** Begun first: at the end it would run while the others have nothing left to do. */
const LONGEST = join("executor", "postgres", "respelled.db.test.ts");

const ROOMS = ["executor", "runner"];

export interface DatabaseTests {
  /** One for each file, the longest first. */
  readonly tasks: readonly Task[];
  /** Whether every file that has run passed; says what failed. */
  passed(): boolean;
}

/** Brings every server, and finds the tests. */
export function databaseTests(): DatabaseTests {
  const files = ROOMS.flatMap((room) => {
    const found = readdirSync(join(ROOT, room), { recursive: true, encoding: "utf8" });
    return found
      .filter((name) => name.endsWith(".db.test.ts"))
      .sort()
      .map((name) => join(room, name));
  });
  bringEveryServer();
  const failed: Ran[] = [];
  const env = { ...process.env, [EXECUTABLE_VARIABLE]: BUILT };
  const task = (file: string): Task => {
    return async () => {
      const ran = await runTestFile(file, TEST_TIMEOUT_MS, env);
      if (!ran.passed) failed.push(ran);
    };
  };
  const ordered = [...files.filter((file) => file === LONGEST), ...files.filter((file) => file !== LONGEST)];
  return {
    tasks: ordered.map(task),
    passed: () => {
      sayWhatFailed(failed);
      if (failed.length > 0) say(`database tests failed: ${failed.map(({ file }) => file).join(", ")}`);
      return failed.length === 0;
    },
  };
}
