import { spawn } from "node:child_process";
import { LIMITS } from "./limits.ts";

export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

export interface CommandOptions {
  timeoutMs?: number;
  input?: string | Uint8Array;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** Show the program's output as it comes instead of keeping it. */
  inherit?: boolean;
}

/**
 * Runs a program to its end and returns what it said, whatever its exit code.
 * @throws Error when it cannot be started, runs past `timeoutMs` (milliseconds) or prints past the bound.
 */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const timeoutMs = options.timeoutMs ?? LIMITS.commandMs;
  return new Promise((resolve, reject) => {
    const output = options.inherit ? "inherit" : "pipe";
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      stdio: [options.input === undefined ? "ignore" : "pipe", output, output],
    });
    const chunks: { stdout: Buffer[]; stderr: Buffer[] } = { stdout: [], stderr: [] };
    let sizeBytes = 0;
    let failure: Error | undefined;
    const abort = (reason: string) => {
      failure ??= new Error(`${command} ${args.slice(0, 3).join(" ")}: ${reason}`);
      child.kill("SIGKILL");
    };
    const timer = setTimeout(() => abort(`did not end within ${timeoutMs / 1000} s`), timeoutMs);
    const collect = (into: Buffer[]) => (chunk: Buffer) => {
      sizeBytes += chunk.length;
      if (sizeBytes > LIMITS.outputBytes) abort("printed more than its bound");
      else into.push(chunk);
    };
    child.stdout?.on("data", collect(chunks.stdout));
    child.stderr?.on("data", collect(chunks.stderr));
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(new Error(`${command} cannot be run: ${error.message}`));
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      if (failure) reject(failure);
      else resolve({ code: code ?? -1, stdout: text(chunks.stdout), stderr: text(chunks.stderr) });
    });
    child.stdin?.on("error", () => {});
    child.stdin?.end(options.input);
  });
}

/** Runs a program that must succeed, and returns its standard output. @throws Error with the end of its complaint. */
export async function mustRun(command: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const result = await runCommand(command, args, options);
  if (result.code === 0) return result.stdout;
  const said = (result.stderr.trim() || result.stdout.trim()).split("\n").slice(-LIMITS.logTailLines).join("\n");
  throw new Error(`${command} ${args.slice(0, 4).join(" ")} ended with ${result.code}:\n${said}`);
}

function text(chunks: Buffer[]): string {
  return Buffer.concat(chunks).toString("utf8");
}
