/** Who sent a request, as the API server authenticated them. */
export interface Requester {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
}

/** An object as it came in an admission request: metadata is typed, everything else is parsed by the rule that reads it. */
export interface ReviewedObject {
  readonly metadata: {
    readonly name?: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly generation?: number;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly {
      readonly apiVersion: string;
      readonly kind: string;
      readonly name: string;
      readonly uid: string;
      readonly controller?: boolean;
    }[];
  };
  readonly [field: string]: unknown;
}

export interface ReviewRequest {
  readonly uid: string;
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: Requester;
  readonly object: ReviewedObject;
  /** Present on UPDATE. */
  readonly oldObject?: ReviewedObject;
}

/** One operation of a JSON patch (RFC 6902). */
export interface PatchOperation {
  readonly op: "add" | "replace" | "remove";
  readonly path: string;
  readonly value?: unknown;
}

/** The answer to one review. A refusal names the one thing wrong and what to do; never SQL, a row or a secret. */
export type Verdict =
  | { readonly allowed: true; readonly patch?: readonly PatchOperation[] }
  | { readonly allowed: false; readonly code: number; readonly message: string };

export const ALLOWED: Verdict = { allowed: true };

/** A plain refusal. HTTP code 403: it is what an API client expects of a policy. */
export function deny(message: string, code = 403): Verdict {
  return { allowed: false, code, message };
}

/** Runs checks in order. @returns the first sentence, or undefined when all hold */
export function firstOf(checks: readonly (() => string | undefined)[]): string | undefined {
  for (const check of checks) {
    const wrong = check();
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** @returns one segment of a JSON pointer, escaped */
export function pointer(segment: string): string {
  return segment.replaceAll("~", "~0").replaceAll("/", "~1");
}
