import { limits } from "./limits.ts";
import type { World } from "./ports.ts";

/**
 * When a key is decided about again. `retry`: after a growing back-off; `again`: at once; `at`: at this wall-clock instant;
 * `idle`: when woken; `gone`: never, unless woken.
 */
export type Next =
  | { readonly kind: "retry" }
  | { readonly kind: "again" }
  | { readonly kind: "at"; readonly wallMs: number }
  | { readonly kind: "idle" }
  | { readonly kind: "gone" };

interface Item {
  state: "idle" | "queued" | "running";
  /** Woken while it was running: it runs once more, so that nothing that arrived in between is lost. */
  wokenMeanwhile: boolean;
  failures: number;
  /** Passes in a row that asked to go on at once. */
  immediate: number;
  cancelTimer: (() => void) | undefined;
}

/**
 * Keys to decide about: each at most once in the queue and never twice at a time, at most `concurrency` at once. A key
 * that failed waits with doubling, jittered back-off; a key may ask to be woken at an instant. Bounded by the number of keys.
 */
export class Queue {
  readonly #items = new Map<string, Item>();
  readonly #waiting: string[] = [];
  readonly #world: Pick<World, "after" | "random" | "wallMs">;
  readonly #concurrency: number;
  readonly #work: (key: string) => Promise<Next>;
  #running = 0;
  #started = false;
  #stopped = false;
  #whenQuiet: (() => void) | undefined;

  constructor(
    work: (key: string) => Promise<Next>,
    concurrency: number,
    world: Pick<World, "after" | "random" | "wallMs">,
  ) {
    this.#work = work;
    this.#concurrency = concurrency;
    this.#world = world;
  }

  /** Keys woken before this wait until now. */
  start(): void {
    this.#started = true;
    this.#pump();
  }

  /** Something about the key changed: decide about it soon. A back-off under way is kept, so that a noisy key cannot spin. */
  wake(key: string): void {
    if (this.#stopped) return;
    const item = this.#item(key);
    if (item.state === "running") item.wokenMeanwhile = true;
    else if (item.state === "idle" && item.failures === 0) this.#push(key, item);
  }

  /** Keys that wait for a worker, and keys being worked on. */
  get depth(): { readonly waiting: number; readonly running: number } {
    return { waiting: this.#waiting.length, running: this.#running };
  }

  /** Takes no new key and ends once what runs has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waiting.length = 0;
    for (const item of this.#items.values()) item.cancelTimer?.();
    if (this.#running === 0) return;
    await new Promise<void>((resolve) => {
      this.#whenQuiet = resolve;
    });
  }

  #item(key: string): Item {
    const held = this.#items.get(key);
    if (held !== undefined) return held;
    const item: Item = { state: "idle", wokenMeanwhile: false, failures: 0, immediate: 0, cancelTimer: undefined };
    this.#items.set(key, item);
    return item;
  }

  #push(key: string, item: Item): void {
    item.cancelTimer?.();
    item.cancelTimer = undefined;
    item.state = "queued";
    this.#waiting.push(key);
    this.#pump();
  }

  #pump(): void {
    while (this.#started && !this.#stopped && this.#running < this.#concurrency) {
      const key = this.#waiting.shift();
      if (key === undefined) return;
      const item = this.#item(key);
      item.state = "running";
      item.wokenMeanwhile = false;
      this.#running += 1;
      this.#work(key)
        .catch((): Next => ({ kind: "retry" }))
        .then((next) => this.#ended(key, item, next))
        .catch(() => undefined);
    }
  }

  #ended(key: string, item: Item, next: Next): void {
    this.#running -= 1;
    item.state = "idle";
    item.immediate = next.kind === "again" ? item.immediate + 1 : 0;
    const retry = next.kind === "retry" || item.immediate > limits.immediatePassesMax;
    item.failures = retry ? item.failures + 1 : 0;
    if (this.#stopped) {
      if (this.#running === 0) this.#whenQuiet?.();
      return;
    }
    if (retry) this.#later(key, item, this.#backoffMs(item.failures));
    else if (item.wokenMeanwhile || next.kind === "again") this.#push(key, item);
    else if (next.kind === "at") this.#later(key, item, next.wallMs - this.#world.wallMs());
    else if (next.kind === "idle") this.#later(key, item, limits.wakeMsMax);
    else this.#items.delete(key);
    this.#pump();
  }

  #later(key: string, item: Item, ms: number): void {
    item.cancelTimer = this.#world.after(Math.min(Math.max(ms, 0), limits.wakeMsMax), () => {
      item.cancelTimer = undefined;
      if (item.state === "idle" && !this.#stopped) this.#push(key, item);
    });
  }

  #backoffMs(failures: number): number {
    const ceiling = Math.min(limits.retryMsMax, limits.retryMsMin * 2 ** Math.min(failures - 1, 20));
    return ceiling / 2 + (ceiling / 2) * this.#world.random();
  }
}
