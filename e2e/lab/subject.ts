import { waitFor } from "../cluster/wait.ts";
import type { Database } from "./database.ts";
import { type KubeObject, LAB_LIMITS, type Lab } from "./lab.ts";

/** What a scenario says of one PtahSchema and the ConfigMap of SQL files it is declared by. */
export interface SchemaOptions {
  readonly namespace: string;
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  readonly secret: string;
  readonly policy?: object;
  readonly interval?: string;
  readonly execution?: object;
  readonly suspend?: boolean;
  readonly coordinationKey?: string;
  readonly caFrom?: { readonly name: string; readonly key: string };
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
}

export const configMapOf = (schema: string): string => `${schema}-sql`;

/** The declared files, as the ConfigMap a schema names. */
export function sourceObject(options: Pick<SchemaOptions, "namespace" | "name" | "files">): object {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: configMapOf(options.name), namespace: options.namespace },
    data: options.files,
  };
}

export function schemaObject(options: SchemaOptions): object {
  return {
    apiVersion: "operator.ptah.run/v1alpha1",
    kind: "PtahSchema",
    metadata: { name: options.name, namespace: options.namespace },
    spec: {
      target: {
        engine: "PostgreSQL",
        coordinationKey: options.coordinationKey ?? `${options.namespace}/${options.name}`,
        urlFrom: { name: options.secret, key: "url" },
        ...(options.caFrom === undefined ? {} : { caFrom: options.caFrom }),
      },
      desired: { configMap: { name: configMapOf(options.name) } },
      policy: options.policy ?? {},
      interval: options.interval ?? "10m",
      execution: { failureRetryInterval: "5s", activeDeadlineSeconds: 300, ...options.execution },
      suspend: options.suspend ?? false,
    },
  };
}

/** Applies the ConfigMap and the PtahSchema that names it. */
export async function declareSchema(lab: Lab, options: SchemaOptions): Promise<void> {
  await lab.apply(sourceObject(options), schemaObject(options));
}

export function onDatabase(database: Database, name: string, files: Readonly<Record<string, string>>): SchemaOptions {
  return { namespace: database.namespace, name, files, secret: database.secret };
}

export function conditionOf(object: KubeObject | undefined, type: string): Condition | undefined {
  const conditions = (object?.status?.conditions ?? []) as Condition[];
  return conditions.find((c) => c.type === type);
}

/** Waits until the schema satisfies `holds`, and returns it; the error names the phase and Ready it stood at. */
export async function waitForSchema(
  lab: Lab,
  at: { readonly namespace: string; readonly name: string },
  what: string,
  holds: (schema: KubeObject) => boolean | Promise<boolean>,
  timeoutMs: number = LAB_LIMITS.convergenceMs,
): Promise<KubeObject> {
  let last = "";
  try {
    return await waitFor(
      what,
      async () => {
        const schema = await lab.get("ptahschema", at.name, at.namespace);
        if (schema === undefined) return undefined;
        const ready = conditionOf(schema, "Ready");
        last = `phase ${schema.status?.phase}, Ready ${ready?.status} ${ready?.reason}: ${ready?.message}`;
        return (await holds(schema)) ? schema : undefined;
      },
      { timeoutMs, pollMs: LAB_LIMITS.pollMs },
    );
  } catch (error) {
    throw new Error(`${at.namespace}/${at.name}: ${error instanceof Error ? error.message : String(error)}; ${last}`);
  }
}

/** Waits for a phase of the generation that stands now. */
export function waitForPhase(
  lab: Lab,
  at: { readonly namespace: string; readonly name: string },
  phase: string,
  timeoutMs?: number,
): Promise<KubeObject> {
  const settled = (s: KubeObject) =>
    s.status?.phase === phase && s.status?.observedGeneration === s.metadata.generation;
  return waitForSchema(lab, at, `phase ${phase}`, settled, timeoutMs);
}

/** Waits for a condition's status and reason. */
export function waitForCondition(
  lab: Lab,
  at: { readonly namespace: string; readonly name: string },
  wanted: { readonly type: string; readonly status: string; readonly reason?: string },
  timeoutMs?: number,
): Promise<KubeObject> {
  return waitForSchema(
    lab,
    at,
    `${wanted.type}=${wanted.status} (${wanted.reason ?? "any reason"})`,
    (s) => {
      const c = conditionOf(s, wanted.type);
      return c?.status === wanted.status && (wanted.reason === undefined || c.reason === wanted.reason);
    },
    timeoutMs,
  );
}

/** The approval a person would write: three identifiers, nothing else. */
export function approvalObject(schema: KubeObject, name: string): object {
  const plan = schema.status?.plan;
  return {
    apiVersion: "operator.ptah.run/v1alpha1",
    kind: "PtahSchemaApproval",
    metadata: { name, namespace: schema.metadata.namespace },
    spec: {
      schemaRef: { name: schema.metadata.name, uid: schema.metadata.uid },
      planRef: { name: plan?.name, uid: plan?.uid },
      planFingerprint: plan?.fingerprint,
    },
  };
}

/** Creates the approval of the plan that stands now; returns the schema as it was approved. */
export async function approve(
  lab: Lab,
  at: { readonly namespace: string; readonly name: string },
  approvalName: string,
): Promise<KubeObject> {
  const schema = await waitForPhase(lab, at, "AwaitingApproval");
  const created = await lab.kubectl(["create", "-f", "-"], {
    input: JSON.stringify(approvalObject(schema, approvalName)),
  });
  if (created.code !== 0) throw new Error(`approval ${approvalName}: ${created.stderr.trim()}`);
  return schema;
}
