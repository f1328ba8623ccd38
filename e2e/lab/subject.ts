import { waitFor } from "../cluster/wait.ts";
import type { Database } from "./database.ts";
import { type KubeObject, LAB_LIMITS, type Lab } from "./lab.ts";

/** What the families call the same things. */
const FAMILIES = {
  PtahSchema: { source: "desired", ref: "schemaRef", approval: "PtahSchemaApproval" },
  PtahMigration: { source: "artifact", ref: "migrationRef", approval: "PtahMigrationApproval" },
} as const;
export type Kind = keyof typeof FAMILIES;

/** One resource of a family; a PtahSchema unless said otherwise. */
export interface Subject {
  readonly namespace: string;
  readonly name: string;
  readonly kind?: Kind;
}

/** What a scenario says of one resource and the ConfigMap of files it is declared by. */
export interface ResourceOptions extends Subject {
  readonly files: Readonly<Record<string, string>>;
  readonly secret: string;
  /** PostgreSQL unless said otherwise. */
  readonly engine?: "PostgreSQL" | "MySQL";
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

export const configMapOf = (resource: string): string => `${resource}-sql`;

/** The declared files, as the ConfigMap a resource names. */
export function sourceObject(options: Pick<ResourceOptions, "namespace" | "name" | "files">): object {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: configMapOf(options.name), namespace: options.namespace },
    data: options.files,
  };
}

export function resourceObject(options: ResourceOptions): object {
  const kind = options.kind ?? "PtahSchema";
  return {
    apiVersion: "operator.ptah.run/v1alpha1",
    kind,
    metadata: { name: options.name, namespace: options.namespace },
    spec: {
      target: {
        engine: options.engine ?? "PostgreSQL",
        coordinationKey: options.coordinationKey ?? `${options.namespace}/${options.name}`,
        urlFrom: { name: options.secret, key: "url" },
        ...(options.caFrom === undefined ? {} : { caFrom: options.caFrom }),
      },
      [FAMILIES[kind].source]: { configMap: { name: configMapOf(options.name) } },
      policy: options.policy ?? {},
      // What a scenario has done with is not read again while the others run.
      interval: options.interval ?? "1h",
      execution: { failureRetryInterval: "5s", activeDeadlineSeconds: 300, ...options.execution },
      suspend: options.suspend ?? false,
    },
  };
}

/** Applies the ConfigMap and the resource that names it. */
export async function declareResource(lab: Lab, options: ResourceOptions): Promise<void> {
  await lab.apply(sourceObject(options), resourceObject(options));
}

export function onDatabase(database: Database, name: string, files: Readonly<Record<string, string>>): ResourceOptions {
  return { namespace: database.namespace, name, files, secret: database.secret };
}

export function conditionOf(object: KubeObject | undefined, type: string): Condition | undefined {
  const conditions = (object?.status?.conditions ?? []) as Condition[];
  return conditions.find((c) => c.type === type);
}

export const readSubject = (lab: Lab, { kind, name, namespace }: Subject): Promise<KubeObject | undefined> =>
  lab.get((kind ?? "PtahSchema").toLowerCase(), name, namespace);

/** Waits until the resource satisfies `holds`, and returns it; the error names the phase and Ready it stood at. */
export async function waitForResource(
  lab: Lab,
  at: Subject,
  what: string,
  holds: (resource: KubeObject) => boolean | Promise<boolean>,
  timeoutMs: number = LAB_LIMITS.convergenceMs,
): Promise<KubeObject> {
  let last = "";
  try {
    return await waitFor(
      what,
      async () => {
        const resource = await readSubject(lab, at);
        if (resource === undefined) return undefined;
        const ready = conditionOf(resource, "Ready");
        last = `phase ${resource.status?.phase}, Ready ${ready?.status} ${ready?.reason}: ${ready?.message}`;
        return (await holds(resource)) ? resource : undefined;
      },
      { timeoutMs, pollMs: LAB_LIMITS.pollMs },
    );
  } catch (error) {
    throw new Error(`${at.namespace}/${at.name}: ${error instanceof Error ? error.message : String(error)}; ${last}`);
  }
}

/** Waits for a phase of the generation that stands now. */
export function waitForPhase(lab: Lab, at: Subject, phase: string, timeoutMs?: number): Promise<KubeObject> {
  const settled = (s: KubeObject) =>
    s.status?.phase === phase && s.status?.observedGeneration === s.metadata.generation;
  return waitForResource(lab, at, `phase ${phase}`, settled, timeoutMs);
}

/** Waits for a condition's status and reason. */
export function waitForCondition(
  lab: Lab,
  at: Subject,
  wanted: { readonly type: string; readonly status: string; readonly reason?: string },
  timeoutMs?: number,
): Promise<KubeObject> {
  return waitForResource(
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
export function approvalObject(resource: KubeObject, name: string): object {
  const plan = resource.status?.plan;
  const family = FAMILIES[resource.kind === "PtahMigration" ? resource.kind : "PtahSchema"];
  return {
    apiVersion: "operator.ptah.run/v1alpha1",
    kind: family.approval,
    metadata: { name, namespace: resource.metadata.namespace },
    spec: {
      [family.ref]: { name: resource.metadata.name, uid: resource.metadata.uid },
      planRef: { name: plan?.name, uid: plan?.uid },
      planFingerprint: plan?.fingerprint,
    },
  };
}

/** Creates the approval of the plan that stands now; returns the resource as it was approved. */
export async function approve(lab: Lab, at: Subject, approvalName: string): Promise<KubeObject> {
  const resource = await waitForPhase(lab, at, "AwaitingApproval");
  const created = await lab.kubectl(["create", "-f", "-"], {
    input: JSON.stringify(approvalObject(resource, approvalName)),
  });
  if (created.code !== 0) throw new Error(`approval ${approvalName}: ${created.stderr.trim()}`);
  return resource;
}
