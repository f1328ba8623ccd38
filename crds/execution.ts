/** How an operation's Job runs. */
import * as v from "valibot";
import { ObjectName } from "./common.ts";
import { duration } from "./duration.ts";
import { atomic, def, int, kube, opt, req, text } from "./meta.ts";
import { Affinity, LABEL_VALUE, NodeSelector, qualifiedKeys, ResourceRequirements, Toleration } from "./scheduling.ts";

const RESERVED = "'^(([a-z0-9-]+\\\\.)*(ptah\\\\.run|kubernetes\\\\.io|k8s\\\\.io)/.*|controller-uid|job-name)$'";

const keyRules = [
  qualifiedKeys,
  {
    rule: `self.all(k, !k.matches(${RESERVED}))`,
    message: "keys under ptah.run, kubernetes.io and k8s.io, controller-uid and job-name are reserved",
  },
] as const;

const metadataMap = (value: v.GenericSchema<string, string>) =>
  v.pipe(v.record(text(1, 317), value), kube<Record<string, string>>({ maxProperties: 16, rules: keyRules }));

/** Labels and annotations that every operation's Pod carries besides ours. */
export const PodMetadata = v.object({
  labels: opt("Labels for the Pod.", metadataMap(v.pipe(v.string(), v.maxLength(63), v.regex(LABEL_VALUE)))),
  annotations: opt("Annotations for the Pod.", metadataMap(v.pipe(v.string(), v.maxLength(1024)))),
});

export const ExecutionSpec = v.object({
  activeDeadlineSeconds: def("Longest time an operation's Job may run.", int(30, 86400), 900),
  failureRetryInterval: def("Wait between two attempts of a failed read.", duration("5s", "1h"), "30s"),
  connectTimeout: def("Longest time a connection to the database may take.", duration("1s", "10m"), "10s"),
  resources: opt("Resources of the operation's container.", ResourceRequirements),
  serviceAccountName: opt("ServiceAccount of the Pod; its token is never mounted.", ObjectName),
  imagePullSecrets: opt(
    "Secrets the kubelet pulls the images with.",
    atomic(v.object({ name: req("Name of the Secret.", ObjectName) }), 64),
  ),
  nodeSelector: opt("Node labels the Pod needs.", NodeSelector),
  tolerations: opt("Taints the Pod tolerates.", atomic(Toleration, 64)),
  affinity: opt("Where the Pod may or should run.", Affinity),
  runtimeClassName: opt("RuntimeClass of the Pod.", ObjectName),
  priorityClassName: opt("PriorityClass of the Pod.", ObjectName),
  podMetadata: opt("Labels and annotations for the Pod, for example a sidecar opt-out.", PodMetadata),
});
export type ExecutionSpec = v.InferOutput<typeof ExecutionSpec>;
