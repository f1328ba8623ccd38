/** Types that several kinds share. Bounds and patterns are the API's; the page that fixes them is docs/api.md. */
import * as v from "valibot";
import { atomic, int, kube, opt, pattern, req, text } from "./meta.ts";

export const GROUP = "operator.ptah.run";
export const VERSION = "v1alpha1";
export const API_VERSION = `${GROUP}/${VERSION}`;

/** `sha256:` and 64 hex digits. */
export const Digest = pattern(/^sha256:[0-9a-f]{64}$/, 71);
export type Digest = v.InferOutput<typeof Digest>;

/** Names one execution binding or one holding of a Lease; random, never reused. */
export const Epoch = pattern(/^v1-[0-9a-f]{32}$/, 35);
export type Epoch = v.InferOutput<typeof Epoch>;

/** An image reference pinned by digest. */
export const PinnedImage = pattern(/^[^\s@]+@sha256:[0-9a-f]{64}$/, 512);
export type PinnedImage = v.InferOutput<typeof PinnedImage>;

/** One line of text: no control characters, no space at either end. */
export const TRIMMED = /^[^\s\p{Cc}]([^\p{Cc}]*[^\s\p{Cc}])?$/u;

/** A build revision: no control characters, no space at either end. */
export const Revision = pattern(TRIMMED, 128);
export type Revision = v.InferOutput<typeof Revision>;

/** An RFC 3339 instant. */
export const Instant = v.pipe(v.string(), kube<string>({ format: "date-time" }));
export type Instant = v.InferOutput<typeof Instant>;

export const ObjectName = text(1, 253);
export const ObjectUid = text(1, 128);

/** The database engine's name; open, because an engine is refused by name and not by shape. */
export const DatabaseEngine = pattern(/^[A-Za-z][A-Za-z0-9._-]*$/, 63);
export type DatabaseEngine = v.InferOutput<typeof DatabaseEngine>;

/** One object of the same namespace, and no other that takes its name later. */
export const ImmutableObjectReference = v.object({
  name: req("Name of the object, in the same namespace.", ObjectName),
  uid: req("UID of the object; another object with the same name is not meant.", ObjectUid),
});
export type ImmutableObjectReference = v.InferOutput<typeof ImmutableObjectReference>;

const selectorRules = {
  rules: [
    { rule: "self.name.size() > 0 && self.key.size() > 0", message: "name and key must not be empty" },
    { rule: "!has(self.optional) || self.optional != true", message: "an optional selector is not supported" },
  ],
} as const;

const selector = (kind: string) =>
  v.pipe(
    v.object({
      name: req(`Name of the ${kind}, in the same namespace.`, ObjectName),
      key: req(`Key in the ${kind}.`, text(1, 253)),
      optional: opt("Must not be true: what is named here has to exist.", v.boolean()),
    }),
    kube<{ name: string; key: string; optional?: boolean | undefined }>(selectorRules),
  );

/** One key of a Secret. The manager itself may not read it. */
export const SecretKeySelector = selector("Secret");
export type SecretKeySelector = v.InferOutput<typeof SecretKeySelector>;

/** One key of a ConfigMap. */
export const ConfigMapKeySelector = selector("ConfigMap");
export type ConfigMapKeySelector = v.InferOutput<typeof ConfigMapKeySelector>;

/** Who decided, as the API server authenticated them. Always stamped by admission, whatever the client sent. */
export const ApprovalIdentity = v.object({
  username: req("Authenticated user name.", text(1, 1024)),
  uid: opt("Authenticated user UID, where the authenticator gives one.", v.pipe(v.string(), v.maxLength(1024))),
  groups: opt("Authenticated groups, sorted, without repeats.", atomic(v.pipe(v.string(), v.maxLength(1024)), 64)),
});
export type ApprovalIdentity = v.InferOutput<typeof ApprovalIdentity>;

/** What a plan changes about who may do what; such a plan always waits for a person. */
export const PrivilegeChange = v.picklist([
  "Grant",
  "Revoke",
  "RoleMembership",
  "Role",
  "Ownership",
  "RowSecurityPolicy",
  "SecurityDefiner",
  "Definer",
  "FunctionReplacement",
]);
export type PrivilegeChange = v.InferOutput<typeof PrivilegeChange>;

/** When a plan may run. */
export const ApplyPolicy = v.picklist(["Never", "OnApproval", "Always"]);
export type ApplyPolicy = v.InferOutput<typeof ApplyPolicy>;

/** The severities of a statement or a finding, mildest first. */
export const SEVERITIES = ["safe", "info", "warning", "error", "destructive"] as const;
export const Severity = v.picklist(SEVERITIES);
export type Severity = v.InferOutput<typeof Severity>;

export const DriftSeverity = v.picklist(["all", "destructive"]);
export type DriftSeverity = v.InferOutput<typeof DriftSeverity>;

export const TransactionMode = v.picklist(["all", "file", "none"]);
export type TransactionMode = v.InferOutput<typeof TransactionMode>;

/** A condition as every Kubernetes API has it. */
export const Condition = v.object({
  type: req("Type of the condition; its meaning and polarity are in docs/reasons.md.", text(1, 316)),
  status: req("Whether it holds.", v.picklist(["True", "False", "Unknown"])),
  observedGeneration: opt("The generation of the resource this condition was computed from.", int(0)),
  lastTransitionTime: req("When the status last changed.", Instant),
  reason: req(
    "Why, as one of the stable words of docs/reasons.md; `kubectl ptah explain <reason>` says what to do.",
    pattern(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/, 1024),
  ),
  message: req("What happened and, where a person must act, what to do next.", v.pipe(v.string(), v.maxLength(32768))),
});
export type Condition = v.InferOutput<typeof Condition>;
export type ConditionStatus = Condition["status"];

/** The parts of metadata that anything here reads. */
export const ObjectMeta = v.object({
  name: v.string(),
  namespace: v.optional(v.string(), ""),
  uid: v.optional(v.string(), ""),
  resourceVersion: v.optional(v.string(), ""),
  generation: v.optional(v.number(), 0),
  creationTimestamp: v.optional(v.string()),
  deletionTimestamp: v.optional(v.string()),
  labels: v.optional(v.record(v.string(), v.string()), {}),
  annotations: v.optional(v.record(v.string(), v.string()), {}),
  finalizers: v.optional(v.array(v.string()), []),
  ownerReferences: v.optional(
    v.array(
      v.object({
        apiVersion: v.string(),
        kind: v.string(),
        name: v.string(),
        uid: v.string(),
        controller: v.optional(v.boolean()),
        blockOwnerDeletion: v.optional(v.boolean()),
      }),
    ),
    [],
  ),
});
export type ObjectMeta = v.InferOutput<typeof ObjectMeta>;
