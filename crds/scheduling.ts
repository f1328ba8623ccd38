/** The Pod scheduling types of core/v1 that a resource may set, with core's own shapes. */
import * as v from "valibot";
import { atomic, type CelRule, int, type KubeFacts, kube, opt, req, text } from "./meta.ts";

const shortText = (max = 317) => v.pipe(v.string(), v.maxLength(max));
const ITEMS_MAX = 64;

const QUALIFIED_NAME =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*[/])?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
/** The value of a label, by the rules of Kubernetes. */
export const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
/** A quantity that may be asked of a node: none is below zero. */
const QUANTITY = /^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$/;

/** The keys of labels and annotations, by the rules of Kubernetes. */
export const qualifiedKeys: CelRule = {
  rule: `self.all(k, k.size() <= 317 && k.matches('${QUALIFIED_NAME.source.replaceAll("\\", "\\\\")}'))`,
  message: "keys must be qualified names",
};

const labelKey = () => v.pipe(text(1, 317), kube<string>({ pattern: QUALIFIED_NAME }));
const labelValue = () => v.pipe(shortText(63), kube<string>({ pattern: LABEL_VALUE }));

const labelMap = (facts: KubeFacts = {}) =>
  v.pipe(v.record(text(1, 317), labelValue()), kube<Record<string, string>>({ maxProperties: ITEMS_MAX, ...facts }));

const requirement = (operators: readonly string[]) =>
  v.object({
    key: req("Label key.", labelKey()),
    operator: req("How the key is compared with the values.", v.picklist(operators)),
    values: opt("Values compared with.", atomic(shortText(63), ITEMS_MAX)),
  });

const LabelSelector = v.object({
  matchLabels: opt("Labels that must be equal.", labelMap()),
  matchExpressions: opt(
    "Label requirements, all of which must hold.",
    atomic(requirement(["In", "NotIn", "Exists", "DoesNotExist"]), ITEMS_MAX),
  ),
});

const nodeRequirement = () => requirement(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]);

const NodeSelectorTerm = v.object({
  matchExpressions: opt("Requirements on node labels.", atomic(nodeRequirement(), ITEMS_MAX)),
  matchFields: opt("Requirements on node fields.", atomic(nodeRequirement(), ITEMS_MAX)),
});

const PodAffinityTerm = v.object({
  labelSelector: opt("Pods that count.", LabelSelector),
  namespaceSelector: opt("Namespaces that count, by label.", LabelSelector),
  namespaces: opt("Namespaces that count, by name.", atomic(shortText(63), ITEMS_MAX)),
  topologyKey: req("Node label that makes a topology domain.", labelKey()),
  matchLabelKeys: opt("Pod label keys merged into the selector.", atomic(shortText(), ITEMS_MAX)),
  mismatchLabelKeys: opt("Pod label keys merged as NotIn.", atomic(shortText(), ITEMS_MAX)),
});

const podAffinity = () =>
  v.object({
    requiredDuringSchedulingIgnoredDuringExecution: opt("Terms that must hold.", atomic(PodAffinityTerm, ITEMS_MAX)),
    preferredDuringSchedulingIgnoredDuringExecution: opt(
      "Terms that should hold.",
      atomic(
        v.object({ weight: req("1 to 100.", int(1, 100)), podAffinityTerm: req("The term.", PodAffinityTerm) }),
        ITEMS_MAX,
      ),
    ),
  });

/** core/v1 Affinity. */
export const Affinity = v.object({
  nodeAffinity: opt(
    "Which nodes.",
    v.object({
      requiredDuringSchedulingIgnoredDuringExecution: opt(
        "Nodes that are possible at all.",
        v.object({ nodeSelectorTerms: req("Terms, one of which must hold.", atomic(NodeSelectorTerm, ITEMS_MAX)) }),
      ),
      preferredDuringSchedulingIgnoredDuringExecution: opt(
        "Nodes that are preferred.",
        atomic(
          v.object({ weight: req("1 to 100.", int(1, 100)), preference: req("The term.", NodeSelectorTerm) }),
          ITEMS_MAX,
        ),
      ),
    }),
  ),
  podAffinity: opt("Which Pods to be near.", podAffinity()),
  podAntiAffinity: opt("Which Pods to be away from.", podAffinity()),
});

/** core/v1 Toleration. */
export const Toleration = v.object({
  key: opt("Taint key; empty with operator Exists means every taint.", shortText()),
  operator: opt("Exists or Equal.", v.picklist(["Exists", "Equal"])),
  value: opt("Taint value.", labelValue()),
  effect: opt("Taint effect; absent means every effect.", v.picklist(["NoSchedule", "PreferNoSchedule", "NoExecute"])),
  tolerationSeconds: opt(
    "How long a NoExecute taint is tolerated.",
    v.pipe(v.number(), v.integer(), kube<number>({ format: "int64" })),
  ),
});

const quantities = () =>
  v.pipe(
    v.record(
      text(1, 317),
      v.pipe(v.union([v.string(), v.number()]), kube<string | number>({ intOrString: true, pattern: QUANTITY })),
    ),
    kube<Record<string, string | number>>({ maxProperties: 64 }),
  );

/** core/v1 ResourceRequirements, without dynamic claims. */
export const ResourceRequirements = v.object({
  limits: opt("Most that the container may use.", quantities()),
  requests: opt("What the scheduler keeps for the container.", quantities()),
});

export const NodeSelector = labelMap({ rules: [qualifiedKeys] });
