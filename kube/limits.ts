/**
 * Every bound of the Kubernetes client in one place. The relations between them are asserted below, at load.
 * Units stand last in each name.
 */
export const limits = {
  /** One request, from sending to the last byte of its answer, unless the caller says otherwise. */
  requestTimeoutMs: 15_000,
  /** One page of a list: pages of large objects are slow on a busy API server. */
  listTimeoutMs: 30_000,
  /** Objects per page of a list; 500 is what the field's own clients use. */
  listPageItems: 500,
  /** Pages of one list; beyond it the list is refused instead of growing without end. */
  listPagesMax: 2_000,
  /** Bytes of one non-streamed answer: a page of 500 objects of 64 KiB. */
  answerBytesMax: 64 * 1024 * 1024,
  /** Bytes of one line of a watch: etcd's own limit of 1.5 MiB per object, JSON overhead counted generously. */
  watchLineBytesMax: 8 * 1024 * 1024,
  /** Bytes of the body of an error answer that are kept. */
  errorBytesMax: 64 * 1024,
  /** Repeats of a request that the server certainly did not process (429, and 401 once with fresh credentials). */
  refusedRetriesMax: 3,
  /** The longest Retry-After we follow; a server that asks for more gets its answer reported as an error. */
  retryAfterMsMax: 10_000,
  /** What a 429 without Retry-After waits. */
  retryAfterMsDefault: 1_000,
  /** Watches are asked to end by themselves within this range, so that they do not all end together. */
  watchTimeoutSecondsMin: 290,
  watchTimeoutSecondsMax: 580,
  /** A watch without a byte for this long is taken for dead; bookmarks arrive about every minute. */
  watchIdleMsMax: 150_000,
  /** A watch request must be answered (headers) within this. */
  watchStartMsMax: 30_000,
  /** Back-off between two tries of a watch or its list. */
  backoffMsMin: 200,
  backoffMsMax: 30_000,
  /** How long credentials read from files are used before the files are read again. */
  credentialsMaxAgeMs: 60_000,
  /** Bytes of a kubeconfig, token or certificate file. */
  configFileBytesMax: 4 * 1024 * 1024,
  /** How much of such a file is read at a time; most are smaller. */
  configFilePartBytes: 16 * 1024,
  /** How long a pipe in such a file's place may give nothing, and how often it is asked. */
  configFileMsMax: 5_000,
  configFilePollMs: 20,
  /** Bytes of a Pod log that are read over at all, whatever tail is kept of it. */
  logBytesMax: 64 * 1024 * 1024,
} as const;

function holds(condition: boolean, what: string): void {
  if (!condition) throw new Error(`kube/limits.ts: ${what}`);
}
holds(limits.retryAfterMsMax < limits.requestTimeoutMs, "a followed Retry-After fits into one request's deadline");
holds(limits.watchTimeoutSecondsMin < limits.watchTimeoutSecondsMax, "the range of watch time-outs is not empty");
holds(limits.backoffMsMin < limits.backoffMsMax, "back-off grows");
holds(limits.watchIdleMsMax > 2 * 60_000, "an idle watch is given time for two bookmarks");
