import { createHash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import {
  FRAME_CANDIDATES_MAX,
  FRAME_DECODED_BYTES_MAX,
  FRAME_ENCODED_BYTES_MAX,
  FRAME_HEADER_BYTES_MAX,
  FRAME_INTERLEAVED_BYTES_MAX,
} from "./limits.ts";
import { type OperationResult, parseResult, resultProblem, type WireOperation } from "./result.ts";

/**
 * The result frame on the Pod's standard output (reference, runner contract 2.1 and 2.3): a header line with byte length
 * and SHA-256, one payload line, a footer line. The payload is JSON, or `gzip:` and the base64 of its gzip when that is
 * smaller, so that the largest legal plan fits a kubelet's default container log.
 */
const HEADER = Buffer.from("PTAH_RUNNER_RESULT_V1 ");
const FOOTER = Buffer.from("PTAH_RUNNER_RESULT_END_V1");
const GZIP = "gzip:";
const LF = 0x0a;

export type EncodedFrame =
  | { readonly ok: true; readonly bytes: Buffer; readonly payloadDigest: string }
  | { readonly ok: false; readonly code: "frame_too_large" | "invalid_result"; readonly problem: string };

/**
 * The frame of a result. Fails with `frame_too_large` when even the compressed payload is above the limit (the runner
 * then reports `plan_too_large` instead), and with `invalid_result` when the result contradicts itself.
 */
export function encodeFrame(result: OperationResult): EncodedFrame {
  const problem = resultProblem(result);
  if (problem !== undefined) return { ok: false, code: "invalid_result", problem };
  const json = Buffer.from(JSON.stringify(result));
  const packed = Buffer.from(GZIP + gzipSync(json, { level: 6 }).toString("base64"));
  const payload = packed.length < json.length ? packed : json;
  if (payload.length > FRAME_ENCODED_BYTES_MAX) {
    return { ok: false, code: "frame_too_large", problem: `the encoded result has ${payload.length} bytes` };
  }
  return { ok: true, ...frameOf(payload) };
}

/** The frame around a payload that holds no line break; `payloadDigest` is what the summary binds. */
export function frameOf(payload: Buffer): { readonly bytes: Buffer; readonly payloadDigest: string } {
  const hex = createHash("sha256").update(payload).digest("hex");
  const header = Buffer.from(`${HEADER}${payload.length} ${hex}\n`);
  return { bytes: Buffer.concat([header, payload, Buffer.from(`\n${FOOTER}\n`)]), payloadDigest: `sha256:${hex}` };
}

export interface FrameBinding {
  readonly operation: WireOperation;
  readonly operationID: string;
}

export type FrameProblem = "malformed" | "too_large" | "wrong_digest" | "wrong_operation" | "invalid_result";

/**
 * What a container log holds for one operation.
 * - `Found`: the last valid frame that is bound to it.
 * - `Foreign`: no valid frame, but a refusal by a runner of another protocol version: the executor never started.
 * - `Missing`: nothing (complete) yet; it may still arrive and the log is to be read again within the frame's wait.
 * - `Invalid`: a frame that can never become valid.
 */
export type FrameReading =
  | { readonly kind: "Found"; readonly result: OperationResult; readonly payloadDigest: string }
  | { readonly kind: "Foreign"; readonly protocolVersion: number }
  | { readonly kind: "Missing"; readonly code: "not_found" | "incomplete"; readonly headerDigests: readonly string[] }
  | { readonly kind: "Invalid"; readonly code: FrameProblem; readonly problem: string };

type Candidate =
  | { readonly kind: "payload"; readonly payload: Buffer; readonly digest: string; readonly end: number }
  | { readonly kind: "incomplete"; readonly digest?: string }
  | { readonly kind: "invalid"; readonly code: FrameProblem; readonly problem: string };

/**
 * Reads the frame of one operation out of a merged container log. Whole lines of other output before, inside and after
 * the frame are tolerated within bounds; the last valid frame wins; total work is bounded whatever the log holds.
 */
export function readFrame(log: Uint8Array, binding: FrameBinding): FrameReading {
  const bytes = Buffer.from(log.buffer, log.byteOffset, log.byteLength);
  const seen: Seen = { incomplete: false, headerDigests: [] };
  let from = bytes.length;
  // From the end, so that the last frame is tried first and noise before it costs nothing.
  for (let tried = 0; tried < FRAME_CANDIDATES_MAX && from > 0; ) {
    from = bytes.lastIndexOf(HEADER, from - 1);
    if (from < 0) break;
    // Inside a line it is text: of a payload that is not compressed, somebody's comment that says so.
    if (from > 0 && bytes[from - 1] !== LF) continue;
    tried += 1;
    const found = judge(readCandidate(bytes, from), binding, seen);
    if (found !== undefined) return found;
  }
  if (seen.foreign !== undefined) return { kind: "Foreign", protocolVersion: seen.foreign };
  if (seen.incomplete) return { kind: "Missing", code: "incomplete", headerDigests: seen.headerDigests };
  if (seen.invalid !== undefined) return { kind: "Invalid", ...seen.invalid };
  return { kind: "Missing", code: "not_found", headerDigests: [] };
}

/** What the candidates tried so far said, while none of them was the frame. */
interface Seen {
  incomplete: boolean;
  foreign?: number;
  invalid?: { readonly code: FrameProblem; readonly problem: string };
  readonly headerDigests: string[];
}

/** The frame, if this candidate is it; else notes what it was. */
function judge(candidate: Candidate | undefined, binding: FrameBinding, seen: Seen): FrameReading | undefined {
  if (candidate === undefined) return undefined;
  if (candidate.kind === "incomplete") {
    seen.incomplete = true;
    if (candidate.digest !== undefined) seen.headerDigests.push(candidate.digest);
    return undefined;
  }
  if (candidate.kind === "invalid") {
    seen.invalid ??= { code: candidate.code, problem: candidate.problem };
    return undefined;
  }
  const read = readPayload(candidate.payload, binding);
  if (read.kind === "result") return { kind: "Found", result: read.result, payloadDigest: candidate.digest };
  if (read.kind === "foreign") seen.foreign ??= read.protocolVersion;
  else seen.invalid ??= { code: read.code, problem: read.problem };
  return undefined;
}

/** One candidate at a marker; undefined for marker-like noise that is no header. */
function readCandidate(bytes: Buffer, at: number): Candidate | undefined {
  const start = at + HEADER.length;
  const end = bytes.indexOf(LF, start);
  if (end < 0) return bytes.length - start <= FRAME_HEADER_BYTES_MAX ? { kind: "incomplete" } : undefined;
  if (end - start > FRAME_HEADER_BYTES_MAX) return undefined;
  const fields = /^(0|[1-9][0-9]{0,15}) ([0-9a-f]{64})$/.exec(bytes.toString("latin1", start, end));
  if (fields === null) return undefined;
  const length = Number(fields[1]);
  const hex = fields[2] ?? "";
  if (length > FRAME_ENCODED_BYTES_MAX) {
    return { kind: "invalid", code: "too_large", problem: `a frame declares ${length} bytes` };
  }
  return findPayload(bytes, end + 1, length, hex);
}

/** The line of exactly the declared length and hash, then the footer line; each after at most 64 KiB of other lines. */
function findPayload(bytes: Buffer, from: number, length: number, hex: string): Candidate {
  const digest = `sha256:${hex}`;
  let mismatch = false;
  let at = from;
  while (at - from <= FRAME_INTERLEAVED_BYTES_MAX) {
    const lineEnd = bytes.indexOf(LF, at);
    if (lineEnd < 0) return { kind: "incomplete", digest };
    const line = bytes.subarray(at, lineEnd);
    if (line.length === length) {
      if (createHash("sha256").update(line).digest("hex") === hex) return findFooter(bytes, lineEnd + 1, line, digest);
      mismatch = true;
    } else if (line.equals(FOOTER)) {
      return mismatch
        ? { kind: "invalid", code: "wrong_digest", problem: "a frame's payload does not have its digest" }
        : { kind: "invalid", code: "malformed", problem: "a frame ends without a payload of its declared length" };
    }
    at = lineEnd + 1;
  }
  if (mismatch) return { kind: "invalid", code: "wrong_digest", problem: "a frame's payload does not have its digest" };
  return { kind: "invalid", code: "malformed", problem: "a frame header is not followed by its payload" };
}

function findFooter(bytes: Buffer, from: number, payload: Buffer, digest: string): Candidate {
  let at = from;
  while (at - from <= FRAME_INTERLEAVED_BYTES_MAX) {
    const lineEnd = bytes.indexOf(LF, at);
    if (lineEnd < 0) return { kind: "incomplete", digest };
    if (bytes.subarray(at, lineEnd).equals(FOOTER)) return { kind: "payload", payload, digest, end: lineEnd + 1 };
    at = lineEnd + 1;
  }
  return { kind: "invalid", code: "malformed", problem: "a frame's payload is not followed by its footer" };
}

type Payload =
  | { readonly kind: "result"; readonly result: OperationResult }
  | { readonly kind: "foreign"; readonly protocolVersion: number }
  | { readonly kind: "invalid"; readonly code: FrameProblem; readonly problem: string };

function readPayload(payload: Buffer, binding: FrameBinding): Payload {
  let document: unknown;
  try {
    document = JSON.parse(unpack(payload).toString("utf8"));
  } catch {
    return { kind: "invalid", code: "malformed", problem: "a frame's payload cannot be decoded within its bound" };
  }
  const foreign = foreignVersion(document, binding);
  if (foreign !== undefined) return { kind: "foreign", protocolVersion: foreign };
  const parsed = parseResult(document);
  if (!parsed.ok) return { kind: "invalid", code: "invalid_result", problem: parsed.problem };
  const { result } = parsed;
  if (result.operation !== binding.operation || result.operationId !== binding.operationID) {
    return { kind: "invalid", code: "wrong_operation", problem: "a frame belongs to another operation" };
  }
  return { kind: "result", result };
}

function unpack(payload: Buffer): Buffer {
  if (payload.subarray(0, GZIP.length).toString("latin1") !== GZIP) return payload;
  const text = payload.toString("latin1", GZIP.length);
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) throw new Error("not base64");
  return gunzipSync(Buffer.from(text, "base64"), { maxOutputLength: FRAME_DECODED_BYTES_MAX });
}

/** The one document of another protocol version that is readable: exactly six keys, refused before the child. */
function foreignVersion(document: unknown, binding: FrameBinding): number | undefined {
  if (typeof document !== "object" || document === null) return undefined;
  const keys = Object.keys(document).sort().join(",");
  if (keys !== "childExitCode,error,operation,operationId,protocolVersion,stdout") return undefined;
  const d = document as Record<string, unknown>;
  const code =
    typeof d["error"] === "object" && d["error"] !== null ? (d["error"] as Record<string, unknown>)["code"] : "";
  const bound = d["operation"] === binding.operation && d["operationId"] === binding.operationID;
  if (!bound || d["childExitCode"] !== -1 || code !== "runner_protocol_mismatch") return undefined;
  return typeof d["protocolVersion"] === "number" ? d["protocolVersion"] : undefined;
}
