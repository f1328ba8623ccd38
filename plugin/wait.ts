/** Waiting by looking again: bounded, with a line on standard error for every change of phase. */
import { SCHEMA_PHASES, type SchemaPhase } from "../crds/index.ts";
import type { PtahSchema } from "../crds/ptahschema.ts";
import { type Custom, isKubeError } from "../kube/index.ts";
import { EXIT, type ExitCode, failed, usage } from "./failure.ts";
import { limits } from "./limits.ts";
import { nextOf } from "./next.ts";
import { conditionOf } from "./schemaview.ts";
import { readSchema, type Session } from "./session.ts";
import { isResolved } from "./source.ts";
import { span, visible } from "./text.ts";

type Schema = Custom<PtahSchema>;

/** What one look comes to. */
export type Verdict =
  | { readonly state: "going" }
  | { readonly state: "done"; readonly message: string }
  | { readonly state: "stopped"; readonly message: string };

const GOING: Verdict = { state: "going" };

/** The manager has judged this generation, and nothing is under way. */
export function settledDown(schema: Schema): boolean {
  const { status, metadata } = schema;
  return (
    status !== undefined &&
    status.observedGeneration === metadata.generation &&
    status.activeOperation === undefined &&
    status.cycle?.next === undefined
  );
}

/** Why a resource stays where it is until somebody acts, with the next command. */
export function stuckMessage(schema: Schema): string {
  const ready = conditionOf(schema, "Ready");
  const phase = schema.status?.phase ?? "unset";
  if (ready === undefined) return `${schema.metadata.name} is ${phase}`;
  const next = nextOf(ready.reason, schema.metadata);
  const message = visible(ready.message)
    .replaceAll("\n", " ")
    .replace(/([^.!?])$/, "$1.");
  return `${schema.metadata.name} is ${phase} (${ready.reason}): ${message}${next === undefined ? "" : ` Next: ${next}`}`;
}

/** Reasons for which a person has to act although the operator goes on trying by itself. */
const HELD_REASONS: ReadonlySet<string> = new Set([
  "PodCannotStart",
  "PodAdmissionRefused",
  "RealmConflict",
  "RealmNotAuthorized",
]);

/** Held up by something that only a person mends. */
function isHeld(schema: Schema): boolean {
  const current = schema.status?.observedGeneration === schema.metadata.generation;
  return current && HELD_REASONS.has(conditionOf(schema, "Ready")?.reason ?? "");
}

const NEEDS_SOMEBODY: readonly (SchemaPhase | undefined)[] = ["AwaitingApproval", "Blocked", "Suspended"];

/** Done when in sync, stopped where only a person moves it on. */
export function restVerdict(schema: Schema): Verdict {
  if (!settledDown(schema)) return GOING;
  const phase = schema.status?.phase;
  if (phase === "InSync") return { state: "done", message: `${schema.metadata.name} is in sync` };
  return NEEDS_SOMEBODY.includes(phase) ? { state: "stopped", message: stuckMessage(schema) } : GOING;
}

/**
 * Looks until the verdict is no longer "going".
 * @throws Failure when the time is over, the resource is replaced or deleted, or it cannot be read for too long
 */
export async function waitUntil(
  session: Session,
  name: string,
  timeoutMs: number,
  judge: (schema: Schema) => Verdict | Promise<Verdict>,
): Promise<string> {
  const { io } = session;
  const end = io.monotonicMs() + timeoutMs;
  const seen: Seen = { failures: 0 };
  for (;;) {
    const schema = await look(session, name, seen);
    if (schema !== undefined) {
      remember(session, seen, schema);
      const verdict = await judge(schema);
      if (verdict.state === "done") return verdict.message;
      if (verdict.state === "stopped") throw failed(verdict.message);
    }
    const leftMs = end - io.monotonicMs();
    if (leftMs <= 0) {
      const where = seen.last === undefined ? `${name} could not be read` : stuckMessage(seen.last);
      throw failed(`gave up after ${span(timeoutMs)}: ${where}`);
    }
    await io.sleep(Math.min(limits.pollMs, leftMs));
  }
}

interface Seen {
  last?: Schema;
  failures: number;
}

/** Says a change of phase once. @throws Failure when it is another object under the same name */
function remember(session: Session, seen: Seen, schema: Schema): void {
  const { last } = seen;
  const { name, uid } = schema.metadata;
  if (last !== undefined && last.metadata.uid !== uid) throw failed(`${name} was replaced by another object`);
  if (last === undefined || last.status?.phase !== schema.status?.phase) {
    session.io.stderr(`kubectl-ptah: ${name}: ${schema.status?.phase ?? "unset"}\n`);
  }
  seen.last = schema;
}

async function look(session: Session, name: string, seen: Seen): Promise<Schema | undefined> {
  try {
    const schema = await readSchema(session, name);
    seen.failures = 0;
    return schema;
  } catch (error) {
    seen.failures += 1;
    const passing = isKubeError(error, "Unavailable", "Timeout", "TooManyRequests");
    if (!passing || seen.failures > limits.failedLooksMax) throw error;
    return undefined;
  }
}

/** The phase a `--for` names. @throws Failure (usage) */
function phaseNamed(word: string): SchemaPhase {
  const phase = SCHEMA_PHASES.find((known) => known.toLowerCase() === word.toLowerCase());
  if (phase === undefined) throw usage(`--for needs a phase: ${SCHEMA_PHASES.join(", ")}`);
  return phase;
}

/** `kubectl ptah wait`: until in sync, or until a phase. */
export async function waitFor(
  session: Session,
  name: string,
  phase: string | undefined,
  timeoutMs: number,
): Promise<ExitCode> {
  const wanted = phase === undefined ? undefined : phaseNamed(phase);
  let heldSinceMs: number | undefined;
  const judge = async (schema: Schema): Promise<Verdict> => {
    if (wanted === undefined) {
      const nowMs = session.io.monotonicMs();
      heldSinceMs = isHeld(schema) ? (heldSinceMs ?? nowMs) : undefined;
      if (heldSinceMs !== undefined && nowMs - heldSinceMs >= limits.heldMs) {
        return { state: "stopped", message: stuckMessage(schema) };
      }
      const verdict = restVerdict(schema);
      return verdict.state === "going" || (await isResolved(session, schema)) ? verdict : GOING;
    }
    const { status, metadata } = schema;
    const there = status?.phase === wanted && status.observedGeneration === metadata.generation;
    return there ? { state: "done", message: `${metadata.name} is ${wanted}` } : GOING;
  };
  session.io.stdout(`${await waitUntil(session, name, timeoutMs, judge)}\n`);
  return EXIT.printed;
}
