/** The small vocabulary the explored world is made of: one resource, few contents, few databases, one grid of time. */
import { canonicalJson, sha256Digest } from "../../crds/canonical.ts";
import { coordinationDigest } from "../../crds/fingerprints.ts";
import type { PtahMigrationSpec } from "../../crds/migrationspec.ts";
import type { PtahSchemaSpec } from "../../crds/spec.ts";
import type { ExecutionComponents, ManagerRecord } from "../../crds/status/index.ts";
import { encodePlan } from "../../sql/plan-document.ts";
import type { FamilyName, Spec } from "../families/types.ts";

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
  /** A second policy that plans differ under: what is excluded, or how statements are grouped. */
  readonly exclude: boolean;
  readonly shared: boolean;
  readonly engine: "PostgreSQL" | "Oracle";
  /** The coordination key, where it is not the first resource's. */
  readonly realm?: string;
}

const memo = new Map<string, Spec>();
const memoOf: Readonly<Record<FamilyName, WeakMap<SpecInputs, Spec>>> = {
  schema: new WeakMap(),
  migration: new WeakMap(),
};

/** The spec of some inputs, as admission would have defaulted it. */
export function specOf(family: FamilyName, inputs: SpecInputs): Spec {
  const known = memoOf[family].get(inputs);
  if (known !== undefined) return known;
  const key = `${family} ${canonicalJson({ ...inputs })}`;
  const spec = memo.get(key) ?? (family === "schema" ? schemaSpec(inputs) : migrationSpec(inputs));
  memo.set(key, spec);
  memoOf[family].set(inputs, spec);
  return spec;
}

const commonOf = (inputs: SpecInputs) =>
  ({
    target: {
      engine: inputs.engine,
      coordinationKey: inputs.realm ?? "orders-db",
      sharedRealm: inputs.shared,
      urlFrom: { name: "orders-url", key: "url" },
    },
    interval: "10m",
    execution: { activeDeadlineSeconds: DEADLINE_SECONDS, failureRetryInterval: "30s", connectTimeout: "10s" },
    suspend: inputs.suspend,
    history: { keepPlans: 1 },
  }) as const;

function schemaSpec(inputs: SpecInputs): PtahSchemaSpec {
  return {
    ...commonOf(inputs),
    desired: { configMap: { name: "orders-sql" } },
    policy: {
      apply: inputs.apply,
      allowDestructive: false,
      driftSeverity: "all",
      lockTimeout: "30s",
      transactionMode: "file",
      ...(inputs.exclude ? { exclude: ["legacy.*"] } : {}),
    },
  };
}

function migrationSpec(inputs: SpecInputs): PtahMigrationSpec {
  return {
    ...commonOf(inputs),
    artifact: { configMap: { name: "orders-sql" } },
    policy: {
      apply: inputs.apply,
      lockTimeout: "30s",
      ...(inputs.exclude ? { transactionMode: "none" as const } : {}),
    },
  };
}

/** The realm of the explored resource. */
export const REALM = realmOf("orders-db");

/** The digest of a coordination key. */
export function realmOf(coordinationKey: string): string {
  const urlFrom = { name: "orders-url", key: "url" };
  const digest = coordinationDigest(NAMESPACE, { engine: "PostgreSQL", coordinationKey, sharedRealm: true, urlFrom });
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
