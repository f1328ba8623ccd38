import type { World } from "./ports.ts";

export interface Sweeping {
  readonly world: Pick<World, "sleep">;
  readonly everyMs: number;
  /** How much was done so far; garbage is only made by work. */
  done(): number;
  /** Collects all garbage and hands its memory back. */
  collect(): void;
}

/**
 * Collects garbage regularly while there is work and once more when it has ended, until the signal fires. The runtime collects
 * late: behind the small objects of a read or a watch event stand texts and buffers outside its heap, which it does not count.
 */
export async function sweepWhileBusy({ world, everyMs, done, collect }: Sweeping, signal: AbortSignal): Promise<void> {
  let swept = done();
  let busy = false;
  while (!signal.aborted) {
    await world.sleep(everyMs, signal);
    const worked = done() !== swept;
    if (worked || busy) collect();
    swept = done();
    busy = worked;
  }
}
