/** `kubectl ptah refresh`: asks for a read now, with a request no earlier one can be taken for. */
import { annotation } from "../crds/names.ts";
import type { PtahSchema } from "../crds/ptahschema.ts";
import { type Custom, custom, isKubeError } from "../kube/index.ts";
import { EXIT, type ExitCode, failed } from "./failure.ts";
import { limits } from "./limits.ts";
import { conditionOf } from "./schemaview.ts";
import { readSchema, type Session } from "./session.ts";
import { settledDown, stuckMessage, type Verdict, waitUntil } from "./wait.ts";

type Schema = Custom<PtahSchema>;

/** Later than now, than what the resource holds and than what was answered last. */
export function requestValue(schema: Schema, nowMs: number): string {
  const held = [schema.metadata.annotations?.[annotation.readRequestedAt], schema.status?.lastReadRequest];
  const instants = held.map((text) => Date.parse(text ?? "")).filter((ms) => !Number.isNaN(ms));
  return new Date(Math.max(nowMs, ...instants.map((ms) => ms + 1))).toISOString();
}

/** @throws Failure */
export async function refresh(session: Session, name: string, wait: boolean, waitMs: number): Promise<ExitCode> {
  const { value, before } = await request(session, name);
  session.io.stdout(`requested: ${annotation.readRequestedAt}=${value}\n`);
  if (!wait) return EXIT.printed;
  const judge = (schema: Schema): Verdict => readVerdict(schema, before, value);
  session.io.stdout(`${await waitUntil(session, name, waitMs, judge)}\n`);
  return EXIT.printed;
}

async function request(session: Session, name: string): Promise<{ value: string; before: Schema }> {
  for (let attempt = 1; ; attempt++) {
    const before = await readSchema(session, name);
    const value = requestValue(before, session.io.nowMs());
    const { uid, resourceVersion } = before.metadata;
    const body = { metadata: { annotations: { [annotation.readRequestedAt]: value } } };
    try {
      const at = { namespace: session.namespace, name };
      const options = { timeoutMs: session.requestMs };
      await session.client.patch(custom.PtahSchema.raw, at, { type: "merge", body, uid, resourceVersion }, options);
      return { value, before };
    } catch (error) {
      if (!isKubeError(error, "Conflict")) throw error;
      if (attempt >= limits.patchAttemptsMax) throw failed(`${name} keeps changing; try again`, error);
    }
  }
}

/** Reasons under which a request waits for somebody first. */
const NOT_ANSWERED = new Set(["UnsupportedEngine", "RealmConflict", "RealmNotAuthorized", "TargetIdentityChanged"]);

/** Done when the read that the request started has ended, whatever it found. */
function readVerdict(schema: Schema, before: Schema, value: string): Verdict {
  const { status, metadata } = schema;
  if (status?.lastReadRequest !== value) {
    const reason = conditionOf(schema, "Ready")?.reason ?? "";
    const held = status?.phase === "Suspended" || NOT_ANSWERED.has(reason);
    return held ? { state: "stopped", message: `the request waits: ${stuckMessage(schema)}` } : { state: "going" };
  }
  const began = status.cycle?.startedAt;
  const another = began !== undefined && began !== before.status?.cycle?.startedAt;
  if (!another || !settledDown(schema) || status.cycle?.endedAt === undefined) return { state: "going" };
  return { state: "done", message: `${metadata.name} was read: ${status.phase ?? "unset"}` };
}
