import type { AdmissionSnapshot } from "../crds/status/binding.ts";
import type { Container, PodSpec, ResourceRequirements, Toleration } from "./kubernetes.ts";
import { canonicalResources } from "./resources.ts";

/**
 * The Pod spec that the API server's built-in admission makes of a template under a snapshot (reference, Pod-intent
 * snapshot). Only what the snapshot holds is added; everything else stays the template's.
 */
export function admittedSpec(template: PodSpec, snapshot: AdmissionSnapshot): PodSpec {
  const { runtimeClass, priorityClass } = snapshot;
  const containers = (list: readonly Container[]): Container[] => list.map((c) => admittedContainer(c, snapshot));
  const nodeSelector = { ...template.nodeSelector, ...runtimeClass?.nodeSelector };
  const secrets = template.imagePullSecrets ?? [];
  return {
    ...template,
    imagePullSecrets: secrets.length > 0 ? secrets : (snapshot.serviceAccount.imagePullSecrets ?? []),
    ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector }),
    ...(runtimeClass?.overhead === undefined ? {} : { overhead: runtimeClass.overhead }),
    ...(priorityClass.name === undefined ? {} : { priorityClassName: priorityClass.name }),
    priority: priorityClass.value,
    preemptionPolicy: priorityClass.preemptionPolicy ?? "PreemptLowerPriority",
    tolerations: admittedTolerations(template, snapshot),
    ...(template.initContainers === undefined ? {} : { initContainers: containers(template.initContainers) }),
    containers: containers(template.containers),
  };
}

function admittedContainer(container: Container, snapshot: AdmissionSnapshot): Container {
  return {
    ...container,
    ...(snapshot.alwaysPullImagesEnabled ? { imagePullPolicy: "Always" } : {}),
    resources: admittedResources(container.resources, snapshot),
  };
}

/** Unset limits from the LimitRanges; unset requests from the container's own limit, then from the LimitRanges. */
function admittedResources(own: ResourceRequirements | undefined, snapshot: AdmissionSnapshot): ResourceRequirements {
  const stated = canonicalResources(own);
  const limits: Record<string, string> = { ...stated.limits };
  const requests: Record<string, string> = { ...stated.limits, ...stated.requests };
  for (const range of snapshot.limitRanges ?? []) {
    for (const [key, value] of Object.entries(range.defaultLimits ?? {})) limits[key] ??= value;
    for (const [key, value] of Object.entries(range.defaultRequests ?? {})) requests[key] ??= value;
  }
  return {
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(Object.keys(requests).length === 0 ? {} : { requests }),
  };
}

function admittedTolerations(template: PodSpec, snapshot: AdmissionSnapshot): Toleration[] {
  const all: Toleration[] = [...(template.tolerations ?? []), ...(snapshot.runtimeClass?.tolerations ?? [])];
  const add = (toleration: Toleration): void => {
    if (!all.some((t) => t.key === toleration.key && t.effect === toleration.effect && t.value === toleration.value)) {
      all.push(toleration);
    }
  };
  if (snapshot.defaultTolerationsEnabled) {
    addDefault(all, "node.kubernetes.io/not-ready", snapshot.defaultNotReadyTolerationSeconds);
    addDefault(all, "node.kubernetes.io/unreachable", snapshot.defaultUnreachableTolerationSeconds);
  }
  if (snapshot.extendedResourceTolerationEnabled) {
    for (const key of extendedResources(template, snapshot)) add({ key, operator: "Exists", effect: "NoSchedule" });
  }
  return all;
}

/** The API server adds its default unless the Pod already tolerates that NoExecute taint, whatever the seconds. */
function addDefault(all: Toleration[], key: string, tolerationSeconds: number): void {
  const tolerated = all.some(
    (t) => (t.key === key || (t.key ?? "") === "") && (t.effect === "NoExecute" || (t.effect ?? "") === ""),
  );
  if (!tolerated) all.push({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds });
}

function extendedResources(template: PodSpec, snapshot: AdmissionSnapshot): string[] {
  const names = [...(template.initContainers ?? []), ...template.containers].flatMap((c) =>
    Object.keys(admittedResources(c.resources, snapshot).requests ?? {}),
  );
  const extended = (name: string): boolean =>
    name.includes("/") && !name.includes("kubernetes.io/") && !name.startsWith("requests.");
  return [...new Set(names.filter(extended))].sort();
}
