/** Versioned migrations of a scenario: their files, a person's own `ptah migrations`, and what a run left behind. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Files, migrationDirectory } from "../../executor/cases/migration-bench.ts";
import { runCommand } from "../cluster/command.ts";
import { ENGINES } from "../cluster/database-pod.ts";
import { repositoryRoot } from "../cluster/paths.ts";
import type { Database } from "./database.ts";
import { statementsOn } from "./evidence.ts";
import { type KubeObject, LAB_LIMITS, type Lab } from "./lab.ts";
import { approve, declareResource, type ResourceOptions, type Subject, waitForResource } from "./subject.ts";

export type { Files } from "../../executor/cases/migration-bench.ts";

export type Migration = Subject & { readonly kind: "PtahMigration" };

export const migration = (namespace: string, name: string): Migration => ({ namespace, name, kind: "PtahMigration" });

/** The files of these versions, as a ConfigMap's data. @param versions the up half's text by the version's number */
export function migrationFiles(versions: Files): Record<string, string> {
  const made = migrationDirectory(versions);
  const text = (name: string): [string, string] => [name, readFileSync(join(made.path, name), "utf8")];
  const files = Object.fromEntries(readdirSync(made.path).map(text));
  made.remove();
  return files;
}

/** Declares a PtahMigration of these versions on a database. */
export async function declareMigration(
  lab: Lab,
  at: Migration,
  database: Pick<Database, "engine" | "secret">,
  versions: Files,
  more: Partial<ResourceOptions> = {},
): Promise<void> {
  const engine = ENGINES[database.engine].target;
  await declareResource(lab, { ...at, engine, files: migrationFiles(versions), secret: database.secret, ...more });
}

/** `ptah migrations …` on the database itself, as an administrator runs it beside the operator. @throws when it is refused */
export async function byHand(lab: Lab, database: Database, versions: Files, ...args: string[]): Promise<void> {
  const url = new URL(database.url);
  url.hostname = await podAddress(lab, database);
  const made = migrationDirectory(versions);
  try {
    const env = { ...process.env, PTAH_DB_URL: url.href, PTAH_MIGRATIONS_DIR: made.path };
    const options = { env, timeoutMs: LAB_LIMITS.commandMs };
    const { code, stdout, stderr } = await runCommand(`${repositoryRoot}/build/ptah`, ["migrations", ...args], options);
    if (code !== 0) throw new Error(`ptah migrations ${args.join(" ")}: ${code} ${stdout} ${stderr}`);
  } finally {
    made.remove();
  }
}

/** Where this machine reaches a server's Pod. */
export async function podAddress(lab: Lab, database: Pick<Database, "namespace" | "name">): Promise<string> {
  const pod = await lab.get("pod", database.name, database.namespace);
  const address: string | undefined = pod?.status?.podIP;
  if (address === undefined) throw new Error(`${database.namespace}/${database.name} has no address`);
  return address;
}

/** Statements of migrations with this remark that the server was sent; what the revision table says of them does not count. */
export async function sent(server: Database, remark: string, database?: string): Promise<readonly string[]> {
  const found = await statementsOn(server, new RegExp(remark), database);
  return found.filter((statement) => !statement.includes("schema_migrations"));
}

/** Types of the journal's entries, oldest first; failed attempts to read are left out, they come and go. */
export function journalOf(resource: KubeObject | undefined): string[] {
  const entries = (resource?.status?.journal?.entries ?? []) as { type: string }[];
  return entries.map((entry) => entry.type).filter((type) => type !== "OperationFailed");
}

/** The end of each run that the journal tells, oldest first. */
export function runsOf(resource: KubeObject | undefined): { operationID: string; outcome: string }[] {
  const entries = resource?.status?.journal?.entries ?? [];
  return entries.filter((entry: { type: string }) => entry.type === "RunFinished");
}

/** Approves the plan that waits, and returns the resource once nothing is pending any more. */
export async function applied(lab: Lab, at: Migration, approval: string): Promise<KubeObject> {
  await approve(lab, at, approval);
  return inSync(lab, at);
}

export const inSync = (lab: Lab, at: Migration): Promise<KubeObject> =>
  waitForResource(
    lab,
    at,
    "nothing pending and nothing owed",
    ({ status, metadata }) => status?.phase === "InSync" && status.observedGeneration === metadata.generation,
  );

/** Waits until a run of this resource ended so, and the history was read after it. */
export const runEnded = (lab: Lab, at: Migration, ...outcomes: string[]): Promise<KubeObject> =>
  waitForResource(lab, at, `a run that ended ${outcomes.join(" or ")}, and its reading`, ({ status }) => {
    const run = status?.lastRun;
    const after = Date.parse(status?.history?.observedAt ?? "") >= Date.parse(run?.finishedAt ?? "");
    return outcomes.includes(run?.outcome) && status.activeOperation === undefined && after;
  });

/** Asks for a reading now, as `kubectl ptah refresh` does. */
export async function refresh(lab: Lab, { name, namespace }: Migration): Promise<void> {
  const asked = await lab.ptah(["refresh", `migration/${name}`, "-n", namespace]);
  if (asked.code !== 0) throw new Error(`kubectl ptah refresh migration/${name}: ${asked.stderr.trim()}`);
}
