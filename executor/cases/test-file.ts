/** Files of tests that are run one to a process, because each starts servers or shares a cluster with others. */
import { spawn } from "node:child_process";
import { ROOT } from "./paths.ts";

export interface Ran {
  readonly file: string;
  readonly passed: boolean;
  /** All that it said. */
  readonly said: string;
}

/** How much of a failed file's output is printed once more at the end. */
const SAID_AGAIN_CHARS = 6_000;

/**
 * Runs one file in a process of its own; what it says is printed whole when it ends.
 * @param file from the repository's root
 * @param timeoutMs of one test in it
 */
export function runTestFile(file: string, timeoutMs: number, env: NodeJS.ProcessEnv = process.env): Promise<Ran> {
  const began = performance.now();
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ["test", "--timeout", String(timeoutMs), `./${file}`], { cwd: ROOT, env });
    let said = "";
    const keep = (chunk: Buffer): void => {
      said += chunk.toString("utf8");
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    child.on("close", (code) => {
      const seconds = ((performance.now() - began) / 1000).toFixed(0);
      process.stdout.write(`\n==> ${file}: ${code === 0 ? "ok" : `failed (${code})`}, ${seconds} s\n${said.trim()}\n`);
      resolve({ file, passed: code === 0, said });
    });
  });
}

/** Says once more what failed: a log is often kept by its end alone. */
export function sayWhatFailed(failed: readonly Ran[]): void {
  for (const { file, said } of failed) process.stdout.write(`\n==> ${file} failed:\n${withoutPassed(said)}\n`);
}

/** The output without the tests that passed, up to a bound. */
const withoutPassed = (said: string): string =>
  said
    .split("\n")
    .filter((line) => !line.startsWith("(pass)"))
    .join("\n")
    .trim()
    .slice(-SAID_AGAIN_CHARS);
