import { closeSync, constants, openSync, writeSync } from "node:fs";
import { encodeFrame, frameOf } from "../workload/frame.ts";
import { ERROR_MESSAGE_BYTES_MAX, RUNNER_PROTOCOL_VERSION } from "../workload/limits.ts";
import { isMutating, type OperationResult, type WireOperation } from "../workload/result.ts";
import { encodeSummary } from "../workload/summary.ts";
import { writeAll } from "./output.ts";

/**
 * Writes summary and frame of a result: the summary first, because the frame is the last thing of a process. A result that
 * does not fit its frame is replaced by one that says so.
 * @returns whether a complete frame was written
 */
export function emit(result: OperationResult, terminationLog: string): boolean {
  const encoded = encodeFrame(result);
  if (encoded.ok) {
    writeTerminationLog(terminationLog, encodeSummary(result, encoded.payloadDigest));
    return writeAll(encoded.bytes);
  }
  const code = encoded.code === "frame_too_large" ? "plan_too_large" : "internal_error";
  const message =
    code === "plan_too_large"
      ? "The plan is too large to be carried out of the Pod, even compressed. Split the change into several steps."
      : "The runner produced a result that contradicts itself; this is a defect of the operator.";
  const fallback: OperationResult = {
    ...errorResult(result.operation, result.operationId, { code, message }),
    childExitCode: result.childExitCode,
    childStarted: result.childStarted,
    coordinationDigest: result.coordinationDigest,
    targetIdentityDigest: result.targetIdentityDigest,
    ...openOutcome(result.operation, result.childStarted),
  };
  const replaced = encodeFrame(fallback);
  if (!replaced.ok) return false;
  writeTerminationLog(terminationLog, encodeSummary(fallback, replaced.payloadDigest));
  return writeAll(replaced.bytes);
}

/**
 * Whatever ends an Apply after its child was started leaves the outcome open (reference 2.5); of the two families only a
 * migration's decoded run says otherwise.
 */
export function openOutcome(operation: WireOperation, childStarted: boolean): Partial<OperationResult> {
  return isMutating(operation) && childStarted ? { mutationStarted: true, uncertain: true } : {};
}

/** A result that is nothing but an error before the child. */
export function errorResult(
  operation: WireOperation,
  operationId: string,
  error: { readonly code: string; readonly message: string },
): OperationResult {
  return {
    protocolVersion: RUNNER_PROTOCOL_VERSION,
    operation,
    operationId,
    childExitCode: -1,
    childStarted: false,
    stdout: "",
    error: { code: error.code, message: bounded(error.message) },
  };
}

/** The six-key document that a manager of any protocol version can read: the executor never started. */
export function emitProtocolMismatch(operation: WireOperation, operationId: string): boolean {
  const document = {
    childExitCode: -1,
    error: {
      code: "runner_protocol_mismatch",
      message: `The runner speaks protocol ${RUNNER_PROTOCOL_VERSION}, the Job was built for another. The executor was not started.`,
    },
    operation,
    operationId,
    protocolVersion: RUNNER_PROTOCOL_VERSION,
    stdout: "",
  };
  return writeAll(frameOf(Buffer.from(JSON.stringify(document))).bytes);
}

/** A message of at most 4 KiB of UTF-8. */
export function bounded(message: string): string {
  const bytes = Buffer.from(message.toWellFormed());
  if (bytes.length <= ERROR_MESSAGE_BYTES_MAX) return bytes.toString("utf8");
  const cut = bytes.subarray(0, ERROR_MESSAGE_BYTES_MAX - 3).toString("utf8");
  return `${cut.replace(/\uFFFD$/, "")}...`;
}

/** The kubelet made the file; where there is none (outside a Pod) nothing is written and nothing is lost. */
export function writeTerminationLog(path: string, text: string): void {
  try {
    const file = openSync(path, constants.O_WRONLY | constants.O_TRUNC);
    try {
      writeSync(file, text);
    } finally {
      closeSync(file);
    }
  } catch {
    // The frame is the result; the summary only helps when that is lost.
  }
}
