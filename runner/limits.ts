/** Named bounds of the runner. Sizes in bytes, times in milliseconds. */
import { PLAN_SIZE_BYTES_MAX } from "../workload/limits.ts";

const KIB = 1024;

/** Default and maximum of `--max-result-bytes` and `--max-plan-bytes`. */
export const RESULT_SIZE_BYTES_MAX = PLAN_SIZE_BYTES_MAX;
/** A plan's report embeds the plan; an apply's repeats its statements (reference: 2 × plan limit + 64 KiB). */
export const PLAN_REPORT_BYTES_MAX = 2 * PLAN_SIZE_BYTES_MAX + 64 * KIB;
/** What is kept of a child's standard error; it is only ever a hint in a message. */
export const STDERR_KEPT_BYTES = 64 * KIB;
/** What of it is repeated in the Pod's log. */
export const LAST_WORDS_LENGTH_MAX = 4 * KIB;

/** `PTAH_TERMINATION_GRACE_PERIOD_SECONDS`: default, and how long one may be. */
export const GRACE_SECONDS_DEFAULT = 30;
export const GRACE_SECONDS_MAX = 300;

/** How long the scratch server's socket is awaited before a reading, and how often it is looked for. */
export const SCRATCH_WAIT_MS = 60_000;
export const SCRATCH_POLL_MS = 10;

/** Exclusions and protected tables (reference, schema plan procedure). */
export const EXCLUSIONS_MAX = 128;
export const EXCLUSION_LENGTH_MAX = 256;
export const PROTECTED_TABLES_MAX = 128;

/** A source snapshot is one ConfigMap (1 MiB as the API server counts it). */
export const SNAPSHOT_FILES_MAX = 2_000;
export const SNAPSHOT_SIZE_BYTES_MAX = 2 * 1024 * KIB;
export const SNAPSHOT_MANIFEST_BYTES_MAX = 1024 * KIB;
export const SNAPSHOT_PATH_BYTES_MAX = 1024;
export const SNAPSHOT_PATH_DEPTH_MAX = 32;

/** A write to a full pipe is tried again this often, this long. */
export const WRITE_RETRY_MS = 5;
export const WRITE_WAIT_MS = 30_000;

/** Names repeated from an executor's refusal. */
export const REFUSED_NAMES_MAX = 64;
export const REFUSED_NAME_LENGTH_MAX = 256;
