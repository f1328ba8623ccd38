/** The small vocabulary the explored world is made of: one resource, few contents, few databases, one grid of time. */
import { canonicalJson, sha256Digest } from "../../crds/canonical.ts";
import { coordinationDigest } from "../../crds/fingerprints.ts";
import type { PtahSchemaSpec } from "../../crds/spec.ts";
import type { ExecutionComponents, ManagerRecord } from "../../crds/status/index.ts";
import { encodePlan } from "../../sql/plan-document.ts";
import type { OperationResult } from "../../workload/result.ts";

export const NAMESPACE = "apps";
export const RESOURCE_NAME = "orders";
export const SOURCE_UID = "configmap-1";

export const SECOND_MS = 1000;
/** Every clock step ends on this grid; all deadlines of the explored spec are multiples of it. */
export const GRID_MS = 30 * SECOND_MS;
export const EPOCH_MS = Date.parse("2026-01-01T00:00:00Z");

export const DEADLINE_SECONDS = 120;
export const GRACE_SECONDS = 30;
/** Skew between clocks that the absolute deadlines assume (design, "May still write"). */
export const SKEW_MS = 60 * SECOND_MS;
export const CONTENDER_DURATION_SECONDS = 180;

/** What a source ConfigMap holds. */
export type Content = "A" | "B";

/** The inputs of a spec that a person may edit here; everything else stands still. */
export interface SpecInputs {
  readonly apply: "Never" | "OnApproval" | "Always";
  readonly suspend: boolean;
  /** A second policy that plans differ under. */
  readonly exclude: boolean;
  readonly shared: boolean;
  readonly engine: "PostgreSQL" | "Oracle";
}

const memo = new Map<string, PtahSchemaSpec>();
const memoOf = new WeakMap<SpecInputs, PtahSchemaSpec>();

/** The spec of some inputs, as admission would have defaulted it. */
export function specOf(inputs: SpecInputs): PtahSchemaSpec {
  const known = memoOf.get(inputs);
  if (known !== undefined) return known;
  const key = canonicalJson({ ...inputs });
  const spec = memo.get(key) ?? write(inputs);
  memo.set(key, spec);
  memoOf.set(inputs, spec);
  return spec;
}

function write(inputs: SpecInputs): PtahSchemaSpec {
  return {
    target: {
      engine: inputs.engine,
      coordinationKey: "orders-db",
      sharedRealm: inputs.shared,
      urlFrom: { name: "orders-url", key: "url" },
    },
    desired: { configMap: { name: "orders-sql" } },
    policy: {
      apply: inputs.apply,
      allowDestructive: false,
      driftSeverity: "all",
      lockTimeout: "30s",
      transactionMode: "file",
      ...(inputs.exclude ? { exclude: ["legacy.*"] } : {}),
    },
    interval: "10m",
    execution: { activeDeadlineSeconds: DEADLINE_SECONDS, failureRetryInterval: "30s", connectTimeout: "10s" },
    suspend: inputs.suspend,
    history: { keepPlans: 1 },
  };
}

/** The realm of the explored resource. */
export const REALM = realm();

function realm(): string {
  const digest = coordinationDigest(NAMESPACE, {
    engine: "PostgreSQL",
    coordinationKey: "orders-db",
    sharedRealm: true,
    urlFrom: { name: "orders-url", key: "url" },
  });
  if (digest === undefined) throw new Error("the explored realm has no digest");
  return digest;
}

const digests = new Map<string, string>();

/** A digest of a few fixed texts, computed once each. */
function fixedDigest(text: string): string {
  const known = digests.get(text);
  if (known !== undefined) return known;
  const digest = sha256Digest(text);
  digests.set(text, digest);
  return digest;
}

export const contentDigestOf = (content: string): string => fixedDigest(`content ${content}`);
export const targetIdentity = (database: number): string => fixedDigest(`target ${database}`);
export const stateFingerprint = (state: string): string => fixedDigest(`state ${state}`);
const pinned = (name: string): string => `ptah/${name}@${sha256Digest(name)}`;

const components = new Map<string, ExecutionComponents>();

/** What the manager runs operations with; the number is the release. */
export function componentsOf(release: number, stateVersion: number): ExecutionComponents {
  const key = `${release} ${stateVersion}`;
  const known = components.get(key);
  if (known !== undefined) return known;
  const made = {
    controllerStateVersion: stateVersion,
    ptahVersion: `0.1.${release}`,
    executorImage: pinned(`executor-${release}`),
    runnerProtocolVersion: 1,
  };
  components.set(key, made);
  return made;
}

/** What the manager is, by the number of its rollout. */
export const MANAGERS: readonly ManagerRecord[] = ["manager", "manager-next"].map((image) => ({
  controllerImage: pinned(image),
  controllerRevision: "explored",
  runnerImage: pinned("runner"),
}));

export const SCRATCH_IMAGES = {
  "postgresql-17": { image: pinned("postgres-17"), uid: 70 },
  "postgresql-18": { image: pinned("postgres-18"), uid: 70 },
};
/** Whether there is something to compare a server of this major with. */
export const hasScratch = (major: number): boolean => `postgresql-${major}` in SCRATCH_IMAGES;
export const SERVER_MAJOR = 17;
/** Majors a server may be upgraded to: one with a scratch image, one without. */
export const LATER_MAJORS = [18, 19] as const;

