/** What the plugin touches of the outside: streams, terminal, clock and randomness. Created once in `main`. */
import { createInterface } from "node:readline/promises";
import { realPorts } from "../kube/index.ts";
import { limits } from "./limits.ts";

export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether standard output is a terminal; decides about colour and escaping. */
  readonly outputIsTerminal: boolean;
  /** Whether a person can be asked. */
  readonly canAsk: boolean;
  stdout(text: string): void;
  stderr(text: string): void;
  /** Waits until what was given to `stdout` is out. @returns the system's word for why it is not, or not whole */
  written(): Promise<string | undefined>;
  /** Asks on standard error and reads one line of standard input. */
  ask(question: string): Promise<string>;
  nowMs(): number;
  monotonicMs(): number;
  random(): number;
  sleep(ms: number): Promise<void>;
  /** Acts once after a time, unless it is called off. @returns what calls it off */
  later(ms: number, act: () => void): () => void;
}

/** Standard output, written in order; a stream that ends under us is told by `written` and not by a stack. */
function ownOutput(): Pick<Io, "stdout" | "written"> {
  let lost: string | undefined;
  let last = Promise.resolve();
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  return {
    stdout: (text) => {
      last = new Promise((resolve) => {
        process.stdout.write(text, (error) => {
          if (error) lost ??= (error as NodeJS.ErrnoException).code ?? "unknown error";
          resolve();
        });
      });
    },
    written: async () => {
      await last;
      return lost;
    },
  };
}

/** The process's own streams and clock. */
export function processIo(): Io {
  const ports = realPorts();
  return {
    env: process.env,
    outputIsTerminal: process.stdout.isTTY === true,
    canAsk: process.stdin.isTTY === true && process.stderr.isTTY === true,
    ...ownOutput(),
    stderr: (text) => void process.stderr.write(text),
    ask: async (question) => {
      const lines = createInterface({ input: process.stdin, output: process.stderr });
      try {
        return (await lines.question(question)).slice(0, limits.answerBytesMax).trim();
      } catch (error) {
        if (!(error instanceof Error) || error.name !== "AbortError") throw error;
        // Ctrl-C and Ctrl-D answer too: with nothing, on a line that was not ended.
        process.stderr.write("\n");
        return "";
      } finally {
        lines.close();
      }
    },
    nowMs: () => Date.now(),
    monotonicMs: ports.monotonicMs,
    random: ports.random,
    sleep: (ms) => ports.sleep(ms),
    later: (ms, act) => {
      const timer = setTimeout(act, ms);
      return () => clearTimeout(timer);
    },
  };
}
