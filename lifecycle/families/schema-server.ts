/** Which servers a schema can be compared with: those a throwaway server of the same major version is configured for. */
import { normalizeEngine } from "../../crds/engine.ts";
import type { ApplyRecord } from "../../crds/status/index.ts";
import type { Context, Status } from "../context.ts";
import type { Refusal } from "./family.ts";
import { schemaSpec } from "./schema-fields.ts";

/** The scratch image's key for a server. */
export function scratchKey(engine: string, serverMajor: number): string {
  return `${normalizeEngine(engine) ?? engine}-${serverMajor}`;
}

/** What is wrong where the server's major version is known and no scratch image is of it. */
export function serverRefusal(c: Context, record: ApplyRecord | undefined): Refusal | undefined {
  const spec = schemaSpec(c);
  const major = c.status.target?.serverMajor;
  // A record reads its own target, whatever the spec names by now.
  const dev = record === undefined ? spec.dev : record.observation?.dev;
  if (major === undefined || dev !== undefined) return undefined;
  const key = scratchKey(record?.target?.engine ?? spec.target.engine, major);
  if (c.view.configuration.scratchImages[key] !== undefined) return undefined;
  return {
    reason: "UnsupportedServerVersion",
    sentence: `No scratch image is configured for ${key} and spec.dev.urlFrom names no database to compare with. Configure --scratch-image ${key}=<image>, or set spec.dev.urlFrom.`,
  };
}

/** When the server was last read, and the fields that forget its version. */
export function server(c: Context): { readonly readAt: string | undefined; readonly forgotten: Partial<Status> } {
  const { target } = c.status;
  return {
    readAt: target?.lastObservedAt,
    forgotten: { target: { ...target, serverVersion: undefined, serverMajor: undefined } },
  };
}
