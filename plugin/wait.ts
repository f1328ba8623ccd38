/** Waiting by looking again: bounded, with a line on standard error for every change of where it stands and for every silence. */
import { commandFor } from "../crds/commands.ts";
import { PATCHES } from "../crds/reason.ts";
import { isKubeError } from "../kube/index.ts";
import { nobodyLooks, type Unseen, unseenOf } from "./attention.ts";
import { EXIT, Failure, failed } from "./failure.ts";
import type { Family, Resource, Target } from "./families.ts";
import { whyAPlanWaits } from "./lastapply.ts";
import { limits } from "./limits.ts";
import { nextOf, stepOf } from "./next.ts";
import { conditionOf } from "./resource.ts";
import { readResource, type Session } from "./session.ts";
import { isResolved } from "./source.ts";
import { sentence, span, visibleLine } from "./text.ts";
import { troubleWatch } from "./trouble.ts";

/** What one look comes to. */
export type Verdict =
  | {
      readonly state: "going";
      /** What waits for a manager, where the resource itself does not show it. */
      readonly unseen?: Unseen;
      /** Where it stands, where the resource itself does not show it yet. */
      readonly line?: string;
    }
  | { readonly state: "done"; readonly message: string }
  | { readonly state: "stopped"; readonly message: string };

const GOING: Verdict = { state: "going" };

/** The manager has judged this generation, and nothing is under way. */
export function settledDown(resource: Resource): boolean {
  const { status, metadata } = resource;
  return (
    status !== undefined &&
    status.observedGeneration === metadata.generation &&
    status.activeOperation === undefined &&
    status.cycle?.next === undefined
  );
}

/** Why a resource stays where it is until somebody acts, with the next command. */
export function stuckMessage(resource: Resource): string {
  const { name } = resource.metadata;
  const ready = conditionOf(resource, "Ready");
  const phase = resource.status?.phase ?? "not seen by a manager yet";
  if (ready === undefined) return `${name} is ${phase}`;
  const next = nextOf(resource);
  const message = [...whatFailedBefore(resource, ready.message), ready.message].map(sentence).join(" ");
  return `${name} is ${phase} (${ready.reason}): ${message}${next === undefined ? "" : ` Next: ${next}`}`;
}

/** What the last Apply said, unless Ready says it too; of another declaration it is told apart from the plan that waits. */
function whatFailedBefore(resource: Resource, ready: string): readonly string[] {
  const last = whyAPlanWaits(resource);
  if (last === undefined || last.message === ready) return [];
  return [last.ofAnother ? `Of what was declared before: ${last.message}` : last.message];
}

const NEEDS_SOMEBODY: readonly (string | undefined)[] = ["AwaitingApproval", "Blocked", "Suspended"];

/** Done when in sync, stopped where only a person moves it on. */
export function restVerdict(resource: Resource): Verdict {
  if (!settledDown(resource)) return GOING;
  const phase = resource.status?.phase;
  if (phase === "InSync") return { state: "done", message: `${resource.metadata.name} is in sync` };
  const rests = NEEDS_SOMEBODY.includes(phase) || conditionOf(resource, "Ready")?.reason === "ApplyDisabled";
  return rests ? { state: "stopped", message: stuckMessage(resource) } : GOING;
}

/** Whether a record's own reading, which may settle it by itself, has yet to come; a stop is not believed at once then. */
export const readingComes = <T extends Resource>(family: Family<T>, resource: T): boolean =>
  family.record(resource)?.next !== undefined;

/** A write that was accepted and after which the resource may go: that it is gone answers what is waited for. */
export interface Accepted {
  readonly uid: string;
  /** What is said when the object that was written is there no more. */
  readonly gone: string;
}

/**
 * Looks until the verdict is no longer "going".
 * @throws Failure when the time is over, the resource is replaced or deleted (unless `accepted` says what that means), or it
 * cannot be read for too long
 */
