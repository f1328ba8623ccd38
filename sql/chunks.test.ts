import { describe, expect, test } from "bun:test";
import { type Chunk, chunk, contentDigest, join, SQL_LIMITS } from "./index.ts";

function chunksOf(bytes: Uint8Array): Chunk[] {
  const outcome = chunk(bytes);
  if ("error" in outcome) throw new Error(outcome.error.message);
  return [...outcome.chunks];
}
const filled = (size: number) => Uint8Array.from({ length: size }, (_, i) => i % 251);

describe("plan chunks", () => {
  const full = SQL_LIMITS.chunkSizeBytes;
  for (const [size, count] of [
    [1, 1],
    [full, 1],
    [full + 1, 2],
    [full * 16, 16],
  ] as const) {
    test(`${size} bytes make ${count} chunks that join to the same bytes`, () => {
      const bytes = filled(size);
      const chunks = chunksOf(bytes);
      expect(chunks).toHaveLength(count);
      const joined = join(chunks, contentDigest(bytes));
      expect("bytes" in joined && Buffer.from(joined.bytes).equals(Buffer.from(bytes))).toBe(true);
    });
  }
  test("a cut may fall inside a character", () => {
    const bytes = new TextEncoder().encode(`${"x".repeat(full - 1)}é`);
    const joined = join(chunksOf(bytes), contentDigest(bytes));
    expect("bytes" in joined && new TextDecoder().decode(joined.bytes).endsWith("xé")).toBe(true);
  });
  test("an empty and an oversized plan are refused", () => {
    expect(chunk(new Uint8Array())).toMatchObject({ error: { code: "plan_empty" } });
    expect(chunk(new Uint8Array(full * 16 + 1))).toMatchObject({ error: { code: "plan_too_large" } });
    expect(join([], "sha256:x")).toMatchObject({ error: { code: "plan_empty" } });
  });
  test("changed, missing and reordered chunks are refused", () => {
    const bytes = filled(full * 2 + 5);
    const [a, b, c] = chunksOf(bytes) as [Chunk, Chunk, Chunk];
    const digest = contentDigest(bytes);
    expect(join([a, { ...b, bytes: filled(full).fill(7) }, c], digest)).toMatchObject({
      error: { code: "chunk_digest_mismatch" },
    });
    expect(join([a, b], digest)).toMatchObject({ error: { code: "content_digest_mismatch" } });
    expect(join([b, a, c], digest)).toMatchObject({ error: { code: "content_digest_mismatch" } });
    expect(join([a, c, b], digest)).toMatchObject({ error: { code: "chunk_size_wrong" } });
  });
});
