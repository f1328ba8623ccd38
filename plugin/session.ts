/** One invocation: the cluster as the user's own credentials see it, and the flags every command shares. */
import { parseDurationMs } from "../crds/duration.ts";
import type { PtahSchema } from "../crds/ptahschema.ts";
import { type Custom, connect, custom, type KubeClient, orAbsent } from "../kube/index.ts";
import { nothingStored, usage } from "./failure.ts";
import type { Io } from "./io.ts";
import { limits } from "./limits.ts";
import { type Colors, colorsOf } from "./text.ts";
import { pluginVersion } from "./version.ts";

export interface SharedFlags {
  readonly namespace?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  /** Bounds one call to the API server, as a Go duration. */
  readonly timeout?: string;
}

export interface Session {
  readonly io: Io;
  readonly client: KubeClient;
  readonly namespace: string;
  readonly requestMs: number;
  readonly colors: Colors;
}

/** A positive duration given as a flag. @throws Failure (usage) */
export function durationFlag(flag: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const ms = parseDurationMs(text);
  if (ms === undefined || ms <= 0) throw usage(`${flag} needs a duration such as 30s or 5m`);
  return ms;
}

/** Connects as kubectl would. @throws Failure, KubeError */
export async function openSession(io: Io, flags: SharedFlags): Promise<Session> {
  const requestMs = durationFlag("--timeout", flags.timeout, limits.requestMs);
  const { client, connection } = await connect(flags, io.env, `kubectl-ptah/${pluginVersion()}`);
  return { io, client, namespace: flags.namespace ?? connection.namespace, requestMs, colors: colorsOf(io) };
}

const SCHEMA_WORDS = new Set(["schema", "schemas", "ptahschema", "ptahschemas", "ptahs"]);

/** The schema's name in `NAME` or `schema/NAME`. @throws Failure (usage) for another kind of resource */
export function schemaName(argument: string): string {
  const slash = argument.indexOf("/");
  if (slash < 0) return argument;
  const word = argument.slice(0, slash).toLowerCase().replace(/\..*$/, "");
  const name = argument.slice(slash + 1);
  if (!SCHEMA_WORDS.has(word)) throw usage(`this version knows schemas only; write schema/${name || "NAME"}`);
  if (name === "" || name.includes("/")) throw usage("write schema/NAME");
  return name;
}

/** Reads a schema, uncached. @throws Failure (nothing stored) when there is none */
export async function readSchema(session: Session, name: string): Promise<Custom<PtahSchema>> {
  const at = { namespace: session.namespace, name };
  const found = await orAbsent(session.client.get(custom.PtahSchema.typed, at, { timeoutMs: session.requestMs }));
  if (found === undefined) throw nothingStored(`there is no PtahSchema ${name} in namespace ${session.namespace}`);
  return found;
}
