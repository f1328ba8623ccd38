/** Every bound and interval of the lifecycle in one place. Milliseconds and seconds as the names say. */

/** Version of the stored-state contract this code writes and reads; a newer one is refused, never interpreted. */
export const CONTROLLER_STATE_VERSION = 1;

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Clock skew that absolute deadlines assume; beyond it only the database's own lock separates two runs. */
export const SKEW_MS = 60 * SECOND_MS;
/** What a Lease outlives its Job by. */
export const LEASE_MARGIN_SECONDS = 60;
/** What a run's Job has beyond its child's deadline, to tell how it ended. */
export const RUN_MARGIN_SECONDS = 60;
/** Longest duration of a Lease that the API stores; it still outlives the longest deadline and its grace. */
export const LEASE_SECONDS_MAX = 86_460;
/** Between the deadline's signal and the kill. */
export const GRACE_SECONDS = 30;
/** A Lease is renewed when this part of its duration has passed. */
export const RENEW_AFTER_PART = 1 / 3;

/** A frame may still arrive this long after the Job's terminal condition, and is looked for again this often. */
export const FRAME_WAIT_MS = 30 * SECOND_MS;
export const FRAME_REREAD_MS = 2 * SECOND_MS;
/** Longest one reading of a log may take; the claim's whole Lease where that is shorter. */
export const RESULT_READ_MS = MINUTE_MS;
/** A reading of a log that failed is tried again after this, again and again. */
export const RESULT_RETRY_MS = 5 * SECOND_MS;

/** A finished Job is kept this long, and this long where a failed Apply's log is all the evidence there is. */
export const JOB_KEPT_SECONDS = 300;
export const EVIDENCE_KEPT_SECONDS = 24 * 60 * 60;

/** Longest time until a realm that refused is looked at again. */
export const REALM_RECHECK_MS = MINUTE_MS;
/** Jitter of the interval between two cycles, each way. */
export const INTERVAL_JITTER = 0.1;

/** Pods of one attempt kept by UID; beyond that only their number is known. */
export const PODS_MAX = 8;
/** From this many Applies without a clean reading on, every plan waits for a person. */
export const UNPROVEN_APPLIES_MAX = 3;

/** A source snapshot nothing names is kept at least this long. */
export const SNAPSHOT_KEPT_MS = 10 * MINUTE_MS;

export const JOURNAL_KEPT_MS = 30 * 24 * HOUR_MS;
/** Bound of a condition's message, in characters. */
export const MESSAGE_MAX = 1024;
/** A read request's value is stored as it is up to this many bytes, as its digest beyond. */
export const READ_REQUEST_BYTES_MAX = 64;