export async function waitUntil<T extends Resource>(
  session: Session,
  target: Target<T>,
  timeoutMs: number,
  judge: (resource: T) => Verdict | Promise<Verdict>,
  accepted?: Accepted,
): Promise<string> {
  const { io } = session;
  const end = io.monotonicMs() + timeoutMs;
  const seen: Seen<T> = { quiet: false };
  for (;;) {
    const resource = await look(session, target, seen, accepted);
    if (typeof resource === "string") return resource;
    if (resource !== undefined) {
      refuseOther(seen, resource);
      const verdict = await judge(resource);
      remember(session, seen, resource, verdict);
      if (verdict.state === "done") return verdict.message;
      if (verdict.state === "stopped") throw failed(verdict.message);
      await tellUnseen(session, seen, verdict.unseen ?? unseenOf(resource, io.nowMs()));
    }
    const leftMs = end - io.monotonicMs();
    if (leftMs <= 0) throw failed(`gave up after ${span(timeoutMs)}: ${whereItStands(target, seen)}`);
    await io.sleep(Math.min(limits.pollMs, leftMs));
  }
}

/** Whether the API server answers. */
interface Reach {
  /** Since when no look succeeds, and how the last one ended. */
  failing?: { readonly sinceMs: number; readonly why: string };
  /** It was said that the API server does not answer. */
  quiet: boolean;
}

interface Seen<T extends Resource> extends Reach {
  last?: T;
  /** What was said of it last. */
  line?: string;
  /** What no manager has looked at, since when that was seen here, and the sentence about it once it was said. */
  unseen?: { readonly what: string; readonly sinceMs: number; said?: string };
}

function whereItStands<T extends Resource>(target: Target<T>, seen: Seen<T>): string {
  if (seen.failing !== undefined) return `${target.name} cannot be read: ${seen.failing.why}`;
  if (seen.last === undefined) return `${target.name} could not be read`;
  // Nothing of what the status advises helps while nobody looks.
  if (seen.unseen === undefined) return stuckMessage(seen.last);
  const { what, said = `no manager has looked at ${what} yet` } = seen.unseen;
  return `${target.name} is ${seen.last.status?.phase ?? "not seen by a manager yet"}; ${said}`;
}

const say = (session: Session, sentence: string): void => session.io.stderr(`kubectl-ptah: ${sentence}\n`);

/** @throws Failure when it is another object under the same name */
function refuseOther<T extends Resource>({ last }: Seen<T>, { metadata }: T): void {
  if (last !== undefined && last.metadata.uid !== metadata.uid)
    throw failed(`${metadata.name} was replaced by another object`);
}

/** Says a change of phase or of its message once, unless the last word says as much. */
function remember<T extends Resource>(session: Session, seen: Seen<T>, resource: T, verdict: Verdict): void {
  const { status, metadata } = resource;
  // What holds a blocked resource is told once, with the next step, when it is known that it will not pass by itself.
  const shown = status?.phase === "Blocked" ? blocked(resource) : standing(resource);
  const line = (verdict.state === "going" ? verdict.line : undefined) ?? shown;
  const told = verdict.state === "stopped" && verdict.message.includes(sayingOf(resource));
  if (!told && line !== seen.line) say(session, `${metadata.name}: ${line}`);
  seen.line = line;
  seen.last = resource;
}

/** What the condition Ready says. */
const sayingOf = (resource: Resource): string => visibleLine(conditionOf(resource, "Ready")?.message ?? "");

/** The phase with its reason alone. */
function blocked(resource: Resource): string {
  const reason = conditionOf(resource, "Ready")?.reason;
  return reason === undefined ? "Blocked" : `Blocked (${reason})`;
}

/** The phase, with what the condition Ready says beside it. */
function standing(resource: Resource): string {
  const phase = resource.status?.phase ?? "not seen by a manager yet";
  const message = sayingOf(resource);
  return message === "" ? phase : `${phase}: ${message}`;
}

/** Says once that nobody looks; measured by this process's own clock too, because the two clocks may differ. */
async function tellUnseen<T extends Resource>(
  session: Session,
  seen: Seen<T>,
  unseen: Unseen | undefined,
): Promise<void> {
  const nowMs = session.io.monotonicMs();
  if (unseen === undefined) {
    seen.unseen = undefined;
    return;
  }
  if (seen.unseen?.what !== unseen.what) seen.unseen = { what: unseen.what, sinceMs: nowMs };
  if (seen.unseen.said !== undefined || nowMs - seen.unseen.sinceMs < limits.unseenMs) return;
  const sentence = await nobodyLooks(session, unseen);
  if (sentence === undefined) return;
  seen.unseen.said = sentence;
  say(session, sentence);
}

