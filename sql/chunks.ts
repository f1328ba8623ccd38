import { createHash } from "node:crypto";
import { LIMITS } from "./limits.ts";

/** One stored piece of a plan document; it may cut a character. */
export interface Chunk {
  readonly bytes: Uint8Array;
  /** `sha256:` of this chunk's bytes. */
  readonly digest: string;
}

export interface ChunkFailure {
  readonly code:
    | "plan_too_large"
    | "plan_empty"
    | "chunk_size_wrong"
    | "chunk_digest_mismatch"
    | "content_digest_mismatch";
  readonly message: string;
}

/** @returns `sha256:` and the hex digest of the raw bytes; for a plan the trailing newline counts. */
export function contentDigest(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

/** Splits a plan document by raw bytes into at most 16 chunks of 512 KiB; every one but the last is full. */
export function chunk(bytes: Uint8Array): { readonly chunks: readonly Chunk[] } | { readonly error: ChunkFailure } {
  if (bytes.length === 0) return { error: { code: "plan_empty", message: "the plan document is empty" } };
  if (bytes.length > LIMITS.chunkSizeBytes * LIMITS.chunkCount) return { error: tooLarge() };
  const chunks: Chunk[] = [];
  for (let start = 0; start < bytes.length; start += LIMITS.chunkSizeBytes) {
    const piece = bytes.slice(start, start + LIMITS.chunkSizeBytes);
    chunks.push({ bytes: piece, digest: contentDigest(piece) });
  }
  return { chunks };
}

/**
 * Puts chunks together again.
 * @param digest the recorded content digest of the whole.
 * @returns the document's bytes, or which piece does not hold what was recorded.
 */
export function join(
  chunks: readonly Chunk[],
  digest: string,
): { readonly bytes: Uint8Array } | { readonly error: ChunkFailure } {
  if (chunks.length === 0) return { error: { code: "plan_empty", message: "the plan has no chunks" } };
  if (chunks.length > LIMITS.chunkCount) return { error: tooLarge() };
  for (const [index, piece] of chunks.entries()) {
    const last = index === chunks.length - 1;
    const size = piece.bytes.length;
    if (size === 0 || size > LIMITS.chunkSizeBytes || (!last && size !== LIMITS.chunkSizeBytes)) {
      return { error: { code: "chunk_size_wrong", message: `plan chunk ${index} has a size that no plan has` } };
    }
    if (contentDigest(piece.bytes) !== piece.digest) {
      return {
        error: {
          code: "chunk_digest_mismatch",
          message: `plan chunk ${index} does not hold the bytes it was published with`,
        },
      };
    }
  }
  const bytes = new Uint8Array(Buffer.concat(chunks.map((piece) => piece.bytes)));
  if (contentDigest(bytes) !== digest) {
    return {
      error: { code: "content_digest_mismatch", message: "the plan's chunks do not add up to the published plan" },
    };
  }
  return { bytes };
}

function tooLarge(): ChunkFailure {
  return {
    code: "plan_too_large",
    message: `the plan needs more than ${LIMITS.chunkCount} chunks of ${LIMITS.chunkSizeBytes} bytes`,
  };
}
