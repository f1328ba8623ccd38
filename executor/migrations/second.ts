/** A second session beside the pinned one, for rows that the first is not fit to write. */

interface Closable {
  lost(): boolean;
  end(): Promise<void>;
}

export interface Second<S> {
  /** The second session, opened where it is not there yet or no longer; the pinned one where no other can be had. */
  session(): Promise<S>;
  end(): Promise<void>;
}

/** @param open opens a session; asked again only for one that was there and ended, as a server ends idle ones */
export function secondOf<S extends Closable>(pinned: S, open: () => Promise<S>): Second<S> {
  let second: S | undefined;
  let refused = false;
  return {
    session: async () => {
      if (second === undefined || second.lost()) {
        if (!refused) second = await open().catch(() => undefined);
        refused = second === undefined;
      }
      return second ?? pinned;
    },
    end: async () => {
      await second?.end();
    },
  };
}
