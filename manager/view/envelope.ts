import {
  type KubeClient,
  kinds,
  type LimitRange,
  orAbsent,
  type PriorityClass,
  type RuntimeClass,
  type ServiceAccount,
} from "../../kube/index.ts";
import type { Spec } from "../../lifecycle/families/types.ts";
import type { EnvelopeFacts } from "../../lifecycle/view.ts";
import {
  type AdmissionFlags,
  type EnvelopeObjects,
  type LimitRangeObject,
  resolveEnvelope,
} from "../../workload/envelope.ts";
import { LIMIT_RANGES_MAX } from "../../workload/limits.ts";
import type { ExecutionShape } from "../../workload/operation.ts";

/** Everything outside a Job that changes its Pod, read uncached; refused by name where it cannot be bound. */
export async function readEnvelope(
  client: KubeClient,
  namespace: string,
  spec: Spec,
  flags: AdmissionFlags,
): Promise<EnvelopeFacts> {
  const execution = spec.execution as ExecutionShape;
  const runtimeClassName = execution.runtimeClassName ?? "";
  const [serviceAccount, limitRanges, runtimeClass, priorityClasses] = await Promise.all([
    orAbsent<ServiceAccount>(
      client.get(kinds.ServiceAccount, { namespace, name: execution.serviceAccountName ?? "default" }),
    ),
    client.list<LimitRange>(kinds.LimitRange, { namespace }, { itemsMax: 10 * LIMIT_RANGES_MAX }),
    runtimeClassName === ""
      ? undefined
      : orAbsent<RuntimeClass>(client.get(kinds.RuntimeClass, { name: runtimeClassName })),
    client.list<PriorityClass>(kinds.PriorityClass, {}),
  ]);
  const objects: EnvelopeObjects = {
    serviceAccount,
    limitRanges: limitRanges.items as readonly LimitRangeObject[],
    runtimeClass,
    priorityClasses: priorityClasses.items,
  };
  const resolved = resolveEnvelope(execution, objects, flags);
  return resolved.ok
    ? { state: "resolved", snapshot: resolved.snapshot }
    : { state: "unresolved", sentence: resolved.sentence };
}
