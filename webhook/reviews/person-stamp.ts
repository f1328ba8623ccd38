import { limits } from "../limits.ts";
import type { PatchOperation, ReviewRequest, Verdict } from "../review.ts";
import { deny } from "../review.ts";
import { identityOf } from "./identity.ts";
import { same } from "./same.ts";

/** An object by which a person says something, and where admission writes who said it and when. */
export interface PersonsWord {
  /** With its article, for sentences. */
  readonly what: string;
  /** What its author writes. */
  readonly named: string;
  readonly by: string;
  readonly at: string;
}

export const APPROVAL_OF_SCHEMA: PersonsWord = {
  what: "an approval",
  named: "schemaRef, planRef and planFingerprint",
  by: "approver",
  at: "approvedAt",
};
export const APPROVAL_OF_MIGRATION: PersonsWord = {
  ...APPROVAL_OF_SCHEMA,
  named: "migrationRef, planRef and planFingerprint",
};
export const ACKNOWLEDGMENT: PersonsWord = {
  what: "an acknowledgment",
  named: "migrationRef and operationID",
  by: "acknowledgedBy",
  at: "acknowledgedAt",
};

/**
 * Stamps who said it, when, and the request that did it, over whatever the client sent (seed 003: an approval's identity
 * comes from the API server).
 */
export function stampPerson(request: ReviewRequest, now: Date, word: PersonsWord): Verdict {
  if (request.user.username === "") return deny(`${word.what} needs an authenticated user`);
  if (typeof request.object["spec"] !== "object" || request.object["spec"] === null) {
    return deny(`${word.what} needs a spec; name ${word.named}`, 422);
  }
  const stamp = (field: string, value: unknown): PatchOperation => ({ op: "add", path: `/spec/${field}`, value });
  return {
    allowed: true,
    patch: [
      stamp(word.by, identityOf(request.user)),
      stamp(word.at, now.toISOString()),
      stamp("mutationRequestUID", request.uid),
    ],
  };
}

/**
 * The stamps must be this request's own: a client could have sent any if the mutating review had been left out.
 * @returns what is wrong and what to do, or undefined
 */
export function stampProblem(request: ReviewRequest, now: Date, { by, at }: PersonsWord): string | undefined {
  const spec = request.object["spec"] as Readonly<Record<string, unknown>>;
  if (request.user.username === "" || !same(spec[by], identityOf(request.user))) {
    return `${by} was not stamped from this request; do not send spec.${by}, and check that the mutating webhook is installed`;
  }
  if (!(Math.abs(Date.parse(String(spec[at])) - now.getTime()) <= limits.clockSkewMs)) {
    return `${at} is not the time of this request; check the clocks of the webhook's nodes`;
  }
  return undefined;
}

/** An update may change everything of it but what was said. */
export function keepsWord(request: ReviewRequest, { what }: PersonsWord): string | undefined {
  return same(request.object["spec"], request.oldObject?.["spec"])
    ? undefined
    : `${what}'s spec cannot be changed; create another one`;
}
