/** Named bounds of the room. Sizes in bytes, times in milliseconds. */

/** Desired schema: files and bytes read from PTAH_SCHEMA_FILE. A larger schema could not be planned within the plan limit anyway. */
export const MAX_SCHEMA_FILES = 2_000;
export const MAX_SCHEMA_BYTES = 8 * 1024 * 1024;
/** Plan document read by apply; the reference's limit of a plan's bytes. */
export const MAX_PLAN_BYTES = 8 * 1024 * 1024;
/** A CA bundle; that of the public web has about 220 KB. */
export const MAX_CERTIFICATE_BYTES = 1024 * 1024;

export const MAX_EXCLUDE_SELECTORS = 128;
export const MAX_SELECTOR_CHARS = 256;
export const MAX_PROTECTED_TABLES = 128;

/** Names listed in one refusal or finding; the rest is counted, so that a report stays readable. */
export const MAX_NAMES_IN_REPORT = 20;

export const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;
export const DEFAULT_LOCK_TIMEOUT_MS = 30_000;
/** How often the advisory lock is tried while another session holds it (reference: every 25 ms). */
export const LOCK_POLL_MS = 25;
/** How often a lock is proven behind a pooler: a busy pool hides for some of them that its server sessions are shared. */
export const POOLED_LOCK_PROOFS = 32;
/** How often the server session that holds a lock is looked for in a pool, to release the lock there. */
export const POOLED_UNLOCK_TRIES = 80;
/** Bound on a release of the lock and on closing a session; after it the socket is destroyed. */
export const RELEASE_TIMEOUT_MS = 10_000;
/** How long a connection may be silent before the system asks the other end whether it is still there. */
export const KEEP_ALIVE_DELAY_MS = 30_000;
/** Longest time a flag or a URL may give: what timers can hold, and longer than any Job. */
export const MAX_DURATION_MS = 7 * 24 * 3_600_000;
/** Bound on a cancel request's own connection. */
export const CANCEL_TIMEOUT_MS = 5_000;
/** A scratch server is a sidecar that may still be starting: how long its socket is awaited. */
export const SCRATCH_READY_TIMEOUT_MS = 60_000;
export const SCRATCH_READY_POLL_MS = 50;
/** Catalog reads have a server-side bound, so that a pathological catalog ends in a sentence and not in a silent deadline. */
export const CATALOG_STATEMENT_TIMEOUT_MS = 120_000;
/** External pg_dump, where one is configured. */
export const DUMP_TIMEOUT_MS = 120_000;
export const MAX_DUMP_BYTES = 64 * 1024 * 1024;

/** Migration directory: bounds of the reference for artifacts; both halves of every version and the integrity file count. */
export const MAX_MIGRATION_FILES = 20_001;
export const MAX_MIGRATION_FILE_BYTES = 64 * 1024 * 1024;
export const MAX_MIGRATION_DIRECTORY_BYTES = 512 * 1024 * 1024;
export const MAX_MIGRATION_PATH_BYTES = 1_024;
export const MAX_MIGRATION_PATH_DEPTH = 32;
/** Everything a walk may meet, other files and directories included. */
export const MAX_MIGRATION_ENTRIES = 50_000;
/** Statements of one migration file; each is a round trip and a history update. */
export const MAX_MIGRATION_STATEMENTS = 100_000;
/** `ptah.sum`: one line of a path and a hash per file. */
export const MAX_SUM_BYTES = 32 * 1024 * 1024;
