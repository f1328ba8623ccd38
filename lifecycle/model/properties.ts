/** What must hold in every state, seen from outside: the properties no single step shows. */
import type { Condition } from "../../crds/common.ts";
import type { Phase, Status } from "../families/types.ts";
import type { Move } from "../move.ts";
import { type Decider, type Decision, decideIn, isEffect } from "./decision.ts";
import { playedIn } from "./played.ts";
import { isGarbled, mirrorMark } from "./seen.ts";
import { statusTokens } from "./tokens.ts";
import { contentDigestOf, hasScratch, SECRET_MARK } from "./values.ts";
import { neighbours, recordOf, type World } from "./world.ts";

export interface Violation {
  readonly property: number;
  readonly sentence: string;
}

const broken = (property: number, sentence: string): Violation => ({ property, sentence });

/** The first property a state breaks, or undefined. */
export function stateViolation(
  world: World,
  decision: Decision | undefined,
  decider: Decider,
  narrated: boolean,
): Violation | undefined {
  return (
    world.ghost.broken ??
    unsettledKept(world) ??
    (decision === undefined
      ? undefined
      : (newerRefused(world, decision) ??
        narrationIgnored(world, decision, decider, narrated) ??
        nothingSecret(decision) ??
        wakes(world, decision, decider)))
  );
}

/** Property 4. */
function unsettledKept(world: World): Violation | undefined {
  const { resource } = world;
  for (const id of world.ghost.unsettled) {
    if (resource === null) return broken(4, "the resource is gone while a dispatched Apply is unsettled");
    const { activeOperation: claim } = resource.status;
    const record = recordOf(resource.status);
    const kept =
      (claim?.id === id && claim.dispatchStarted === true) ||
      record?.operationID === id ||
      (resource.mirror?.includes(id) ?? false) ||
      // It may stand for this one: nothing is started beside it.
      isGarbled(resource, world.knows);
    if (!kept) return broken(4, "a dispatched Apply is neither a live claim nor a record, and no mark keeps it");
  }
  return undefined;
}

/** Property 10. */
function newerRefused(world: World, { move }: Decision): Violation | undefined {
  const { resource } = world;
  if (resource === null || !isEffect(move)) return undefined;
  const { status } = resource;
  const versions = [
    status.executionBinding?.controllerStateVersion,
    status.plan?.controllerStateVersion,
    recordOf(status)?.binding?.controllerStateVersion,
  ];
  const newer =
    versions.some((v) => v !== undefined && v > world.knows) ||
    (resource.mirror !== undefined && mirrorMark(resource.mirror, world.knows).state === "newer");
  return newer ? broken(10, `a state of a newer contract was acted on (rule ${move.rule} ${move.kind})`) : undefined;
}

const LIES: Condition[] = [
  {
    type: "InSync",
    status: "True",
    reason: "ScopedConverged",
    message: "x",
    lastTransitionTime: "2020-01-01T00:00:00Z",
  },
  {
    type: "Ready",
    status: "True",
    reason: "ScopedConverged",
    message: "x",
    lastTransitionTime: "2020-01-01T00:00:00Z",
  },
  { type: "Blocked", status: "False", reason: "x", message: "x", lastTransitionTime: "2020-01-01T00:00:00Z" },
];

/** Property 8: the same decision whatever phase, conditions and journal say. Where narration is written it may be mended first. */
function narrationIgnored(
  world: World,
  decision: Decision,
  decider: Decider,
  narrated: boolean,
): Violation | undefined {
  if (world.resource === null) return undefined;
  const { view, move } = decision;
  const phase: Phase = view.resource.value.status.phase === "InSync" ? "Failed" : "InSync";
  const status = { ...view.resource.value.status, phase, conditions: LIES, journal: undefined };
  const value = { ...view.resource.value, status };
  const lied = decider({ ...view, resource: { ...view.resource, value } });
  return (narrated ? sameEffect(move, lied, status) : sameMove(move, lied))
    ? undefined
    : broken(8, `rule ${move.rule} decides otherwise when phase and conditions say something else`);
}

/** Whether two moves do the same; what people are told wrongly may be mended before. */
function sameEffect(a: Move, b: Move, lied: Status): boolean {
  const mends = (move: Move): boolean => move.kind === "patchStatus" && tells(move.status, lied);
  return mends(a) || mends(b) || (a.kind === b.kind && a.rule === b.rule);
}

/** Whether a status differs from another in its narration alone. */
function tells(status: Status, from: Status): boolean {
  const [x, y] = [statusTokens(status), statusTokens(from)];
  return x.length === y.length && x.every((token, i) => token === y[i]);
}

function sameMove(a: Move, b: Move): boolean {
  if (a.kind !== b.kind || a.rule !== b.rule) return false;
  if ("status" in a && "status" in b && a.kind !== "markApproval" && a.kind !== "consumeApproval") {
    const [x, y] = [statusTokens(a.status), statusTokens(b.status)];
    return x.length === y.length && x.every((token, i) => token === y[i]);
  }
  return JSON.stringify(a) === JSON.stringify(b);
}

const clean = new WeakSet<object>();

