/** Bounds of one run of the explorer; seconds are of processor. */
export const LIMITS = {
  usual: { states: 3_000_000, memoryMB: 2_500, seconds: 420 },
  deep: { states: 12_000_000, memoryMB: 8_000, seconds: 3_600 },
  /** An exploring process that holds more of its bound than this part when it has explored one part ends, and another goes on. */
  keptMemoryPart: 0.6,
  /** Exploring processes side by side. */
  workers: 2,
  /** Lines of a trace that are printed. */
  traceLines: 150,
} as const;

/** The bounds of this run, by DEEP. */
export const limitsInForce = (env: Readonly<Record<string, string | undefined>>) =>
  isDeep(env) ? LIMITS.deep : LIMITS.usual;

/** Whether this run goes further than usual. */
export const isDeep = (env: Readonly<Record<string, string | undefined>>): boolean => env["DEEP"] === "1";
