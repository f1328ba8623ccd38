import type { Ports } from "./transport.ts";

/** The real clock and randomness; `main` creates them once and hands them down. */
export function realPorts(): Ports {
  return {
    monotonicMs: () => performance.now(),
    random: () => (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) / 2 ** 32,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) {
          resolve();
          return;
        }
        const end = (): void => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", end);
          resolve();
        };
        const timer = setTimeout(end, ms);
        signal?.addEventListener("abort", end, { once: true });
      }),
  };
}
