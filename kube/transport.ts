import type { Connection, Credentials } from "./config.ts";
import { errorOfAnswer, errorOfThrown, KubeError } from "./errors.ts";
import type { RawFetch } from "./fetch.bun.ts";
import { limits } from "./limits.ts";

/** Time, waiting and randomness, created once in `main` and handed down, so that tests own them. */
export interface Ports {
  /** Milliseconds of a clock that never steps. */
  monotonicMs(): number;
  /** A number in [0, 1). */
  random(): number;
  /** Ends after `ms`, or at once when the signal fires; it never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query below the server's base URL, starting with a slash. */
  readonly path: string;
  readonly body?: string;
  readonly contentType?: string;
  readonly accept?: string;
  /** From sending to the last byte; a stream's deadline ends with its headers. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** A connection of its own, for the one request that must not meet a pooled connection that was just closed. */
  readonly ownConnection?: boolean;
}

/** Sends requests to one API server: credentials, deadlines, refusals that are safe to repeat, typed errors. */
export interface Transport {
  /** The whole answer as text. Errors: KubeError. */
  text(call: Call): Promise<string>;
  /** The answer's body as it arrives; the caller ends it by its signal. Errors: KubeError. */
  stream(call: Call): Promise<ReadableStream<Uint8Array>>;
}

export function transportTo(connection: Connection, fetch: RawFetch, userAgent: string, ports: Ports): Transport {
  let held: { readonly at: number; readonly value: Promise<Credentials> } | undefined;

  function credentials(fresh: boolean): Promise<Credentials> {
    const now = ports.monotonicMs();
    if (held === undefined || fresh || now - held.at > limits.credentialsMaxAgeMs) {
      const value = connection.credentials();
      held = { at: now, value };
      // A failed reading is not kept: the file may be in the middle of being replaced.
      value.catch(() => {
        if (held?.value === value) held = undefined;
      });
    }
    return held.value;
  }

  async function once(call: Call, signal: AbortSignal, fresh: boolean): Promise<Response> {
    const known = await credentials(fresh);
    const headers: Record<string, string> = {
      ...known.headers,
      accept: call.accept ?? "application/json",
      "user-agent": userAgent,
      ...(connection.unpacked === true ? { "accept-encoding": "identity" } : {}),
    };
    if (call.body !== undefined) headers["content-type"] = call.contentType ?? "application/json";
    return await fetch(connection.server + call.path, {
      method: call.method,
      headers,
      body: call.body,
      signal,
      tls: connection.server.startsWith("https:") ? known.tls : undefined,
      proxyUrl: connection.proxyUrl,
      pooled: call.ownConnection !== true,
    });
  }

  /** Repeats only what the server certainly refused: 429, and 401 once with credentials read anew. */
  async function answered(call: Call, deadline: Deadline): Promise<Response> {
    let fresh = false;
    for (let refusals = 0; ; refusals++) {
      const response = await once(call, deadline.signal, fresh);
      if (response.ok) return response;
      const body = await readText(response, limits.errorBytesMax, true);
      const error = errorOfAnswer(response.status, response.headers.get("retry-after"), body, call.method !== "GET");
      const waitMs = repeatAfterMs(error, fresh);
      if (refusals >= limits.refusedRetriesMax || waitMs === undefined || waitMs >= deadline.leftMs()) throw error;
      fresh = error.code === "Unauthorized";
      await ports.sleep(waitMs, deadline.signal);
      deadline.signal.throwIfAborted();
    }
  }

  async function guarded<T>(call: Call, defaultMs: number, work: (deadline: Deadline) => Promise<T>): Promise<T> {
    const deadline = new Deadline(call.timeoutMs ?? defaultMs, call.signal, ports);
    try {
      return await work(deadline);
    } catch (error) {
      deadline.release();
      throw errorOfThrown(error, call.method !== "GET", deadline.timedOut, call.signal?.aborted === true);
    } finally {
      deadline.disarm();
    }
  }

  return {
    text: (call) =>
      guarded(call, limits.requestTimeoutMs, async (deadline) =>
        readText(await answered(call, deadline), limits.answerBytesMax, false).finally(() => deadline.release()),
      ),
    stream: (call) =>
      guarded(call, limits.watchStartMsMax, async (deadline) => {
        const response = await answered(call, deadline);
        return response.body ?? new Response("").body ?? emptyStream();
      }),
  };
}

function repeatAfterMs(error: KubeError, wasFresh: boolean): number | undefined {
  if (error.code === "Unauthorized") return wasFresh ? undefined : 0;
  if (error.status !== 429) return undefined;
  const waitMs = error.retryAfterMs ?? limits.retryAfterMsDefault;
  return waitMs <= limits.retryAfterMsMax ? waitMs : undefined;
}

function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() });
}

/** One request's time, joined with the caller's own wish to stop. */
class Deadline {
  readonly #controller = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #endsAt: number;
  readonly #outer: AbortSignal | undefined;
  readonly #onOuter = (): void => this.#controller.abort();
  readonly #ports: Ports;
  timedOut = false;

  constructor(timeoutMs: number, outer: AbortSignal | undefined, ports: Ports) {
    this.#ports = ports;
    this.#endsAt = ports.monotonicMs() + timeoutMs;
    this.#timer = setTimeout(() => {
      this.timedOut = true;
      this.#controller.abort();
    }, timeoutMs);
    this.#outer = outer;
    if (outer?.aborted === true) this.#controller.abort();
    outer?.addEventListener("abort", this.#onOuter, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  leftMs(): number {
    return this.#endsAt - this.#ports.monotonicMs();
  }

  /** Ends the time; the caller's own signal goes on to end a stream that was handed out. */
  disarm(): void {
    clearTimeout(this.#timer);
  }

  release(): void {
    this.#outer?.removeEventListener("abort", this.#onOuter);
  }
}

/** Reads a body up to a bound; beyond it the rest is dropped (`cut`) or the answer is refused. */
async function readText(response: Response, bytesMax: number, cut: boolean): Promise<string> {
  const declared = Number(response.headers.get("content-length") ?? "0");
  if (declared > 0 && declared <= bytesMax) return await response.text();
  if (response.body === null) return "";
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > bytesMax) {
      if (cut) break;
      throw new KubeError(
        { code: "TooLarge", committed: "maybe" },
        `an answer of the API server is larger than ${bytesMax} bytes`,
      );
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
