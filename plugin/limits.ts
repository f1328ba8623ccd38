/** Named bounds of the plugin. */
export const limits = {
  /** One call to the API server (the reference's default of --timeout). */
  requestMs: 30_000,
  /** Waiting as a whole, for `wait`, `--wait`. */
  waitMs: 15 * 60_000,
  /** Between two looks while waiting. */
  pollMs: 1_000,
  /** What holds a Pod or a realm may pass by itself; after this long a person is told. */
  heldMs: 10_000,
  /** Looks in a row that may fail before waiting is given up. */
  failedLooksMax: 10,
  /** Attempts of a conditional annotation patch that meets other writers. */
  patchAttemptsMax: 5,
  /** Chunks of one plan read at a time. */
  chunksAtOnce: 4,
  /** Objects one list may print. */
  listMax: 5_000,
  /** A question's answer. */
  answerBytesMax: 1_024,
} as const;
