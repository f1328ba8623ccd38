import { existsSync } from "node:fs";
import { normalizeEngine } from "../crds/engine.ts";
import type { SequenceStep } from "../crds/status/plan.ts";
import { targetIdentity } from "../crds/targetidentity.ts";
import { ENV } from "../workload/environment.ts";
import { OPERATION_ID_LENGTH_MAX, RUNNER_PROTOCOL_VERSION } from "../workload/limits.ts";
import { isMutating, type WireOperation } from "../workload/result.ts";
import { digestOf, type Env } from "./env.ts";
import { Failed, UsageError } from "./failure.ts";
import { GRACE_SECONDS_DEFAULT, GRACE_SECONDS_MAX } from "./limits.ts";
import { approvedSequence } from "./migrations.ts";

/** What one run is bound to, once every check passed. */
export interface Bindings {
  readonly coordinationDigest: string;
  readonly targetIdentityDigest: string;
  /** The database URL as the child gets it: with the mounted CA named in it. */
  readonly databaseURL: string;
  /** Of a migration Apply: what its child may run. */
  readonly sequence: readonly SequenceStep[] | undefined;
  readonly deadlines: Deadlines | undefined;
  readonly graceMs: number;
}

/** Absolute instants in epoch milliseconds. */
export interface Deadlines {
  readonly dispatchNotAfterMs: number;
  readonly executionNotAfterMs: number;
}

/** The operation id. Without it nothing can be framed for anybody. @throws UsageError */
export function readOperationID(env: Env): string {
  const id = env[ENV.operationID] ?? "";
  if (id === "" || id.length > OPERATION_ID_LENGTH_MAX || /\p{Cc}/u.test(id)) {
    throw new UsageError(`${ENV.operationID} must be set to the claim's operation id`);
  }
  return id;
}

/** Whether the Job was built for this runner's protocol; asked before anything else is read. */
export function speaksOurProtocol(env: Env): boolean {
  return env[ENV.protocolVersion] === String(RUNNER_PROTOCOL_VERSION);
}

/**
 * Every check between the protocol and the operation's body, in the order of the reference (runner contract 1.3).
 * @param learned called with each digest as soon as it is established, so that a later refusal still names it
 * @throws Failed with the check's own code
 */
export function readBindings(
  operation: WireOperation,
  env: Env,
  nowMs: number,
  learned: (known: { coordinationDigest?: string; targetIdentityDigest?: string }) => void,
): Bindings {
  const coordinationDigest = digestOf(
    env,
    ENV.coordinationDigest,
    "missing_coordination_binding",
    "invalid_coordination_binding",
  );
  learned({ coordinationDigest });
  const { targetIdentityDigest, databaseURL } = readTarget(env);
  learned({ coordinationDigest, targetIdentityDigest });
  const mutating = isMutating(operation);
  if (mutating) {
    expectEqual(env, ENV.expectedCoordinationDigest, coordinationDigest, "coordination_binding", "the realm");
    expectEqual(env, ENV.expectedTargetIdentityDigest, targetIdentityDigest, "target_binding", "the database");
  }
  const sequence = operation === "migration-apply" ? approvedSequence(env) : undefined;
  const deadlines = mutating ? readDeadlines(env) : undefined;
  if (deadlines !== undefined) checkDeadlines(deadlines, nowMs);
  const graceMs = readGraceMs(env, mutating);
  return { coordinationDigest, targetIdentityDigest, databaseURL, sequence, deadlines, graceMs };
}

function readTarget(env: Env): { targetIdentityDigest: string; databaseURL: string } {
  const url = (env[ENV.databaseURL] ?? "").trim();
  if (url === "") {
    throw new Failed(
      "missing_target",
      "The Secret key named by spec.target.urlFrom is empty. Put the database URL there.",
    );
  }
  const engine = normalizeEngine(env[ENV.expectedEngine] ?? "");
  if (engine === undefined) throw new Failed("invalid_configuration", `${ENV.expectedEngine} names no engine.`);
  const caFile = env[ENV.databaseCAFile] || undefined;
  const identity = targetIdentity(engine, url, caFile);
  if (!identity.ok) throw new Failed("invalid_target", identity.message);
  return { targetIdentityDigest: identity.digest, databaseURL: withCertificate(url, caFile) };
}

