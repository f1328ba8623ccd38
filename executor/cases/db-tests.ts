/** Runs the tests that need a database (`*.db.test.ts`), this room's and the runner's over it; they start their own servers. */
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { bringEveryServer } from "./bring.ts";
import { BUILT, EXECUTABLE_VARIABLE } from "./executable.ts";
import { say } from "./server.ts";
import { sideBySide, type Task } from "./side-by-side.ts";

/** A test plans several times, on a machine that may be busy with other things. */
const TEST_TIMEOUT_MS = 120_000;

/** Begun first: at the end it would run while the others have nothing left to do. */
const LONGEST = join("executor", "postgres", "respelled.db.test.ts");

const root = dirname(dirname(import.meta.dirname));
const ROOMS = ["executor", "runner"];

export interface DatabaseTests {
  /** One for each file, the longest first. */
  readonly tasks: readonly Task[];
  /** Files whose tests did not pass, of those that have run. */
  failed(): readonly string[];
}

/** Brings every server, and finds the tests. */
export function databaseTests(): DatabaseTests {
  const files = ROOMS.flatMap((room) => {
    const found = readdirSync(join(root, room), { recursive: true, encoding: "utf8" });
    return found
      .filter((name) => name.endsWith(".db.test.ts"))
      .sort()
      .map((name) => join(room, name));
  });
  bringEveryServer();
  const failed: string[] = [];
  const task = (file: string): Task => {
    return async () => {
      if (!(await passes(file))) failed.push(file);
    };
  };
  const ordered = [...files.filter((file) => file === LONGEST), ...files.filter((file) => file !== LONGEST)];
  return { tasks: ordered.map(task), failed: () => failed };
}

/** Runs every test. @returns whether all of them passed */
async function runDatabaseTests(): Promise<boolean> {
  const tests = databaseTests();
  await sideBySide(tests.tasks);
  return allPassed(tests);
}

/** Says which files failed, if any. */
export function allPassed(tests: DatabaseTests): boolean {
  const failed = tests.failed();
  if (failed.length > 0) say(`database tests failed: ${failed.join(", ")}`);
  return failed.length === 0;
}

/** Runs one file in a process of its own; what it says is printed whole when it ends. */
function passes(file: string): Promise<boolean> {
  const began = performance.now();
  return new Promise((resolve) => {
    const env = { ...process.env, [EXECUTABLE_VARIABLE]: BUILT };
    const args = ["test", "--timeout", String(TEST_TIMEOUT_MS), `./${file}`];
    const child = spawn(process.execPath, args, { cwd: root, env });
    let said = "";
    const keep = (chunk: Buffer): void => {
      said += chunk.toString("utf8");
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    child.on("close", (code) => {
      say(`${file}: ${code === 0 ? "ok" : `failed (${code})`}, ${((performance.now() - began) / 1000).toFixed(0)} s`);
      say(said.trim());
      resolve(code === 0);
    });
  });
}

if (import.meta.main) process.exitCode = (await runDatabaseTests()) ? 0 : 1;
