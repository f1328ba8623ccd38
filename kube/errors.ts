import { limits } from "./limits.ts";

/** The closed list of what a call to the API server can end with; a caller reacts to the code, never to the message. */
export type KubeErrorCode =
  | "NotFound"
  | "Conflict"
  | "AlreadyExists"
  | "Forbidden"
  | "Unauthorized"
  | "Invalid"
  | "BadRequest"
  | "Gone"
  | "TooManyRequests"
  | "TooLarge"
  | "Timeout"
  | "Unavailable"
  | "Malformed"
  | "Aborted"
  | "Configuration";

/**
 * Whether the API server may have stored what the request asked for. `no` is only said when an answer of the server
 * (or a connection that was never made) proves it; everything else is `maybe` and is read back, never repeated blind.
 */
export type Committed = "no" | "maybe";

export interface KubeErrorFacts {
  readonly code: KubeErrorCode;
  readonly committed: Committed;
  /** HTTP status of the answer, when there was one. */
  readonly status?: number;
  /** `reason` of the Status object that the server answered with. */
  readonly reason?: string;
  /** What the server asks to wait before another try. */
  readonly retryAfterMs?: number;
}

/** A call to the API server that did not succeed. The message is the server's own and may be shown to the caller of a CLI. */
export class KubeError extends Error {
  readonly code: KubeErrorCode;
  readonly committed: Committed;
  readonly status: number | undefined;
  readonly reason: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(facts: KubeErrorFacts, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "KubeError";
    this.code = facts.code;
    this.committed = facts.committed;
    this.status = facts.status;
    this.reason = facts.reason;
    this.retryAfterMs = facts.retryAfterMs;
  }
}

export function isKubeError(error: unknown, ...codes: readonly KubeErrorCode[]): error is KubeError {
  return error instanceof KubeError && (codes.length === 0 || codes.includes(error.code));
}

/** Why there is no connection to make: what was configured cannot be read, contradicts itself or is not supported. */
export function misconfigured(message: string, cause?: unknown): KubeError {
  return new KubeError({ code: "Configuration", committed: "no" }, message, { cause });
}

/** The answer of `call`, or undefined where the server says that the object does not exist. */
export async function orAbsent<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  }
}

const BY_REASON: Readonly<Record<string, KubeErrorCode>> = {
  AlreadyExists: "AlreadyExists",
  Conflict: "Conflict",
  Expired: "Gone",
  Gone: "Gone",
  Forbidden: "Forbidden",
  Invalid: "Invalid",
  NotFound: "NotFound",
  Unauthorized: "Unauthorized",
  BadRequest: "BadRequest",
  TooManyRequests: "TooManyRequests",
  RequestEntityTooLarge: "TooLarge",
  Timeout: "Timeout",
  ServerTimeout: "Timeout",
};

const BY_STATUS: Readonly<Record<number, KubeErrorCode>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Gone",
  413: "TooLarge",
  422: "Invalid",
  429: "TooManyRequests",
  504: "Timeout",
};

interface StatusObject {
  readonly kind?: unknown;
  readonly message?: unknown;
  readonly reason?: unknown;
  readonly details?: { readonly retryAfterSeconds?: unknown };
}

function statusObject(body: string): StatusObject {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === "object" && value !== null) return value as StatusObject;
  } catch {
    // Proxies in front of an API server answer with plain text; the HTTP status then says all there is.
  }
  return {};
}

/** A server error that comes from admission, which runs before anything is stored. */
const BEFORE_STORAGE = /^Internal error occurred: failed calling webhook /;

/**
 * Judges an answer that is not a success. A 4xx says that nothing was stored; a 5xx may hide a write that went through
 * (an aggregated or overloaded server answers 500 and 504 after the commit), except for a read, which stores nothing.
 */
export function errorOfAnswer(status: number, retryAfter: string | null, body: string, isWrite: boolean): KubeError {
  const object = statusObject(body);
  const reason = typeof object.reason === "string" && object.reason !== "" ? object.reason : undefined;
  const code = (reason === undefined ? undefined : BY_REASON[reason]) ?? BY_STATUS[status] ?? "Unavailable";
  const message =
    typeof object.message === "string" && object.message !== "" ? object.message : `the API server answered ${status}`;
  return new KubeError(
    {
      code,
      committed: isWrite && status >= 500 && !BEFORE_STORAGE.test(message) ? "maybe" : "no",
      status,
      reason,
      retryAfterMs: retryAfterMs(retryAfter, object.details?.retryAfterSeconds),
    },
    message.slice(0, limits.errorBytesMax),
  );
}

/** Judges a Status object that arrives inside a stream (a watch's ERROR event). */
export function errorOfStatus(object: unknown): KubeError {
  const code = (object as { code?: unknown } | null)?.code;
  return errorOfAnswer(typeof code === "number" ? code : 500, null, JSON.stringify(object ?? {}), false);
}

function retryAfterMs(header: string | null, detail: unknown): number | undefined {
  const seconds = header !== null && /^\d{1,6}$/.test(header) ? Number(header) : detail;
  return typeof seconds === "number" && Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

/** Connection errors that prove that no byte of the request reached a server. */
const NEVER_SENT = /ECONNREFUSED|ConnectionRefused|ENOTFOUND|EAI_AGAIN|FailedToOpenSocket|CERT|SELF_SIGNED|UNABLE_TO/i;

/** Judges what `fetch` threw: no answer came, or not the whole of it. */
export function errorOfThrown(thrown: unknown, isWrite: boolean, timedOut: boolean, aborted: boolean): KubeError {
  if (thrown instanceof KubeError) return thrown;
  const text =
    thrown instanceof Error ? `${(thrown as { code?: unknown }).code ?? ""} ${thrown.message}` : String(thrown);
  const committed: Committed = !isWrite || (!timedOut && !aborted && NEVER_SENT.test(text)) ? "no" : "maybe";
  if (aborted) return new KubeError({ code: "Aborted", committed }, "the call was given up because its caller stopped");
  if (timedOut)
    return new KubeError({ code: "Timeout", committed }, "the API server did not answer in time", { cause: thrown });
  // The code alone: the runtime's sentence repeats it and advises on browsers.
  const code = thrown instanceof Error ? (thrown as { code?: unknown }).code : undefined;
  const why = typeof code === "string" ? code : text.trim();
  return new KubeError({ code: "Unavailable", committed }, `the API server could not be reached: ${why}`, {
    cause: thrown,
  });
}
