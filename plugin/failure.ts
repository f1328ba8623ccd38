/** How a command ends when it does not print what was asked for. */
import { isKubeError } from "../kube/index.ts";
import { roleHint } from "./roles.ts";

/** The contract's exit codes. */
export const EXIT = { printed: 0, failed: 1, usage: 2, nothingStored: 3 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A sentence for the person at the terminal, and the exit code scripts react to. */
export class Failure extends Error {
  readonly exit: ExitCode;

  constructor(exit: ExitCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.exit = exit;
  }
}

export const failed = (message: string, cause?: unknown): Failure => new Failure(EXIT.failed, message, { cause });
export const usage = (message: string): Failure => new Failure(EXIT.usage, message);
export const nothingStored = (message: string): Failure => new Failure(EXIT.nothingStored, message);

/** The failure behind anything thrown. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  if (isKubeError(thrown, "Forbidden")) {
    const hint = roleHint(thrown.message);
    return failed(hint === undefined ? thrown.message : `${thrown.message.replace(/\.$/, "")}. ${hint}`, thrown);
  }
  return failed(thrown instanceof Error ? thrown.message : String(thrown), thrown);
}
