import type { KubeClient, Selection } from "./client.ts";
import type { KubeError } from "./errors.ts";
import type { Kind } from "./kinds.ts";
import type { Stored } from "./objects.ts";
import type { Ports } from "./transport.ts";
import { follow } from "./watch.ts";

/** What happened to one object of a store; `before` is absent for a new one, `after` for one that is gone. */
export interface Change<K> {
  readonly before: K | undefined;
  readonly after: K | undefined;
}

export interface StoreOptions<T extends Stored, K> {
  /** What of an object is kept; drop here what no decision needs, it is the memory of the process. */
  keep(object: T): K;
  onChange?(change: Change<K>): void;
  onError?(error: KubeError, waitMs: number): void;
  readonly idleMsMax?: number;
}

/** Key of an object in a store. */
export function keyOf(at: { readonly namespace?: string; readonly name: string }): string {
  return at.namespace === undefined ? at.name : `${at.namespace}/${at.name}`;
}

/** A followed collection held in memory: what a watch said last. Never evidence of absence; decisive reads go uncached. */
export class Store<T extends Stored, K> {
  readonly #items = new Map<string, { readonly kept: K; readonly resourceVersion: string }>();
  readonly #options: StoreOptions<T, K>;
  readonly #kind: Kind<T>;
  readonly #selection: Selection;
  #synced: (() => void) | undefined;
  /** Ends once the first list arrived. */
  readonly ready: Promise<void>;
  isReady = false;

  constructor(kind: Kind<T>, selection: Selection, options: StoreOptions<T, K>) {
    this.#kind = kind;
    this.#selection = selection;
    this.#options = options;
    this.ready = new Promise((resolve) => {
      this.#synced = resolve;
    });
  }

  /** Follows the collection until the signal fires; never rejects. */
  run(client: KubeClient, signal: AbortSignal, ports: Ports): Promise<void> {
    return follow(
      client,
      this.#kind,
      this.#selection,
      {
        onList: (items) => this.#onList(items),
        onChange: (object) => this.#put(object),
        onDelete: (object) => this.#drop(keyOf(object.metadata)),
        onError: this.#options.onError,
      },
      signal,
      ports,
      this.#options.idleMsMax,
    );
  }

  get(key: string): K | undefined {
    return this.#items.get(key)?.kept;
  }

  *values(): Generator<K> {
    for (const { kept } of this.#items.values()) yield kept;
  }

  get size(): number {
    return this.#items.size;
  }

  #onList(items: readonly T[]): void {
    const listed = new Set(items.map((item) => keyOf(item.metadata)));
    for (const key of [...this.#items.keys()]) if (!listed.has(key)) this.#drop(key);
    for (const item of items) this.#put(item);
    this.isReady = true;
    this.#synced?.();
  }

  #put(object: T): void {
    const key = keyOf(object.metadata);
    const before = this.#items.get(key);
    if (before?.resourceVersion === object.metadata.resourceVersion) return;
    const kept = this.#options.keep(object);
    this.#items.set(key, { kept, resourceVersion: object.metadata.resourceVersion });
    this.#options.onChange?.({ before: before?.kept, after: kept });
  }

  #drop(key: string): void {
    const before = this.#items.get(key);
    if (before === undefined) return;
    this.#items.delete(key);
    this.#options.onChange?.({ before: before.kept, after: undefined });
  }
}
