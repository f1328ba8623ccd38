/** Bounds of one run of the explorer; seconds are of processor. */
export const LIMITS = {
  usual: { states: 3_000_000, memoryMB: 2_500, seconds: 420 },
  deep: { states: 12_000_000, memoryMB: 5_000, seconds: 3_600 },
  /** Exploring processes side by side. */
  workers: 2,
  /** Lines of a trace that are printed. */
  traceLines: 150,
} as const;
