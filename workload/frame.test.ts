import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { encodeFrame, frameOf, readFrame } from "./frame.ts";
import { FRAME_DECODED_BYTES_MAX, FRAME_ENCODED_BYTES_MAX, PLAN_SIZE_BYTES_MAX } from "./limits.ts";
import type { OperationResult } from "./result.ts";

const digest = (c: string): string => `sha256:${c.repeat(64)}`;
const ID = digest("a");
const binding = { operation: "apply", operationID: ID } as const;

const applied: OperationResult = {
  protocolVersion: 1,
  operation: "apply",
  operationId: ID,
  childExitCode: 0,
  childStarted: true,
  stdout: "",
  coordinationDigest: digest("b"),
  targetIdentityDigest: digest("c"),
  mutationStarted: true,
};

function planned(text: string): OperationResult {
  const { mutationStarted: _, ...base } = applied;
  return { ...base, operation: "plan", stdout: text, planOutcome: "Changes", planContentDigest: digest("d") };
}

function encoded(result: OperationResult): Buffer {
  const frame = encodeFrame(result);
  if (!frame.ok) throw new Error(frame.problem);
  return frame.bytes;
}

/** Deterministic pseudo-random bytes; the seed is in the test's name when one fails. */
function noise(seed: number, length: number): Buffer {
  const parts: Buffer[] = [];
  for (let i = 0; i * 32 < length; i += 1) parts.push(createHash("sha256").update(`${seed}:${i}`).digest());
  return Buffer.concat(parts).subarray(0, length);
}

