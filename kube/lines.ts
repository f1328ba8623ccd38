import { KubeError } from "./errors.ts";

/**
 * The lines of a stream, without their line ends, as they arrive. A line longer than the bound ends the stream with
 * `TooLarge`; a last piece without a line end is dropped, because it may be half of one. `onBytes` is called for every
 * piece that arrives, so that the caller can tell a quiet stream from a dead one.
 */
export async function* linesOf(
  body: ReadableStream<Uint8Array>,
  lineBytesMax: number,
  signal: AbortSignal,
  onBytes: () => void,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  for await (const chunk of piecesOf(body, signal)) {
    onBytes();
    let from = 0;
    for (let at = chunk.indexOf(10, from); at !== -1; at = chunk.indexOf(10, from)) {
      const last = chunk.subarray(from, at);
      const line = pendingBytes === 0 ? decoder.decode(last) : decoder.decode(Buffer.concat([...pending, last]));
      pending = [];
      pendingBytes = 0;
      from = at + 1;
      if (line !== "") yield line;
    }
    if (from < chunk.byteLength) {
      pending.push(chunk.slice(from));
      pendingBytes += chunk.byteLength - from;
    }
    if (pendingBytes > lineBytesMax) {
      throw new KubeError(
        { code: "TooLarge", committed: "no" },
        `a line of a stream is longer than ${lineBytesMax} bytes`,
      );
    }
  }
}

/** The last bytes of a stream; at most `readBytesMax` are read over, beyond it `TooLarge`. */
export async function tailOf(
  body: ReadableStream<Uint8Array>,
  tailBytes: number,
  readBytesMax: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const kept: Uint8Array[] = [];
  let keptBytes = 0;
  let readBytes = 0;
  for await (const chunk of piecesOf(body, signal)) {
    readBytes += chunk.byteLength;
    if (readBytes > readBytesMax) {
      throw new KubeError({ code: "TooLarge", committed: "no" }, `a log is longer than ${readBytesMax} bytes`);
    }
    kept.push(chunk);
    keptBytes += chunk.byteLength;
    for (let first = kept[0]; first !== undefined && keptBytes - first.byteLength >= tailBytes; first = kept[0]) {
      kept.shift();
      keptBytes -= first.byteLength;
    }
  }
  const all = Buffer.concat(kept);
  return all.byteLength > tailBytes ? all.subarray(all.byteLength - tailBytes) : all;
}

/** The pieces of a stream until it ends or the signal fires, which is an error: what was read is not the whole. */
async function* piecesOf(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  const stop = (): void => {
    reader.cancel().catch(() => undefined);
  };
  signal.addEventListener("abort", stop, { once: true });
  try {
    while (!signal.aborted) {
      const { done, value } = await reader.read();
      if (done) break;
      yield value;
    }
    signal.throwIfAborted();
  } finally {
    signal.removeEventListener("abort", stop);
    reader.cancel().catch(() => undefined);
  }
}