/** Marks the one place where a literal of a statement might leak from; no status, Event or plan spec may hold it. */
export const SECRET_MARK = "explored-s3cr3t";

export interface PlanText {
  readonly from: string;
  readonly to: string;
  readonly text: string;
  readonly digest: string;
}

const plans = new Map<string, PlanText>();
const byDigest = new Map<string, PlanText>();

/** The plan document from one database state to a content; deterministic, two statements. */
export function planText(from: string, to: string, exclude: boolean): PlanText {
  const key = `${from} ${to} ${exclude}`;
  const known = plans.get(key);
  if (known !== undefined) return known;
  const statement = (sql: string) => ({
    sql,
    severity: "safe" as const,
    reason: "",
    transaction: "alone" as const,
    commitAfter: false,
    class: { destructive: false, privilegeChanges: [] },
  });
  const encoded = encodePlan({
    format_version: 1,
    name: "explored",
    dialect: "postgres",
    from_fingerprint: stateFingerprint(from),
    to_fingerprint: stateFingerprint(to),
    ...(exclude ? { exclude: ["legacy.*"] } : {}),
    destructive: false,
    statements: [
      statement(`COMMENT ON SCHEMA public IS '${SECRET_MARK} ${from} ${to} 1'`),
      statement(`COMMENT ON SCHEMA public IS '${from} ${to} 2'`),
    ],
  });
  if ("error" in encoded) throw new Error(encoded.error.message);
  const plan = { from, to, text: new TextDecoder().decode(encoded.bytes), digest: sha256Digest(encoded.bytes) };
  plans.set(key, plan);
  byDigest.set(plan.digest, plan);
  return plan;
}

/** The plan of a content digest; the executor reads it from the projections. */
export function planOfDigest(digest: string): PlanText | undefined {
  return byDigest.get(digest);
}

/** What a Pod found, as few bits; `resultOf` writes it out. */
export interface Frame {
  readonly type: "Observe" | "Plan" | "Apply";
  readonly outcome: "ok" | "failed" | "refused" | "uncertain" | "otherVersion" | "protected" | "unplannable";
  /** Database the Pod's Secret named. */
  readonly database: number;
  /** Database state it read (reads), empty for an Apply. */
  readonly state: string;
  /** Content it compared with; empty for a reading of the version alone. */
  readonly desired: string;
  readonly exclude: boolean;
  /** Major version of the server. */
  readonly major: number;
  /** Ghost: a statement of an Apply of ours was executed after this reading. */
  readonly dirty: boolean;
}

const results = new Map<string, OperationResult>();

/** The result an honest runner prints for what it found. */
export function resultOf(frame: Frame, operationID: string): OperationResult {
  const key = `${operationID} ${frame.type} ${frame.outcome} ${frame.database} ${frame.state} ${frame.desired} ${frame.exclude} ${frame.major}`;
  const known = results.get(key);
  if (known !== undefined) return known;
  if (results.size > 20_000) results.clear();
  const result = build(frame, operationID);
  results.set(key, result);
  return result;
}

const OPERATIONS = { Observe: "observe", Plan: "plan", Apply: "apply" } as const;
const CODES = {
  failed: "database_error",
  uncertain: "database_error",
  refused: "refused_to_start",
  otherVersion: "server_version_changed",
  protected: "protected_table",
  unplannable: "plan_refused",
} as const;

const serverOf = (major: number) =>
  ({ observedDialect: "postgresql", serverVersion: `${major}.2`, serverMajor: major }) as const;

function build(frame: Frame, operationId: string): OperationResult {
  const started = frame.outcome !== "refused";
  const base = {
    protocolVersion: 1 as const,
    operation: OPERATIONS[frame.type],
    operationId,
    childStarted: started,
    childExitCode: started ? 0 : -1,
    stdout: "",
    coordinationDigest: REALM,
    targetIdentityDigest: targetIdentity(frame.database),
  };
  if (frame.outcome !== "ok") {
    const wrote = frame.type === "Apply" && started ? { mutationStarted: true, uncertain: true } : {};
    const code = CODES[frame.outcome];
    const read = frame.outcome === "otherVersion" ? serverOf(frame.major) : {};
    const childExitCode = started ? 1 : -1;
    return { ...base, ...read, childExitCode, ...wrote, error: { code, message: "The operation failed." } };
  }
  switch (frame.type) {
    case "Apply":
      return { ...base, mutationStarted: true };
    case "Observe":
      return { ...base, ...serverOf(frame.major), ...observed(frame) };
    case "Plan":
      return { ...base, ...serverOf(frame.major), ...planned(frame) };
  }
}

function observed(frame: Frame): Partial<OperationResult> {
  // A reading of the version alone compares nothing.
  if (frame.desired === "") return {};
  const driftReportDigest = sha256Digest(`drift ${frame.state} ${frame.desired}`);
  if (frame.state === frame.desired) return { driftReportDigest, observedDrift: false, driftFindingCount: 0 };
  return {
    driftReportDigest,
    observedDrift: true,
    driftFindingCount: 1,
    highestDriftSeverity: "info",
    driftFindings: [{ category: "tables", count: 1, severity: "info" }],
  };
}

function planned(frame: Frame): Partial<OperationResult> {
  if (frame.state === frame.desired) return { planOutcome: "NoChanges" };
  const plan = planText(frame.state, frame.desired, frame.exclude);
  return { stdout: plan.text, planOutcome: "Changes", planContentDigest: plan.digest };
}
