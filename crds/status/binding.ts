/** What an execution runs under and what a Pod was admitted under: shared by claims, records, plans and both families. */
import * as v from "valibot";
import {
  ConfigMapKeySelector,
  DatabaseEngine,
  Digest,
  Epoch,
  PinnedImage,
  Revision,
  SecretKeySelector,
} from "../common.ts";
import { int, keyed, kube, opt, req, text } from "../meta.ts";

/** The four components a plan binds; a change of any of them begins a new epoch. */
export const ExecutionComponents = v.object({
  controllerStateVersion: req("Version of the stored-state contract.", int(1)),
  ptahVersion: req("Version the executor image itself reports.", text(1, 128)),
  executorImage: req("Image that holds the executor, pinned by digest.", text(1, 512)),
  runnerProtocolVersion: req("Version of the protocol between manager and runner.", int(1)),
});
export type ExecutionComponents = v.InferOutput<typeof ExecutionComponents>;

/** The execution binding in force. */
export const ExecutionBinding = v.object({
  epoch: req("Random name of this binding; never used again, also not when the same components come back.", Epoch),
  ...ExecutionComponents.entries,
});
export type ExecutionBinding = v.InferOutput<typeof ExecutionBinding>;

/** Who dispatched; a record for audit that binds nothing. */
export const ManagerRecord = v.object({
  controllerImage: req("Image of the manager, pinned by digest.", PinnedImage),
  controllerRevision: req("Build revision of the manager.", Revision),
  runnerImage: req("Image the runner was taken from, pinned by digest.", PinnedImage),
});
export type ManagerRecord = v.InferOutput<typeof ManagerRecord>;

/** One object as it was when an admission snapshot was taken. */
export const ObjectBinding = v.object({
  name: req("Name of the object.", text(1, 253)),
  uid: req("UID of the object.", text(1, 128)),
  resourceVersion: req("Version of the object that was read.", text(1, 128)),
});
export type ObjectBinding = v.InferOutput<typeof ObjectBinding>;

const Quantities = v.pipe(v.record(v.string(), v.string()), kube<Record<string, string>>({ maxProperties: 64 }));

const Toleration = v.object({
  key: opt("Taint key the toleration matches.", v.string()),
  operator: opt("How the value is matched.", v.string()),
  value: opt("Taint value the toleration matches.", v.string()),
  effect: opt("Taint effect the toleration matches.", v.string()),
  tolerationSeconds: opt("How long the taint is tolerated.", v.pipe(v.number(), v.integer())),
});

/**
 * The admission snapshot (seed 002): everything outside the Job that changes the final Pod, by UID and resourceVersion.
 * Its digest travels with the Job; fail-closed admission compares the final Pod against it.
 */
