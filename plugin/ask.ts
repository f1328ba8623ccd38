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
 * What `confirm` finds out too; called before showing what another command shows as well. What only the asking command
 * shows (the checks before an acknowledgment) is shown first, for the person who then says --yes.
 * @throws Failure (usage) where nobody can be asked
 */
export function refuseUnasked(io: Io): void {
  if (!io.canAsk) throw usage("nobody can be asked here; pass --yes to go on without a question");
}

/**
 * Goes on only after the person typed the expected word.
 * @throws Failure: usage where nobody can be asked, failed where the answer was another
 */
export async function confirm(io: Io, question: string, expected: string): Promise<void> {
  refuseUnasked(io);
  const why = await io.written();
  if (why !== undefined) throw failed(`what is to be decided could not be shown (${why}); nothing was changed`);
  const answer = await io.ask(`${question} Type ${expected} to go on: `);
  if (answer.trim() !== expected) throw failed(`the answer was not "${expected}"; nothing was changed`);
}
