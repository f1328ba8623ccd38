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
  /** Who brought it, as `learn` and `forget` were told; absent where a watch did. */
  readonly by?: string | undefined;
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

/** Objects whose deletion is remembered, so that an older answer to a write of ours does not bring one back. */
const TOMBSTONES_MAX = 1_000;

/**
 * A followed collection held in memory: what a watch said last, and what our own writes were answered with before the
 * watch told of them. Never evidence of absence; decisive reads go uncached.
 */
export class Store<T extends Stored, K> {
  readonly #items = new Map<
    string,
    { readonly kept: K; readonly version: bigint | undefined; readonly text: string }
  >();
  readonly #gone = new Map<string, bigint>();
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
        onDelete: (object) => this.#drop(keyOf(object.metadata), versionOf(object.metadata.resourceVersion)),
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

  /** Takes an object that an uncached read or a write of ours was answered with, unless something newer is held. */
  learn(object: T, by?: string): void {
    this.#put(object, by);
  }

  /** Drops an object that an uncached read did not find. */
  forget(at: { readonly namespace?: string; readonly name: string }, by?: string): void {
    this.#drop(keyOf(at), undefined, by);
  }

  #onList(items: readonly T[]): void {
    const listed = new Set(items.map((item) => keyOf(item.metadata)));
    for (const key of [...this.#items.keys()]) if (!listed.has(key)) this.#drop(key, undefined);
    this.#gone.clear();
    for (const item of items) this.#put(item);
    this.isReady = true;
    this.#synced?.();
  }

  #put(object: T, by?: string): void {
    const key = keyOf(object.metadata);
    const text = object.metadata.resourceVersion;
    const version = versionOf(text);
    const before = this.#items.get(key);
    if (before?.text === text || isOlder(version, before?.version) || isOlder(version, this.#gone.get(key))) return;
    const kept = this.#options.keep(object);
    this.#items.set(key, { kept, version, text });
    this.#gone.delete(key);
    this.#options.onChange?.({ before: before?.kept, after: kept, by });
  }

  #drop(key: string, version: bigint | undefined, by?: string): void {
    if (version !== undefined) {
      this.#gone.set(key, version);
      for (const oldest of this.#gone.keys()) {
        if (this.#gone.size <= TOMBSTONES_MAX) break;
        this.#gone.delete(oldest);
      }
    }
    const before = this.#items.get(key);
    if (before === undefined) return;
    this.#items.delete(key);
    this.#options.onChange?.({ before: before.kept, after: undefined, by });
  }
}

/** Kubernetes lets clients compare resourceVersions as whole numbers; anything else is never called older. */
function versionOf(text: string): bigint | undefined {
  return /^\d{1,20}$/.test(text) ? BigInt(text) : undefined;
}

function isOlder(version: bigint | undefined, than: bigint | undefined): boolean {
  return version !== undefined && than !== undefined && version < than;
}
