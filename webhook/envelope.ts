import * as v from "valibot";
import { limits } from "./limits.ts";
import type { ReviewRequest, Verdict } from "./review.ts";

const text = v.optional(v.string(), "");
const strings = v.optional(v.nullable(v.record(v.string(), v.string())));

const ObjectShape = v.looseObject({
  metadata: v.looseObject({
    name: v.optional(v.string()),
    namespace: v.optional(v.string()),
    uid: v.optional(v.string()),
    deletionTimestamp: v.optional(v.nullable(v.string())),
    labels: strings,
    annotations: strings,
    finalizers: v.optional(v.nullable(v.array(v.string()))),
    ownerReferences: v.optional(
      v.nullable(
        v.array(
          v.looseObject({
            apiVersion: v.string(),
            kind: v.string(),
            name: v.string(),
            uid: v.string(),
            controller: v.optional(v.nullable(v.boolean())),
          }),
        ),
      ),
    ),
  }),
});

const ReviewShape = v.object({
  apiVersion: v.literal("admission.k8s.io/v1"),
  kind: v.literal("AdmissionReview"),
  request: v.object({
    uid: v.pipe(v.string(), v.minLength(1), v.maxLength(128)),
    operation: v.picklist(["CREATE", "UPDATE", "DELETE", "CONNECT"]),
    resource: v.object({ resource: v.string() }),
    subResource: text,
    namespace: text,
    name: text,
    userInfo: v.object({
      username: text,
      uid: text,
      groups: v.optional(v.nullable(v.array(v.string()))),
    }),
    object: v.optional(v.nullable(ObjectShape)),
    oldObject: v.optional(v.nullable(ObjectShape)),
  }),
});

/** The review of a request body, or undefined where it is no AdmissionReview v1 with an object. */
export function parseReview(body: unknown): ReviewRequest | undefined {
  const parsed = v.safeParse(ReviewShape, body);
  if (!parsed.success) return undefined;
  const { request } = parsed.output;
  const { userInfo, object, oldObject } = request;
  return {
    uid: request.uid,
    operation: request.operation,
    resource: request.resource.resource,
    subresource: request.subResource,
    namespace: request.namespace,
    name: request.name,
    user: { username: userInfo.username, uid: userInfo.uid, groups: userInfo.groups ?? [] },
    object: withoutNulls(object ?? oldObject ?? { metadata: {} }),
    ...(oldObject === null || oldObject === undefined ? {} : { oldObject: withoutNulls(oldObject) }),
  };
}

/** Go writes an absent map or list as null; here absent is absent. */
function withoutNulls(object: v.InferOutput<typeof ObjectShape>): ReviewRequest["object"] {
  const metadata = Object.fromEntries(Object.entries(object.metadata).filter(([, value]) => value !== null));
  return { ...object, metadata } as ReviewRequest["object"];
}

/** The AdmissionReview that answers a request. */
export function answerOf(uid: string, verdict: Verdict): object {
  const response = verdict.allowed ? allowedResponse(verdict) : refusedResponse(verdict);
  return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { uid, ...response } };
}

function allowedResponse(verdict: Extract<Verdict, { allowed: true }>): object {
  if (verdict.patch === undefined || verdict.patch.length === 0) return { allowed: true };
  const patch = Buffer.from(JSON.stringify(verdict.patch), "utf8").toString("base64");
  return { allowed: true, patchType: "JSONPatch", patch };
}

const REASONS: Readonly<Record<number, string>> = {
  400: "BadRequest",
  403: "Forbidden",
  404: "NotFound",
  422: "Invalid",
  500: "InternalError",
};

function refusedResponse({ code, message }: Extract<Verdict, { allowed: false }>): object {
  return {
    allowed: false,
    status: {
      status: "Failure",
      code,
      reason: REASONS[code] ?? "Forbidden",
      message: message.slice(0, limits.messageLength),
    },
  };
}
