import type { PtahMigration } from "../crds/ptahmigration.ts";
import type { PtahMigrationPlan } from "../crds/ptahmigrationplan.ts";
import type { PtahSchema } from "../crds/ptahschema.ts";
import type { PtahSchemaPlan } from "../crds/ptahschemaplan.ts";
import { type ConfigMap, type Custom, custom, type Job, type KubeClient, kinds, orAbsent } from "../kube/index.ts";
import { limits } from "./limits.ts";

/** What reviews may read: one object each, uncached, undefined where it does not exist. Errors: KubeError. */
export interface Reads {
  schema(namespace: string, name: string): Promise<Custom<PtahSchema> | undefined>;
  plan(namespace: string, name: string): Promise<Custom<PtahSchemaPlan> | undefined>;
  migration(namespace: string, name: string): Promise<Custom<PtahMigration> | undefined>;
  migrationPlan(namespace: string, name: string): Promise<Custom<PtahMigrationPlan> | undefined>;
  job(namespace: string, name: string): Promise<Job | undefined>;
  configMap(namespace: string, name: string): Promise<ConfigMap | undefined>;
}

/** Reads straight from the API server: a cache could show a claim or a plan that is no longer there. */
export function readsFrom(client: KubeClient): Reads {
  const options = { timeoutMs: limits.readTimeoutMs };
  return {
    schema: (namespace, name) => orAbsent(client.get(custom.PtahSchema.typed, { namespace, name }, options)),
    plan: (namespace, name) => orAbsent(client.get(custom.PtahSchemaPlan.typed, { namespace, name }, options)),
    migration: (namespace, name) => orAbsent(client.get(custom.PtahMigration.typed, { namespace, name }, options)),
    migrationPlan: (namespace, name) =>
      orAbsent(client.get(custom.PtahMigrationPlan.typed, { namespace, name }, options)),
    job: (namespace, name) => orAbsent(client.get(kinds.Job, { namespace, name }, options)),
    configMap: (namespace, name) => orAbsent(client.get(kinds.ConfigMap, { namespace, name }, options)),
  };
}
