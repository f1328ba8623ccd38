import { spawn } from "node:child_process";

export interface TypedResult {
  readonly code: number;
  /** What stood on the terminal, as plain text. */
  readonly shown: string;
}

/** How kubectl ptah asks; the word it wants is the answer a person gives who has read the plan. */
const QUESTION = /Type (\S+) to go on: $/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: what moves a terminal's cursor begins with one
const MOVES = /\u001b\[[0-9;]*[A-Za-z]|\r/g;
const SHOWN_BYTES_MAX = 1024 * 1024;

/**
 * Types a command at a terminal of its own (`script` of the base system), and answers what it asks.
 * @param limitMs after which it is ended
 * @throws Error when it is not over by then, or prints past the bound
 */
export function typed(
  command: string,
  { cwd, env, limitMs }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly limitMs: number },
): Promise<TypedResult> {
  return new Promise((resolve, reject) => {
    const child = spawn("script", ["--quiet", "--return", "--command", command, "/dev/null"], { cwd, env });
    let written = "";
    let answeredTo = 0;
    const shown = (from = 0): string => written.slice(from).replaceAll(MOVES, "");
    const end = (why: string) => {
      child.kill("SIGKILL");
      reject(new Error(`${command}: ${why}; it had printed: ${shown().slice(-2_000)}`));
    };
    const timer = setTimeout(() => end(`not over after ${limitMs / 1000} s`), limitMs);
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (chunk: string) => {
      written += chunk;
      if (written.length > SHOWN_BYTES_MAX) end("printed more than its bound");
      const asked = QUESTION.exec(shown(answeredTo))?.[1];
      if (asked === undefined) return;
      answeredTo = written.length;
      child.stdin.write(`${asked}\n`);
    });
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(timer);
      resolve({ code: code ?? -1, shown: shown() });
    });
  });
}
