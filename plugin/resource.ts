/** What is read of a resource of either kind. */
import type { Condition } from "../crds/common.ts";
import type { Resource } from "./families.ts";

export const conditionOf = (resource: Resource, type: string): Condition | undefined =>
  resource.status?.conditions?.find((condition) => condition.type === type);