/**
 * The bundle of spec.target.caFrom is in the Pod. Its volume is an optional one: a Pod that waits for a missing volume says
 * why to nobody but an Event, and ends at its deadline.
 * @throws Failed
 */
export function requireCertificate(env: Env): void {
  const caFile = env[ENV.databaseCAFile] || undefined;
  if (caFile === undefined || existsSync(caFile)) return;
  throw new Failed(
    "missing_ca",
    "The ConfigMap or the key that spec.target.caFrom names does not exist; nothing was sent to the database. " +
      "Create it, or correct caFrom.",
  );
}

/** libpq, its relatives and our executor (for MySQL too) read the CA's path from the URL. */
function withCertificate(url: string, caFile: string | undefined): string {
  if (caFile === undefined) return url;
  return `${url}${url.includes("?") ? "&" : "?"}sslrootcert=${encodeURIComponent(caFile)}`;
}

function expectEqual(env: Env, name: string, actual: string, binding: string, what: string): void {
  const expected = digestOf(env, name, `missing_${binding}`, `invalid_${binding}`);
  if (expected !== actual) {
    throw new Failed(
      `${binding}_mismatch`,
      `${what} that this Pod would change is not the one its plan was computed for; nothing was sent to it. ` +
        "Wait for the next plan, or point the Secret back.",
    );
  }
}

function readDeadlines(env: Env): Deadlines {
  const dispatch = env[ENV.dispatchNotAfter] ?? "";
  if (dispatch === "") throw new Failed("missing_dispatch_deadline", `${ENV.dispatchNotAfter} is not set.`);
  const execution = env[ENV.executionNotAfter] ?? "";
  const dispatchNotAfterMs = instantMs(dispatch, ENV.dispatchNotAfter);
  if (execution === "") throw new Failed("missing_execution_deadline", `${ENV.executionNotAfter} is not set.`);
  const executionNotAfterMs = instantMs(execution, ENV.executionNotAfter);
  if (executionNotAfterMs < dispatchNotAfterMs) {
    throw new Failed("invalid_configuration", "The execution deadline lies before the dispatch deadline.");
  }
  return { dispatchNotAfterMs, executionNotAfterMs };
}

const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

function instantMs(text: string, name: string): number {
  const ms = RFC3339.test(text) ? Date.parse(text.replace(/(\.\d{3})\d+/, "$1")) : Number.NaN;
  if (!Number.isFinite(ms)) throw new Failed("invalid_configuration", `${name} is not an RFC 3339 instant.`);
  return ms;
}

/**
 * Both deadlines lie in the future. Asked at the start and again immediately before the child, because a Pod that was
 * scheduled late or resumed may cross its window while the plan is being prepared (seed 002).
 * @throws Failed
 */
export function checkDeadlines(deadlines: Deadlines, nowMs: number): void {
  if (nowMs >= deadlines.dispatchNotAfterMs) {
    throw new Failed(
      "dispatch_deadline_expired",
      "The last instant at which this run might begin has passed; nothing was sent to the database.",
    );
  }
  if (nowMs >= deadlines.executionNotAfterMs) {
    throw new Failed("execution_deadline_expired", "The run's deadline has passed; nothing was sent to the database.");
  }
}

function readGraceMs(env: Env, required: boolean): number {
  const text = env[ENV.terminationGraceSeconds] ?? "";
  if (text === "" && !required) return GRACE_SECONDS_DEFAULT * 1_000;
  const seconds = /^[1-9][0-9]{0,2}$/.test(text) ? Number(text) : 0;
  if (seconds < 1 || seconds > GRACE_SECONDS_MAX) {
    throw new Failed(
      "missing_termination_grace",
      `${ENV.terminationGraceSeconds} must be from 1 to ${GRACE_SECONDS_MAX}.`,
    );
  }
  return seconds * 1_000;
}
