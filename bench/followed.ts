import { type Kind, type KubeClient, realPorts, Store, type Stored } from "../kube/index.ts";

/** Objects of one namespace as a watch tells of them: waiting on them costs the API server nothing. */
export class Followed<T extends Stored> {
  /** The newest state of every object that was ever told of, also of those that are gone. */
  readonly seen = new Map<string, T>();
  readonly #waiting = new Set<() => void>();
  readonly #ending = new AbortController();
  readonly #store: Store<T, T>;
  #running: Promise<void> | undefined;

  constructor(kind: Kind<T>, namespace: string) {
    this.#store = new Store(
      kind,
      { namespace },
      {
        keep: (object) => object,
        onChange: ({ after }) => {
          if (after === undefined) return;
          this.seen.set(after.metadata.name, after);
          for (const wake of this.#waiting) wake();
        },
      },
    );
  }

  /** Begins to follow; ends once the first list arrived. */
  async start(client: KubeClient): Promise<this> {
    this.#running = this.#store.run(client, this.#ending.signal, realPorts());
    await this.#store.ready;
    return this;
  }

  /**
   * Waits until `look` finds something in what was seen; an error it throws ends the wait.
   * @param what completes the sentence "… did not happen within N s"
   */
  until<U>(what: string, timeoutMs: number, look: () => U | undefined): Promise<U> {
    return new Promise((resolve, reject) => {
      const end = (finish: () => void): void => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        finish();
      };
      const wake = (): void => {
        try {
          const found = look();
          if (found !== undefined) end(() => resolve(found));
        } catch (error) {
          end(() => reject(error as Error));
        }
      };
      const late = new Error(`${what} did not happen within ${timeoutMs / 1000} s`);
      const timer = setTimeout(() => end(() => reject(late)), timeoutMs);
      this.#waiting.add(wake);
      wake();
    });
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }
}
