/** Every bound of the benchmarks; units stand last in each name. */
export const limits = {
  /** Starts, bare starts and lists whose median is taken. */
  startSamples: 5,
  startMsMax: 30_000,
  startPollMs: 2,
  /** Runs of the runner and of its child whose medians are compared. */
  runnerSamples: 20,
  processMsMax: 60_000,
  suspendedCount: 1_000,
  /** Creates under way at the same time. */
  createsSideBySide: 16,
  settledMsMax: 300_000,
  /** Resident memory is looked at this often, this many times, once everything has rested for a while. */
  memoryRestMs: 10_000,
  memoryPollMs: 500,
  memorySamples: 20,
  /** Changes approved one after another, whose median is taken. */
  approvedChanges: 3,
  convergenceMsMax: 240_000,
  jobMsMax: 180_000,
  coldSchemas: 20,
  coldMsMax: 900_000,
  leaderMsMax: 60_000,
  /** Approvals started each second, and how many. */
  admissionRatePerSecond: 20,
  admissionRatedCount: 400,
  admissionSideBySide: 32,
  /** Calls of each kind before any is counted: connections are open then and code is compiled. */
  admissionWarmCount: 320,
  admissionSideBySideCount: 640,
  admissionSideBySideRounds: 7,
} as const;
