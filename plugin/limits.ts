/** Named bounds of the plugin. */
export const limits = {
  /** One call to the API server (the reference's default of --timeout). */
  requestMs: 30_000,
  /** Waiting as a whole, for `wait`, `--wait`. */
  waitMs: 15 * 60_000,
  /** The longest time a flag may give: what timers can hold (24 days) and longer than anybody waits. */
  flagMsMax: 168 * 3_600_000,
  /** Letters of a resource's name and of a namespace, by the rules of Kubernetes. */
  nameMax: 253,
  namespaceMax: 63,
  /** Between two looks while waiting. */
  pollMs: 1_000,
  /** What holds a Pod or a realm may pass by itself; after this long a person is told. */
  heldMs: 10_000,
  /** A failure that may pass by itself is told when it has stood this long (two retries at the default interval). */
  troubleMs: 60_000,
  /** …or when this many attempts have failed alike. */
  troubleAttempts: 3,
  /** How long waiting goes on while the API server cannot be reached. */
  unreachableMs: 5 * 60_000,
  /** How long one look may take before the wait for its answer is told. */
  quietMs: 5_000,
  /** What a running manager has long looked at. */
  unseenMs: 30_000,
  /** A leader's Lease (15 s) that is older than this is nobody's; generous, because two clocks are compared. */
  leaderSilentMs: 60_000,
  /** Attempts of a conditional annotation patch that meets other writers. */
  patchAttemptsMax: 5,
  /** Chunks of one plan read at a time. */
  chunksAtOnce: 4,
  /** Objects one list may print. */
  listMax: 5_000,
  /** Files that one warning names. */
  namedFilesMax: 5,
  /** Letters of a mistyped word that is still compared with the known ones, which are all shorter. */
  comparedWordMax: 64,
  /** Letters missing, too many or wrong that still count as a slip. */
  slipsMax: 2,
  /** Words that one suggestion names. */
  suggestionsMax: 5,
  /** A question's answer. */
  answerBytesMax: 1_024,
} as const;
