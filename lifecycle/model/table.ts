/** The set of worlds seen: 64-bit keys in open addressing, numbered in the order they were found. */
const FIRST_SLOTS = 1 << 16;

export class SeenTable {
  private slots = FIRST_SLOTS;
  private keys = new Int32Array(FIRST_SLOTS * 2);
  private ids = new Int32Array(FIRST_SLOTS).fill(-1);
  size = 0;

  /** The number of a key, adding it when new. `added` says which. */
  add(a: number, b: number): { readonly id: number; readonly added: boolean } {
    if (this.size * 10 > this.slots * 7) this.grow();
    let slot = (a ^ Math.imul(b, 0x9e3779b1)) & (this.slots - 1);
    for (;;) {
      const id = this.ids[slot] ?? -1;
      if (id < 0) {
        this.keys[slot * 2] = a;
        this.keys[slot * 2 + 1] = b;
        this.ids[slot] = this.size;
        this.size += 1;
        return { id: this.size - 1, added: true };
      }
      if (this.keys[slot * 2] === a && this.keys[slot * 2 + 1] === b) return { id, added: false };
      slot = (slot + 1) & (this.slots - 1);
    }
  }

  private grow(): void {
    const { keys, ids, slots } = this;
    this.slots = slots * 2;
    this.keys = new Int32Array(this.slots * 2);
    this.ids = new Int32Array(this.slots).fill(-1);
    for (let old = 0; old < slots; old += 1) {
      const id = ids[old] ?? -1;
      if (id < 0) continue;
      const a = keys[old * 2] ?? 0;
      const b = keys[old * 2 + 1] ?? 0;
      let slot = (a ^ Math.imul(b, 0x9e3779b1)) & (this.slots - 1);
      while ((this.ids[slot] ?? -1) >= 0) slot = (slot + 1) & (this.slots - 1);
      this.keys[slot * 2] = a;
      this.keys[slot * 2 + 1] = b;
      this.ids[slot] = id;
    }
  }
}

/** A growing list of numbers without boxes. */
export class Numbers {
  private items = new Int32Array(1 << 14);
  length = 0;

  push(value: number): void {
    if (this.length === this.items.length) {
      const larger = new Int32Array(this.items.length * 2);
      larger.set(this.items);
      this.items = larger;
    }
    this.items[this.length] = value;
    this.length += 1;
  }

  get(at: number): number {
    return this.items[at] ?? -1;
  }

  set(at: number, value: number): void {
    this.items[at] = value;
  }
}