/** Whether a literal of a statement is anywhere in plain data; parts known to be clean are passed over. */
function leaks(value: unknown): boolean {
  if (typeof value === "string") return value.includes(SECRET_MARK);
  if (typeof value !== "object" || value === null || clean.has(value)) return false;
  if (Object.values(value).some(leaks)) return true;
  clean.add(value);
  return false;
}

/** Property 9: no literal of a statement outside the plan's chunks. */
function nothingSecret({ move }: Decision): Violation | undefined {
  if (move.kind === "createChunk" || !isEffect(move)) return undefined;
  return leaks(move)
    ? broken(9, `rule ${move.rule} ${move.kind} carries a statement's literal out of the plan's chunks`)
    : undefined;
}

/** Property 11, wake-ups: the instant of a wait changes the decision, and the one before it does not. */
function wakes(world: World, { move, view }: Decision, decider: Decider): Violation | undefined {
  if (move.kind !== "wait" && move.kind !== "rest") return undefined;
  const { untilMs } = move;
  if (untilMs === undefined) {
    return move.kind === "rest" && restsWithoutInstant(world)
      ? undefined
      : broken(11, `rule ${move.rule} waits for nothing that comes by itself`);
  }
  if (untilMs <= world.now) return broken(11, `rule ${move.rule} waits for an instant that has passed`);
  const then = decider({ ...view, now: { wallMs: untilMs, monotonicMs: untilMs } });
  if ((then.kind === "wait" || then.kind === "rest") && then.untilMs !== undefined && then.untilMs <= untilMs) {
    return broken(11, `rule ${move.rule} still waits when its instant has come`);
  }
  const early = decider({ ...view, now: { wallMs: untilMs - 1, monotonicMs: untilMs - 1 } });
  const before = early.kind === "look" ? decideIn(world, 0, decider, untilMs - 1)?.move : early;
  return before !== undefined && isEffect(before)
    ? broken(11, `rule ${move.rule} could go on (rule ${before.rule} ${before.kind}) before the instant it waits for`)
    : undefined;
}

/** Verdicts that only somebody's edit can end. */
function restsWithoutInstant(world: World): boolean {
  const { resource } = world;
  if (resource === null) return true;
  const newer = (resource.status.executionBinding?.controllerStateVersion ?? 0) > world.knows;
  const waits = resource.inputs.suspend || resource.inputs.engine !== "PostgreSQL" || resource.deleting;
  return waits || newer || isGarbled(resource, world.knows);
}

/** What a resting state says, and whether it is so; judged only where the world has come to rest for good. */
export function verdictTrue(world: World, { move }: Decision): string | undefined {
  if (move.kind !== "rest" || world.resource === null) return undefined;
  // A state of a newer contract is not judged; property 10 says that nothing is done to it.
  if (move.rule === "1") return undefined;
  const { resource } = world;
  const state = world.databases[world.secret]?.state;
  switch (move.verdict) {
    case "InSync":
      return playedIn(world).reached(state ?? "", world.source.content)
        ? undefined
        : "InSync, and the database is not what the source declares";
    case "AwaitingApproval": {
      const plan = world.plans.find((p) => p.uid === resource.status.plan?.uid);
      if (plan === undefined) return "AwaitingApproval, and the plan does not exist";
      if (plan.spec.source.contentDigest !== contentDigestOf(world.source.content))
        return "AwaitingApproval of a plan for another source";
      const usable = world.approvals.some(
        (a) =>
          a.planUID === plan.uid && a.planFingerprint === plan.spec.fingerprint && a.status.consumedBy === undefined,
      );
      return usable ? "AwaitingApproval, and an approval of the plan is there" : undefined;
    }
    case "Suspended":
      return resource.inputs.suspend ? undefined : "Suspended, and nobody suspends it";
    case "Blocked":
      return undefined;
    case "Planning":
      return resource.inputs.apply === "Never" ? undefined : "a plan that policy lets run rests";
    default:
      return excuse(world) !== undefined || resource.deleting
        ? undefined
        : `${move.verdict} is no resting verdict here`;
  }
}

/** Why a world may go on without a verdict: a cause that stands until somebody ends it. */
export function excuse(world: World): string | undefined {
  const { resource } = world;
  const record = recordOf(resource?.status);
  if (world.source.missing) return "the source is missing";
  if (record !== undefined && resource?.family === "schema" && !hasScratch(world.major)) {
    return "nothing here can compare with the server that the proof reads";
  }
  if (!world.envelope.resolves) return "the admission envelope does not resolve";
  const keeps = neighbours(world).some(
    ({ resource: other }) => other?.inputs.suspend === true && recordOf(other.status)?.lease !== undefined,
  );
  if (keeps) return "a suspended neighbour keeps the realm until its proof";
  if (record !== undefined && world.databases.length > 1) return "the proof's target may have moved";
  return undefined;
}

/** A Lease of ours that nothing needs and that is still held. */
export function leaked(world: World): boolean {
  const { lease } = world;
  if (lease === null || lease.holder === "" || lease.holder.endsWith("other")) return false;
  const needs = ({ resource: one }: World): boolean =>
    one?.status.activeOperation !== undefined || recordOf(one?.status) !== undefined;
  return !needs(world) && !neighbours(world).some(needs) && lease.renewedAt + lease.durationSeconds * 1000 > world.now;
}
