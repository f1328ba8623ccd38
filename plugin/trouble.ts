/** When a failure that the operator goes on trying has lasted long enough that somebody has to be told. */
import { type Trouble, troubleOf } from "../crds/trouble.ts";
import type { Resource } from "./families.ts";
import { limits } from "./limits.ts";
import { conditionOf } from "./resource.ts";

interface Standing {
  readonly key: string;
  readonly sinceMs: number;
  /** The claim whose attempts fail. */
  readonly claim: string | undefined;
}

/**
 * @param monotonicMs a clock that only goes forward
 * @param before the resource when something was asked for: what had failed then is not believed at once
 * @returns judges one look after another: whether somebody has to act on what is failing
 */
export function troubleWatch(monotonicMs: () => number, before?: Resource): (resource: Resource) => boolean {
  const stale = before === undefined ? undefined : attemptOf(before);
  let standing: Standing | undefined;
  return (resource) => {
    const claim = resource.status?.activeOperation?.id;
    const trouble = troubleAt(resource);
    if (trouble === undefined) {
      // Between two attempts of one claim nothing has got better yet.
      if (claim === undefined || claim !== standing?.claim) standing = undefined;
      return false;
    }
    if (standing?.key !== trouble.key) standing = { key: trouble.key, sinceMs: monotonicMs(), claim };
    standing = { ...standing, claim };
    const stoodMs = monotonicMs() - standing.sinceMs;
    if (answerComes(resource) || attemptOf(resource) === stale) return stoodMs >= patienceMs(trouble, limits.troubleMs);
    const failed = (resource.status?.activeOperation?.attempt ?? 1) - 1;
    return stoodMs >= patienceMs(trouble, 0) || (trouble.ends === "time" && failed >= limits.troubleAttempts);
  };
}

/** What fails, or is held up, of the present declaration though the operator goes on trying, as the condition Ready tells it. */
export function troubleAt(resource: Resource): Trouble | undefined {
  const ready = conditionOf(resource, "Ready");
  const current = resource.status?.observedGeneration === resource.metadata.generation;
  return current && ready?.status === "False" ? troubleOf(ready.reason, ready.message) : undefined;
}

function patienceMs(trouble: Trouble, personMs: number): number {
  if (trouble.ends === "person") return personMs;
  return trouble.ends === "moments" ? limits.heldMs : limits.troubleMs;
}

/** The next attempt is under way, so what the last one said may be over. */
const answerComes = ({ status }: Resource): boolean => status?.activeOperation?.dispatchStarted !== undefined;

/** What tells one failed attempt from the next. */
const attemptOf = ({ status }: Resource): string =>
  [status?.activeOperation?.id, status?.activeOperation?.attempt, status?.cycle?.startedAt].join(" ");
