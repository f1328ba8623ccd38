import { LIMITS } from "./limits.ts";

export interface WaitOptions {
  timeoutMs: number;
  pollMs?: number;
  /** Called on every failed look: throw from it to stop waiting (the thing waited for can no longer happen). */
  onPoll?: () => void | Promise<void>;
}

/**
 * Looks until `look` returns something other than undefined, null or false, and returns that.
 * An error thrown by `look` counts as "not yet" and is named when the time runs out.
 * @param what completes the sentence "… did not happen within N s"
 */
export async function waitFor<T>(
  what: string,
  look: () => T | Promise<T>,
  options: WaitOptions,
): Promise<Exclude<T, undefined | null | false>> {
  const deadline = performance.now() + options.timeoutMs;
  let last = "";
  for (;;) {
    try {
      const seen = await look();
      if (seen !== undefined && seen !== null && seen !== false) {
        return seen as Exclude<T, undefined | null | false>;
      }
      last = "";
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
    }
    await options.onPoll?.();
    if (performance.now() >= deadline) {
      throw new Error(`${what} did not happen within ${options.timeoutMs / 1000} s${last ? `: ${last}` : ""}`);
    }
    await new Promise((resolve) => setTimeout(resolve, options.pollMs ?? LIMITS.pollMs));
  }
}
