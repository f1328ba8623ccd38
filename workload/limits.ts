/** Every bound of this room in one place; relations between them are checked when the file is loaded. */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Version of the frame, the summary and the environment contract between builder, runner and reader. */
export const RUNNER_PROTOCOL_VERSION = 1;

/** Largest plan document (the reference's limit for the stored plan). */
export const PLAN_SIZE_BYTES_MAX = 8 * MIB;
/** One plan chunk, and how many of them a plan may have. */
export const PLAN_CHUNK_SIZE_BYTES_MAX = 512 * KIB;
export const PLAN_CHUNKS_MAX = 16;

/** Encoded frame payload: fits a kubelet's default 10 MiB container log with its per-line overhead. */
export const FRAME_ENCODED_BYTES_MAX = 9 * MIB;
/** Payload after decompression: six bytes of JSON escape for each plan byte, and 64 KiB for the rest. */
export const FRAME_DECODED_BYTES_MAX = 6 * PLAN_SIZE_BYTES_MAX + 64 * KIB;
/** Header line after its marker. */
export const FRAME_HEADER_BYTES_MAX = 96;
/** Whole lines of other output that may sit between header and payload, and between payload and footer. */
export const FRAME_INTERLEAVED_BYTES_MAX = 64 * KIB;
/** Candidates tried in one parse, so that a log full of markers stays cheap. */
export const FRAME_CANDIDATES_MAX = 64;
/** Container log tail that holds any legal frame together with what may be interleaved and written after it. */
export const FRAME_LOG_TAIL_BYTES = 10 * MIB;

/** Termination message; the kubelet keeps 4 KiB, the contract uses half. */
export const SUMMARY_SIZE_BYTES_MAX = 2 * KIB;

export const ERROR_MESSAGE_BYTES_MAX = 4 * KIB;
export const OPERATION_ID_LENGTH_MAX = 256;
export const DRIFT_FINDINGS_MAX = 64;
export const REFUSED_NAMES_MAX = 64;

/** Versions of one migration directory: half of the 10 000 files that a source may have. */
export const MIGRATIONS_MAX = 5_000;
/** A version's textual key, and a checksum. */
export const MIGRATION_KEY_LENGTH_MAX = 128;
/** What a migration Apply's Job and Pod have beyond the child's own deadline: the run tells how it ended. */
export const MIGRATION_APPLY_GRACE_SECONDS = 60;

/** Admission snapshot bounds (seed: "the admission snapshot binds the exact …"; reference, Pod-intent snapshot). */
export const LIMIT_RANGES_MAX = 32;
export const LIMIT_DEFAULTS_MAX = 64;
export const RESOURCE_KEYS_MAX = 64;
export const SCHEDULING_ITEMS_MAX = 64;
export const IMAGE_PULL_SECRETS_MAX = 64;

export const ACTIVE_DEADLINE_SECONDS_MAX = 86_400;

if (FRAME_ENCODED_BYTES_MAX + 2 * FRAME_INTERLEAVED_BYTES_MAX + KIB > FRAME_LOG_TAIL_BYTES) {
  throw new Error("a legal frame with its interleaved lines does not fit the log tail that is read");
}
if (PLAN_CHUNKS_MAX * PLAN_CHUNK_SIZE_BYTES_MAX < PLAN_SIZE_BYTES_MAX) {
  throw new Error("the largest legal plan does not fit its chunks");
}
