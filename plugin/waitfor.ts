/** `kubectl ptah wait`: until it rests, or until a phase. */
import { APPROVED, approvalUnderWay } from "./approvals.ts";
import { EXIT, type ExitCode, usage } from "./failure.ts";
import type { Family, Resource, Target } from "./families.ts";
import { limits } from "./limits.ts";
import type { Session } from "./session.ts";
import { isResolved } from "./source.ts";
import { mindTrouble, readingComes, restVerdict, stuckMessage, type Verdict, waitUntil } from "./wait.ts";

const GOING: Verdict = { state: "going" };

/** Held up by something that may pass within moments: a record whose own reading is still to come. */
const isHeld = (family: Family, resource: Resource): boolean =>
  readingComes(family, resource) && restVerdict(resource).state === "stopped";

/** The phase a `--for` names. @throws Failure (usage) */
function phaseNamed(family: Family, word: string): string {
  const phase = family.phases.find((known) => known.toLowerCase() === word.toLowerCase());
  if (phase === undefined) throw usage(`--for needs a phase: ${family.phases.join(", ")}`);
  return phase;
}

/** `kubectl ptah wait`: until in sync, or until a phase. */
export async function waitFor(
  session: Session,
  target: Target,
  phase: string | undefined,
  timeoutMs: number,
): Promise<ExitCode> {
  const wanted = phase === undefined ? undefined : phaseNamed(target.family, phase);
  const { family } = target;
  const judge = mindTrouble(session, family, wanted === undefined ? restJudge(session, family) : inPhase(wanted));
  session.io.stdout(`${await waitUntil(session, target, timeoutMs, judge)}\n`);
  return EXIT.printed;
}

function inPhase(wanted: string): (resource: Resource) => Verdict {
  return ({ status, metadata }) => {
    const there = status?.phase === wanted && status.observedGeneration === metadata.generation;
    return there ? { state: "done", message: `${metadata.name} is ${wanted}` } : GOING;
  };
}

/** At rest, with patience for what may pass by itself. */
function restJudge(session: Session, family: Family): (resource: Resource) => Promise<Verdict> {
  let heldSinceMs: number | undefined;
  return async (resource) => {
    const nowMs = session.io.monotonicMs();
    const approval = await approvalUnderWay(session, family, resource);
    const held = approval !== undefined || isHeld(family, resource);
    heldSinceMs = held ? (heldSinceMs ?? nowMs) : undefined;
    if (heldSinceMs !== undefined && nowMs - heldSinceMs >= limits.heldMs) {
      return { state: "stopped", message: stuckMessage(resource) };
    }
    if (approval !== undefined) return { state: "going", line: APPROVED };
    if (heldSinceMs !== undefined && readingComes(family, resource)) return GOING;
    const verdict = restVerdict(resource);
    const current = verdict.state === "going" || (await isResolved(session, family.source(resource)));
    return current ? verdict : GOING;
  };
}
