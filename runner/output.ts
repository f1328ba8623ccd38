import { writeSync } from "node:fs";
import { WRITE_RETRY_MS, WRITE_WAIT_MS } from "./limits.ts";

const STDOUT = 1;

/** One line of the Pod's log, before any frame; on standard output, so that nothing can get between the frame's lines. */
export function writeLog(line: string): void {
  writeAll(Buffer.from(`${line}\n`));
}

/** Writes all bytes to standard output synchronously; a full pipe is waited for within a bound. */
export function writeAll(bytes: Buffer): boolean {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  let at = 0;
  let waitedMs = 0;
  while (at < bytes.length) {
    try {
      at += writeSync(STDOUT, bytes, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN" || waitedMs > WRITE_WAIT_MS) return false;
      Atomics.wait(pause, 0, 0, WRITE_RETRY_MS);
      waitedMs += WRITE_RETRY_MS;
    }
  }
  return true;
}
