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
    const value = await compute();
    this.#held.delete(key);
    if (value === undefined) return undefined;
    this.#held.set(key, { version, value });
    for (const oldest of this.#held.keys()) {
      if (this.#held.size <= this.#entriesMax) break;
      this.#held.delete(oldest);
    }
    return value;
  }
}
