/** Schemas of the benchmarks on a real database, and the instants at which they reach a state. */
import { addDatabase, type Database, startDatabase } from "../e2e/lab/database.ts";
import { freshNamespace, type Lab } from "../e2e/lab/lab.ts";
import { resourceObject, sourceObject } from "../e2e/lab/subject.ts";
import { custom, type Job, type KubeClient, kinds, type RawCustom } from "../kube/index.ts";
import { Followed } from "./followed.ts";

export interface Declared {
  readonly namespace: string;
  readonly name: string;
  readonly secret: string;
  readonly table: string;
  readonly apply: "OnApproval" | "Always";
}

/** The source and the schema of one table with this many columns beside its key: one more column is one statement. */
export function declaration(declared: Declared, columns: number): readonly object[] {
  const { namespace, name, secret, table, apply } = declared;
  const more = Array.from({ length: columns }, (_, index) => `, note_${index} text`).join("");
  const files = { "schema.sql": `CREATE TABLE ${table} (id bigint PRIMARY KEY${more});` };
  return [
    sourceObject({ namespace, name, files }),
    resourceObject({ namespace, name, files, secret, policy: { apply }, interval: "1h" }),
  ];
}

/** A namespace of its own with a database server, followed from before anything is declared in it. */
export interface Ground {
  readonly namespace: string;
  readonly server: Database;
  readonly jobs: Followed<Job>;
  readonly schemas: Followed<RawCustom>;
  stop(): Promise<void>;
}

export async function prepareGround(lab: Lab, client: KubeClient, namespace: string): Promise<Ground> {
  await freshNamespace(lab, namespace);
  const server = await startDatabase(lab, { namespace, major: 17 });
  const jobs = await new Followed(kinds.Job, namespace).start(client);
  const schemas = await new Followed(custom.PtahSchema.raw, namespace).start(client);
  const stop = async (): Promise<void> => {
    await Promise.all([jobs.stop(), schemas.stop()]);
  };
  return { namespace, server, jobs, schemas, stop };
}

/** As many databases of one server as there are schemas, each with its Secret. */
export async function addDatabases(lab: Lab, server: Database, names: readonly string[]): Promise<readonly Database[]> {
  const databases: Database[] = [];
  for (const name of names) databases.push(await addDatabase(lab, server, name));
  return databases;
}

interface Status {
  readonly phase?: string;
  readonly observedGeneration?: number;
  readonly plan?: { readonly name: string; readonly uid: string; readonly fingerprint: string };
  readonly applied?: { readonly planFingerprint: string };
}

export function statusOf(schema: RawCustom | undefined): Status {
  return (schema?.status ?? {}) as Status;
}

/** Whether the schema stands at this phase, of its newest generation. @throws when it is Blocked: nothing more comes then */
export function stands(schema: RawCustom | undefined, phase: string): boolean {
  const status = statusOf(schema);
  if (status.phase === "Blocked")
    throw new Error(`schema ${schema?.metadata.name} is Blocked; nothing can be measured with it`);
  return status.phase === phase && status.observedGeneration === schema?.metadata.generation;
}

/** Deletes what a figure made; its objects would otherwise take part in the next one. */
export async function removeGround(lab: Lab, ground: Ground): Promise<void> {
  await ground.stop();
  const remove = ["delete", "namespace", ground.namespace, "--ignore-not-found", "--wait=true", "--timeout=120s"];
  await lab.kubectl(remove, { timeoutMs: 130_000 });
}
