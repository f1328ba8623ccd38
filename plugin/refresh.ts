/** `kubectl ptah refresh`: asks for a read now, with a request no earlier one can be taken for. */
import { bareCommandFor } from "../crds/commands.ts";
import { annotation } from "../crds/names.ts";
import { isKubeError } from "../kube/index.ts";
import { holdsRequest } from "./attention.ts";
import { EXIT, type ExitCode, failed } from "./failure.ts";
import type { Resource, Target } from "./families.ts";
import { limits } from "./limits.ts";
import { readResource, type Session } from "./session.ts";
import { instant } from "./text.ts";
import { mindTrouble, restVerdict, settledDown, stuckMessage, type Verdict, waitUntil } from "./wait.ts";

/** Later than now, than what the resource holds and than what was answered last. */
export function requestValue(resource: Resource, nowMs: number): string {
  const held = [resource.metadata.annotations?.[annotation.readRequestedAt], resource.status?.lastReadRequest];
  const instants = held.map((text) => Date.parse(text ?? "")).filter((ms) => !Number.isNaN(ms));
  return new Date(Math.max(nowMs, ...instants.map((ms) => ms + 1))).toISOString();
}

/** @throws Failure */
export async function refresh(session: Session, target: Target, wait: boolean, waitMs: number): Promise<ExitCode> {
  const { value, before } = await request(session, target);
  const follow = wait ? "" : `; ${bareCommandFor(target.family.words[0], before.metadata)} shows what it finds`;
  session.io.stdout(`a read of the database of ${target.name} is requested (${instant(value)})${follow}\n`);
  if (!wait) return EXIT.printed;
  const judge = mindTrouble(session, target.family, (resource) => readVerdict(resource, before, value), before);
  session.io.stdout(`${await waitUntil(session, target, waitMs, judge)}\n`);
  return EXIT.printed;
}

async function request(session: Session, target: Target): Promise<{ value: string; before: Resource }> {
  const { family, name } = target;
  for (let attempt = 1; ; attempt++) {
    const before = await readResource(session, target);
    const value = requestValue(before, session.io.nowMs());
    const { uid, resourceVersion } = before.metadata;
    const body = { metadata: { annotations: { [annotation.readRequestedAt]: value } } };
    try {
      const at = { namespace: session.namespace, name };
      const options = { timeoutMs: session.requestMs };
      await session.client.patch(family.raw, at, { type: "merge", body, uid, resourceVersion }, options);
      return { value, before };
    } catch (error) {
      if (!isKubeError(error, "Conflict")) throw error;
      if (attempt >= limits.patchAttemptsMax) throw failed(`${name} keeps changing; try again`, error);
    }
  }
}

/** Done when the read that the request started has ended, whatever it found: that was asked for. It says what somebody has to do. */
function readVerdict(resource: Resource, before: Resource, value: string): Verdict {
  const { status, metadata } = resource;
  if (status?.lastReadRequest !== value) {
    return holdsRequest(resource)
      ? { state: "stopped", message: `the request waits: ${stuckMessage(resource)}` }
      : { state: "going" };
  }
  const began = status.cycle?.startedAt;
  const another = began !== undefined && began !== before.status?.cycle?.startedAt;
  if (!another || !settledDown(resource) || status.cycle?.endedAt === undefined) return { state: "going" };
  const rests = restVerdict(resource);
  const message =
    rests.state === "stopped"
      ? `the database was read: ${rests.message}`
      : `${metadata.name} was read: ${status.phase ?? "unset"}`;
  return { state: "done", message };
}
