/** Asking the person at the terminal. */
import { failed, usage } from "./failure.ts";
import type { Io } from "./io.ts";

/** Flags of a command that asks before it writes, and may wait afterwards. */
export interface DecisionFlags {
  readonly yes: boolean;
  readonly wait: boolean;
  readonly waitMs: number;
}

/**
 * Goes on only after the person typed the expected word.
 * @throws Failure: usage where nobody can be asked, failed where the answer was another
 */
export async function confirm(io: Io, question: string, expected: string): Promise<void> {
  if (!io.canAsk) throw usage("nobody can be asked here; pass --yes to go on without a question");
  const answer = await io.ask(`${question} Type ${expected} to go on: `);
  if (answer.trim() !== expected) throw failed(`the answer was not "${expected}"; nothing was changed`);
}
