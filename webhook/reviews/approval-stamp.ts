import type { PatchOperation, ReviewRequest, Verdict } from "../review.ts";
import { deny } from "../review.ts";
import { identityOf } from "./identity.ts";

/**
 * Stamps who approved, when, and the request that did it, over whatever the client sent (seed 003: an approval's identity
 * comes from the API server).
 */
export function stampApproval(request: ReviewRequest, now: Date): Verdict {
  if (request.user.username === "") return deny("an approval needs an authenticated user");
  if (typeof request.object["spec"] !== "object" || request.object["spec"] === null) {
    return deny("the approval has no spec; name schemaRef, planRef and planFingerprint", 422);
  }
  const stamp = (field: string, value: unknown): PatchOperation => ({ op: "add", path: `/spec/${field}`, value });
  return {
    allowed: true,
    patch: [
      stamp("approver", identityOf(request.user)),
      stamp("approvedAt", now.toISOString()),
      stamp("mutationRequestUID", request.uid),
    ],
  };
}