/** One look. @returns the sentence to end with where the object that was written is gone */
async function look<T extends Resource>(
  session: Session,
  target: Target<T>,
  seen: Seen<T>,
  accepted: Accepted | undefined,
): Promise<T | string | undefined> {
  try {
    const found = await attempt(session, target.name, seen, () => readResource(session, target));
    const another = accepted !== undefined && found !== undefined && found.metadata.uid !== accepted.uid;
    return another ? accepted.gone : found;
  } catch (error) {
    if (accepted !== undefined && error instanceof Failure && error.exit === EXIT.nothingStored) return accepted.gone;
    throw error;
  }
}

/** One reading. A failure that may pass is said once and tried again for a bounded time. */
async function attempt<R>(
  session: Session,
  name: string,
  reach: Reach,
  read: () => Promise<R>,
): Promise<R | undefined> {
  const { io } = session;
  const callOff = io.later(limits.quietMs, () => {
    if (reach.quiet) return;
    reach.quiet = true;
    say(session, `the API server has not answered for ${span(limits.quietMs)}; still trying`);
  });
  try {
    const found = await read();
    if (reach.failing !== undefined) say(session, `${name} can be read again`);
    reach.failing = undefined;
    reach.quiet = false;
    return found;
  } catch (error) {
    if (!isKubeError(error, "Unavailable", "Timeout", "TooManyRequests")) throw error;
    const nowMs = io.monotonicMs();
    if (reach.failing === undefined) say(session, `${name} cannot be read: ${error.message}; trying again`);
    reach.failing = { sinceMs: reach.failing?.sinceMs ?? nowMs, why: error.message };
    if (nowMs - reach.failing.sinceMs >= limits.unreachableMs) {
      throw new Failure(EXIT.failed, `gave up: ${name} cannot be read: ${error.message}`, { cause: error });
    }
    return undefined;
  } finally {
    callOff();
  }
}

/** Reads until the API server answers, as patiently as waiting does. @throws Failure */
export async function patiently<R>(
  session: Session,
  name: string,
  timeoutMs: number,
  read: () => Promise<R>,
): Promise<R> {
  const end = session.io.monotonicMs() + timeoutMs;
  const reach: Reach = { quiet: false };
  for (;;) {
    const found = await attempt(session, name, reach, read);
    if (found !== undefined) return found;
    const leftMs = end - session.io.monotonicMs();
    if (leftMs <= 0) throw failed(`gave up after ${span(timeoutMs)}: ${name} cannot be read: ${reach.failing?.why}`);
    await session.io.sleep(Math.min(limits.pollMs, leftMs));
  }
}

/**
 * A judge that also stops where a reading of the present source keeps failing and somebody has to act on it.
 * @param before the resource when something was asked for, whose failure may be over by now
 */
export function mindTrouble<T extends Resource>(
  session: Session,
  family: Family<T>,
  judge: (resource: T) => Verdict | Promise<Verdict>,
  before?: T,
): (resource: T) => Promise<Verdict> {
  const watch = troubleWatch(() => session.io.monotonicMs(), before);
  return async (resource) => {
    const verdict = await judge(resource);
    const stops = watch(resource) && verdict.state === "going" && (await isResolved(session, family.source(resource)));
    return stops ? { state: "stopped", message: `${stuckMessage(resource)}${onceMended(family, resource)}` } : verdict;
  };
}

/** How to see at once whether it is mended; a Pod that waits goes on by itself. */
function onceMended<T extends Resource>(family: Family<T>, resource: T): string {
  const { metadata, status } = resource;
  if (status?.activeOperation?.dispatchStarted === true) return "";
  const right = stepOf(resource)?.who === "database administrator" ? ` (${PATCHES})` : "";
  return ` Once it is mended${right}: ${commandFor("refresh", family.words[0], metadata)} --wait`;
}
