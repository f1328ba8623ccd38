/** What is read of a resource of either kind. */
import type { Condition } from "../crds/common.ts";
import type { Family } from "../crds/names.ts";
import type { Resource } from "./families.ts";

/** Which of the two families a resource is of; the tables write their advice for either. */
export const familyOf = (resource: Resource): Family => (resource.kind === "PtahMigration" ? "migration" : "schema");

export const conditionOf = (resource: Resource, type: string): Condition | undefined =>
  resource.status?.conditions?.find((condition) => condition.type === type);