export const AdmissionSnapshot = v.object({
  version: req("Version of the snapshot's shape.", v.literal("v1")),
  digest: req("Digest of this snapshot with this field blank.", Digest),
  templateDigest: req("Digest of the Pod template the Job is built with.", Digest),
  serviceAccount: req(
    "The ServiceAccount the Pod runs as.",
    v.object({
      object: req("The ServiceAccount that was read.", ObjectBinding),
      imagePullSecrets: opt(
        "Pull secrets the ServiceAccount adds to a Pod that names none.",
        v.pipe(v.array(v.object({ name: req("Name of the Secret.", text(1, 253)) })), v.maxLength(64)),
      ),
    }),
  ),
  limitRanges: opt(
    "Container defaults of the namespace's LimitRanges, in the order they apply.",
    v.pipe(
      v.array(
        v.object({
          object: req("The LimitRange that was read.", ObjectBinding),
          defaultRequests: opt("Requests it gives a container that states none.", Quantities),
          defaultLimits: opt("Limits it gives a container that states none.", Quantities),
        }),
      ),
      v.maxLength(32),
    ),
  ),
  runtimeClass: opt(
    "The RuntimeClass the Pod names.",
    v.object({
      object: req("The RuntimeClass that was read.", ObjectBinding),
      handler: req("Handler the class stands for.", text(1, 63)),
      overheadDefined: opt("Whether the class states a Pod overhead.", v.boolean()),
      overhead: opt("Resources the class adds to the Pod.", Quantities),
      nodeSelector: opt("Node labels the class requires.", Quantities),
      tolerations: opt("Tolerations the class adds.", v.pipe(v.array(Toleration), v.maxLength(64))),
    }),
  ),
  priorityClass: req(
    "The priority the Pod gets.",
    v.object({
      object: opt("The PriorityClass that was read; absent where the cluster has no default.", ObjectBinding),
      name: opt("Name of the class.", v.pipe(v.string(), v.maxLength(253))),
      value: req("Priority value.", v.pipe(v.number(), v.integer())),
      preemptionPolicy: opt("Preemption policy of the class.", v.picklist(["Never", "PreemptLowerPriority"])),
    }),
  ),
  defaultTolerationsEnabled: req("Whether the API server adds the two default tolerations.", v.boolean()),
  defaultNotReadyTolerationSeconds: req("Seconds of the default not-ready toleration.", int(0)),
  defaultUnreachableTolerationSeconds: req("Seconds of the default unreachable toleration.", int(0)),
  extendedResourceTolerationEnabled: req(
    "Whether the API server adds tolerations for extended resources.",
    v.boolean(),
  ),
  alwaysPullImagesEnabled: req("Whether the API server sets imagePullPolicy Always.", v.boolean()),
});
export type AdmissionSnapshot = v.InferOutput<typeof AdmissionSnapshot>;

/** The database an operation is bound to, without its coordination key. */
export const TargetBinding = v.object({
  engine: req("Engine as the spec spells it.", DatabaseEngine),
  urlFrom: req("Secret key that holds the connection URL.", SecretKeySelector),
  caFrom: opt("ConfigMap key that holds the CA bundle of the connection.", ConfigMapKeySelector),
});
export type TargetBinding = v.InferOutput<typeof TargetBinding>;

/** The source content an operation is bound to. */
export const SourceBinding = v.object({
  kind: req("Kind of the source.", v.picklist(["OCI", "ConfigMap", "Git"])),
  identity: req("Artifact digest, ConfigMap UID, or digest of repository URL and path.", text(1, 128)),
  contentDigest: req("Digest of the manifest of the selected files.", Digest),
  snapshot: opt("Immutable ConfigMap that holds the files, for a ConfigMap source.", text(1, 253)),
  policyUID: opt("UID of the source policy's ConfigMap the source was admitted under.", text(1, 128)),
  policyDigest: opt("Digest of the source policy the source was admitted under.", Digest),
});
export type SourceBinding = v.InferOutput<typeof SourceBinding>;

/** Identity of an operation's Job. */
export const JobIdentity = v.object({
  name: req("Name of the Job.", text(1, 253)),
  uid: opt("UID of the Job, once it was read back.", text(1, 128)),
  terminal: opt("True once the Job was seen Complete or Failed, or seen gone.", v.boolean()),
});
export type JobIdentity = v.InferOutput<typeof JobIdentity>;

/** One Pod of an attempt, as it was seen. */
export const PodEvidence = v.object({
  uid: req("UID of the Pod.", text(1, 128)),
  terminated: opt("True once its operation container was seen terminated.", v.boolean()),
});
export type PodEvidence = v.InferOutput<typeof PodEvidence>;

/** Pods of one attempt: at most eight by UID, the count beyond that. */
export const Pods = keyed(PodEvidence, "uid", 8);

/** A Lease that a claim or record holds. */
export const LeaseHolding = v.object({
  digest: req("Coordination digest the Lease stands for.", Digest),
  holder: req("Holder identity written into the Lease.", text(1, 128)),
  epoch: req("Random name of this holding; never used again.", Epoch),
  durationSeconds: req("Duration the Lease is renewed at.", int(5, 86_460)),
});
export type LeaseHolding = v.InferOutput<typeof LeaseHolding>;