describe("the result frame", () => {
  test("is read back as it was written", () => {
    const reading = readFrame(encoded(applied), binding);
    expect(reading).toMatchObject({ kind: "Found", result: applied });
  });

  test("has a header line, one payload line and a footer line", () => {
    const lines = encoded(applied).toString().split("\n");
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(/^PTAH_RUNNER_RESULT_V1 \d+ [0-9a-f]{64}$/);
    expect(lines[0]?.split(" ")[1]).toBe(String(lines[1]?.length));
    expect(lines[2]).toBe("PTAH_RUNNER_RESULT_END_V1");
    expect(lines[3]).toBe("");
  });

  test("cut anywhere may still arrive, and is never another result", () => {
    const bytes = encoded(applied);
    for (let cut = 0; cut < bytes.length; cut += 1) {
      expect(readFrame(bytes.subarray(0, cut), binding).kind).toBe("Missing");
    }
  });

  test("cut at its beginning is no frame", () => {
    const bytes = encoded(applied);
    for (let cut = 1; cut < bytes.length; cut += 7) {
      expect(readFrame(bytes.subarray(cut), binding)).toMatchObject({ kind: "Missing", code: "not_found" });
    }
  });

  test("with one byte flipped anywhere is never believed", () => {
    const bytes = encoded(applied);
    for (let at = 0; at < bytes.length; at += 1) {
      const broken = Buffer.from(bytes);
      broken[at] = (broken[at] ?? 0) ^ 0x01;
      const reading = readFrame(broken, binding);
      expect({ at, kind: reading.kind === "Found" }).toEqual({ at, kind: false });
    }
  });

  test("with a payload byte flipped is a wrong digest, finally", () => {
    const bytes = encoded(applied);
    const payloadAt = bytes.indexOf(0x0a) + 5;
    bytes[payloadAt] = (bytes[payloadAt] ?? 0) ^ 0x01;
    expect(readFrame(bytes, binding)).toMatchObject({ kind: "Invalid", code: "wrong_digest" });
  });

  test("written twice is one result", () => {
    const bytes = encoded(applied);
    expect(readFrame(Buffer.concat([bytes, bytes]), binding)).toMatchObject({ kind: "Found", result: applied });
  });

  test("written last wins over an earlier valid one", () => {
    const failed: OperationResult = { ...applied, uncertain: true, error: { code: "apply_failed", message: "no" } };
    const reading = readFrame(Buffer.concat([encoded(applied), encoded(failed)]), binding);
    expect(reading).toMatchObject({ kind: "Found", result: { error: { code: "apply_failed" } } });
  });

  test("that is whole wins over a later one that is broken or cut", () => {
    const whole = encoded(applied);
    for (const rest of [whole.subarray(0, whole.length - 9), Buffer.from("PTAH_RUNNER_RESULT_V1 5 zz\nhello\n")]) {
      expect(readFrame(Buffer.concat([whole, rest]), binding).kind).toBe("Found");
    }
  });

  test("of another operation or id is refused", () => {
    expect(readFrame(encoded(applied), { operation: "apply", operationID: digest("e") })).toMatchObject({
      kind: "Invalid",
      code: "wrong_operation",
    });
    expect(readFrame(encoded(applied), { operation: "plan", operationID: ID }).kind).toBe("Invalid");
  });

  test("tolerates whole lines of other output before, inside and after", () => {
    const lines = encoded(applied).toString().split("\n");
    const other = Array.from({ length: 40 }, (_, i) => `line ${i} of something else ${"x".repeat(i)}`).join("\n");
    const log = [other, lines[0], other, lines[1], other, lines[2], other, ""].join("\n");
    expect(readFrame(Buffer.from(log), binding)).toMatchObject({ kind: "Found", result: applied });
  });

  test("does not look for its payload behind more than 64 KiB of other output", () => {
    const lines = encoded(applied).toString().split("\n");
    const log = [lines[0], ...Array.from({ length: 700 }, () => "y".repeat(120)), lines[1], lines[2], ""].join("\n");
    expect(readFrame(Buffer.from(log), binding)).toMatchObject({ kind: "Invalid", code: "malformed" });
  });

  test("is found among marker-like noise", () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const junk = `PTAH_RUNNER_RESULT_V1 \nPTAH_RUNNER_RESULT_V1 12 ${noise(seed, 20).toString("hex")}\n`;
      const log = Buffer.concat([noise(seed, 5_000), Buffer.from(`\n${junk}`), encoded(applied), Buffer.from(junk)]);
      expect({ seed, kind: readFrame(log, binding).kind }).toEqual({ seed, kind: "Found" });
    }
  });

  test("is found whatever its own payload says", () => {
    // Text that does not compress stands in the frame as it is, however many markers it holds.
    const one = planned(`COMMENT ON TABLE t IS '${"PTAH_RUNNER_RESULT_V1 ".repeat(80)}'`);
    const plain = frameOf(Buffer.from(JSON.stringify(one)));
    expect(readFrame(plain.bytes, { ...binding, operation: "plan" })).toMatchObject({ kind: "Found", result: one });
  });

  test("mangled in any of a thousand ways is the written one or none, and never an exception", () => {
    const whole = encoded(applied);
    const other = encoded({ ...applied, uncertain: true, error: { code: "apply_failed", message: "no" } });
    for (let seed = 0; seed < 1_000; seed += 1) {
      const draw = noise(seed, 32);
      const at = (n: number, max: number): number => draw.readUInt32LE(n) % (max + 1);
      const pieces = [whole, other, noise(seed, at(0, 300)), Buffer.from("PTAH_RUNNER_RESULT_V1 ")].map((piece, i) =>
        piece.subarray(at(4 * i, piece.length) % 40, piece.length - (at(4 * i + 1, piece.length) % 40)),
      );
      const order = [...pieces, ...pieces]
        .slice(at(20, 3))
        .sort((a, b) => (a.length ^ at(24, 512)) - (b.length ^ at(25, 512)));
      const reading = readFrame(Buffer.concat(order), binding);
      const code = reading.kind === "Found" ? reading.result.error?.code : undefined;
      const honest = reading.kind !== "Found" || code === undefined || code === "apply_failed";
      expect({ seed, honest }).toEqual({ seed, honest: true });
    }
  });

  test("in a log of nothing but markers is searched for a bounded time", () => {
    const log = Buffer.from(`PTAH_RUNNER_RESULT_V1 9 ${"0".repeat(64)}\n${"z".repeat(200)}\n`.repeat(20_000));
    const began = performance.now();
    readFrame(log, binding);
    expect(performance.now() - began).toBeLessThan(2_000);
  });

  test("carries the largest legal plan within the encoded limit when it is text", () => {
    const line = "ALTER TABLE orders ADD COLUMN note text DEFAULT '<&>';\n";
    const text = line.repeat(Math.floor(PLAN_SIZE_BYTES_MAX / line.length));
    const bytes = encoded(planned(text));
    expect(bytes.length).toBeLessThan(FRAME_ENCODED_BYTES_MAX);
    const reading = readFrame(bytes, { operation: "plan", operationID: ID });
    expect(reading.kind === "Found" && reading.result.stdout === text).toBe(true);
  });

  test("that would be too large even compressed is not made", () => {
    // Seven random bits in every byte is the densest text that a plan of the largest legal size may hold.
    const dense = Buffer.from(noise(7, PLAN_SIZE_BYTES_MAX).map((byte) => byte & 0x7f || 0x20)).toString("latin1");
    expect(encodeFrame(planned(dense))).toMatchObject({ ok: false, code: "frame_too_large" });
  });

  test("declaring more than the limit is refused without reading on", () => {
    const log = `PTAH_RUNNER_RESULT_V1 ${FRAME_ENCODED_BYTES_MAX + 1} ${"0".repeat(64)}\n`;
    expect(readFrame(Buffer.from(log), binding)).toMatchObject({ kind: "Invalid", code: "too_large" });
  });

  test("does not unpack a payload beyond its bound", () => {
    const bomb = gzipSync(Buffer.alloc(FRAME_DECODED_BYTES_MAX + 1, 0x20)).toString("base64");
    const { bytes } = frameOf(Buffer.from(`gzip:${bomb}`));
    expect(readFrame(bytes, binding)).toMatchObject({ kind: "Invalid", code: "malformed" });
  });

  test("of a runner of another protocol is recognised by its six keys", () => {
    const document = {
      childExitCode: -1,
      error: { code: "runner_protocol_mismatch", message: "other" },
      operation: "apply",
      operationId: ID,
      protocolVersion: 7,
      stdout: "",
    };
    const { bytes } = frameOf(Buffer.from(JSON.stringify(document)));
    expect(readFrame(bytes, binding)).toEqual({ kind: "Foreign", protocolVersion: 7 });
    expect(readFrame(Buffer.concat([encoded(applied), bytes]), binding).kind).toBe("Found");
    const { bytes: more } = frameOf(Buffer.from(JSON.stringify({ ...document, extra: 1 })));
    expect(readFrame(more, binding).kind).toBe("Invalid");
  });

  test("that contradicts itself is neither written nor believed", () => {
    const wrong: OperationResult = { ...applied, uncertain: true };
    expect(encodeFrame(wrong)).toMatchObject({ ok: false, code: "invalid_result" });
    const { bytes } = frameOf(Buffer.from(JSON.stringify(wrong)));
    expect(readFrame(bytes, binding)).toMatchObject({ kind: "Invalid", code: "invalid_result" });
  });
});
