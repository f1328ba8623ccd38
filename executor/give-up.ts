/** Giving up on a server that answers nothing any more, of either engine. */
import { RELEASE_TIMEOUT_MS } from "./limits.ts";

/** One session's way of ending what it waits for. */
export interface GivingUp {
  /** Asks the server to cancel what the session runs; never throws. */
  readonly cancelStatement: () => Promise<void>;
  /** Destroys the connection, so that whoever waits for an answer is told. */
  readonly giveUp: () => void;
  readonly lost: () => boolean;
}

export interface Waiting {
  /** Runs a query that is waited for. */
  sent<T>(query: () => Promise<T>): Promise<T>;
  /** Asks for a cancel; what is still waited for after the bound on a release is given up. */
  cancel(): void;
}

/** Counts what a session waits for. */
export function waitingFor({ cancelStatement, giveUp, lost }: GivingUp): Waiting {
  let running = 0;
  return {
    sent: async (query) => {
      running += 1;
      try {
        return await query();
      } finally {
        running -= 1;
      }
    },
    cancel: () => {
      void cancelStatement().then(async () => {
        await expiry(RELEASE_TIMEOUT_MS);
        // The server does not answer any more: what is waited for would never come.
        if (running > 0 && !lost()) giveUp();
      });
    },
  };
}

/** A bound beside something else: does not keep the process alive. */
export function expiry(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
