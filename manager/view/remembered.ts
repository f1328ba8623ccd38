/** Values computed once for a version of what they come from; the oldest go when there are too many. */
export class Remembered<T> {
  readonly #held = new Map<string, { readonly version: string; readonly value: T }>();
  readonly #entriesMax: number;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  /** The value for this version, computed where it is not held. `undefined` is not held: it is asked for again. */
  async get(key: string, version: string, compute: () => Promise<T | undefined>): Promise<T | undefined> {
    const held = this.#held.get(key);
    if (held?.version === version) return held.value;
    return this.#keep(key, version, await compute());
  }

  /** The same of a value that needs no waiting. */
  getNow(key: string, version: string, compute: () => T): T {
    const held = this.#held.get(key);
    return held?.version === version ? held.value : this.#keep(key, version, compute());
  }

  #keep<V extends T | undefined>(key: string, version: string, value: V): V {
    this.#held.delete(key);
    if (value === undefined) return value;
    this.#held.set(key, { version, value });
    for (const oldest of this.#held.keys()) {
      if (this.#held.size <= this.#entriesMax) break;
      this.#held.delete(oldest);
    }
    return value;
  }
}
