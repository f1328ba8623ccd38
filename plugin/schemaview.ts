/** `kubectl ptah schema`: where a schema is, what it waits for and what to do next. */
import type { Condition } from "../crds/common.ts";
import { explainReason } from "../crds/reasons.ts";
import { nobodyLooks, unseenOf } from "./attention.ts";
import { EXIT, type ExitCode, nothingStored } from "./failure.ts";
import { SCHEMA, type Schema, type Target } from "./families.ts";
import { limits } from "./limits.ts";
import { nextOf } from "./next.ts";
import { conditionOf } from "./resource.ts";
import { readResource, type Session } from "./session.ts";
import { type Colors, field, instant, span, table, visible } from "./text.ts";

/** Prints one schema. */
export async function printSchema(
  session: Session,
  target: Target<Schema>,
  output: "text" | "json",
): Promise<ExitCode> {
  const schema = await readResource(session, target);
  const silence = await nobodyLooks(session, unseenOf(schema, session.io.nowMs()));
  const text =
    output === "json" ? jsonOf(schema, silence) : `${schemaLines(schema, silence, session.colors).join("\n")}\n`;
  session.io.stdout(text);
  return EXIT.printed;
}

function schemaLines(schema: Schema, silence: string | undefined, colors: Colors): string[] {
  const { spec, status, metadata } = schema;
  const ready = conditionOf(schema, "Ready");
  return [
    ...field("Schema", `${metadata.namespace ?? ""}/${metadata.name}`),
    ...field("Phase", phaseOf(schema, colors)),
    ...field("Manager", silence),
    ...field("Ready", ready === undefined ? "not judged yet" : `${ready.status} (${ready.reason})`),
    ...field("Engine", engineOf(schema)),
    ...field("Policy", `apply ${spec.policy.apply}${spec.policy.allowDestructive ? ", destructive allowed" : ""}`),
    ...field("Source", status?.source === undefined ? undefined : visible(status.source.requestedReference)),
    ...field("Content", status?.source?.contentDigest),
    ...field("Drift", driftOf(schema)),
    ...field("Last read", instant(status?.target?.lastObservedAt)),
    ...field("Next read", instant(status?.nextReconciliationTime)),
    ...field("Operation", operationOf(schema)),
    ...field("Plan", planOf(schema)),
    ...field("Applied", appliedOf(schema)),
    ...field("Unsettled", unsettledOf(schema)),
    ...conditionLines(schema),
    ...nextLines(ready, schema),
  ];
}

function phaseOf(schema: Schema, colors: Colors): string {
  const { status, metadata, spec } = schema;
  const phase = status?.phase ?? "not seen by a manager yet";
  const stale =
    status?.phase !== undefined && status.observedGeneration !== metadata.generation ? " (of an earlier spec)" : "";
  const paint = phase === "InSync" ? colors.green : /Blocked|Failed/.test(phase) ? colors.red : colors.yellow;
  return `${paint(phase)}${stale}${spec.suspend && phase !== "Suspended" ? " (suspending)" : ""}`;
}

function engineOf(schema: Schema): string {
  const version = schema.status?.target?.serverVersion;
  return version === undefined ? schema.spec.target.engine : `${schema.spec.target.engine} ${visible(version)}`;
}

/** What the last read found, by category; never names or values. */
function driftOf(schema: Schema): string | undefined {
  const target = schema.status?.target;
  if (target?.highestDriftSeverity === undefined) return undefined;
  const findings = (target.driftFindings ?? []).map((finding) => `${finding.category} ${finding.count}`);
  return [`${target.driftFindingCount ?? 0} (${target.highestDriftSeverity})`, ...findings].join(", ");
}

function operationOf(schema: Schema): string | undefined {
  const claim = schema.status?.activeOperation;
  return claim && `${claim.type} (Job ${claim.jobName}, attempt ${claim.attempt}, since ${instant(claim.startedAt)})`;
}

function planOf(schema: Schema): string | undefined {
  const plan = schema.status?.plan;
  if (plan === undefined) return undefined;
  const words = [
    `${plan.statementCount} statement${plan.statementCount === 1 ? "" : "s"}`,
    ...(plan.destructive ? ["destructive"] : []),
    ...((plan.privilegeChanges ?? []).length > 0 ? ["changes privileges"] : []),
  ];
  return `${plan.name} (${words.join(", ")})`;
}

function appliedOf(schema: Schema): string | undefined {
  const applied = schema.status?.applied;
  return applied && `${applied.planRef.name}, proved ${instant(applied.completedAt)}`;
}

function unsettledOf(schema: Schema): string | undefined {
  const record = schema.status?.pendingObservation;
  return record && `${record.outcome}, Job ${record.job.name}, recorded ${instant(record.recordedAt)}`;
}

function conditionLines(schema: Schema): string[] {
  const shown = (schema.status?.conditions ?? []).filter((c) => c.status === "True" || c.type === "Ready");
  if (shown.length === 0) return [];
  const rows = shown.map((c) => [`  ${c.type}`, c.status, c.reason, visible(c.message).replaceAll("\n", " ")]);
  return ["", "Conditions:", ...table(rows)];
}

/** The next command, from the table of reasons. */
function nextLines(ready: Condition | undefined, schema: Schema): string[] {
  const entry = ready === undefined || ready.status === "True" ? undefined : explainReason(ready.reason).reason;
  if (entry === undefined) return [];
  return ["", ...field("Who acts", entry.who), ...field("Next", nextOf(entry.reason, schema, ready?.message))];
}

function jsonOf(schema: Schema, silence: string | undefined): string {
  const { status, metadata, spec } = schema;
  const content = {
    version: 1,
    kind: "Schema",
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    generation: metadata.generation,
    observedGeneration: status?.observedGeneration,
    phase: status?.phase,
    suspended: spec.suspend,
    manager: silence,
    policy: spec.policy,
    source: status?.source,
    target: status?.target,
    operation: status?.activeOperation && {
      type: status.activeOperation.type,
      id: status.activeOperation.id,
      jobName: status.activeOperation.jobName,
      attempt: status.activeOperation.attempt,
      startedAt: status.activeOperation.startedAt,
    },
    plan: status?.plan,
    applied: status?.applied,
    unsettled: status?.pendingObservation && {
      operationID: status.pendingObservation.operationID,
      outcome: status.pendingObservation.outcome,
      jobName: status.pendingObservation.job.name,
      recordedAt: status.pendingObservation.recordedAt,
    },
    nextReconciliationTime: status?.nextReconciliationTime,
    conditions: status?.conditions ?? [],
  };
  return `${JSON.stringify(content, undefined, 2)}\n`;
}

/** Prints every schema of a namespace, or of all of them. */
export async function printSchemas(session: Session, all: boolean, output: "text" | "json"): Promise<ExitCode> {
  const selection = all ? {} : { namespace: session.namespace };
  const options = { timeoutMs: session.requestMs, itemsMax: limits.listMax };
  const { items } = await session.client.list(SCHEMA.typed, selection, options);
  if (output === "json") {
    session.io.stdout(
      `${JSON.stringify({ version: 1, kind: "SchemaList", items: items.map(rowJson) }, undefined, 2)}\n`,
    );
    return EXIT.printed;
  }
  if (items.length === 0)
    throw nothingStored(`there is no PtahSchema${all ? "" : ` in namespace ${session.namespace}`}`);
  const rows = items.map((schema) => row(schema, all, session.io.nowMs()));
  const head = [...(all ? ["NAMESPACE"] : []), "NAME", "PHASE", "REASON", "NEXT READ"];
  session.io.stdout(`${table([head, ...rows]).join("\n")}\n`);
  await tellSilence(session, items);
  return EXIT.printed;
}

/** Says below a list, as a diagnostic, that nobody looks; of the resource that waits longest. */
async function tellSilence(session: Session, schemas: readonly Schema[]): Promise<void> {
  const nowMs = session.io.nowMs();
  const waiting = schemas.flatMap((schema) => unseenOf(schema, nowMs) ?? []);
  const [longest] = waiting.sort((a, b) => a.sinceMs - b.sinceMs);
  const sentence = await nobodyLooks(session, longest);
  if (sentence !== undefined) session.io.stderr(`kubectl-ptah: ${sentence}\n`);
}

const rowJson = (schema: Schema) => ({
  namespace: schema.metadata.namespace,
  name: schema.metadata.name,
  phase: schema.status?.phase,
  reason: conditionOf(schema, "Ready")?.reason,
  nextReconciliationTime: schema.status?.nextReconciliationTime,
});

function row(schema: Schema, all: boolean, nowMs: number): string[] {
  const next = Date.parse(schema.status?.nextReconciliationTime ?? "");
  const due = Number.isNaN(next) ? "" : next < nowMs ? `${span(nowMs - next)} overdue` : `in ${span(next - nowMs)}`;
  return [
    ...(all ? [schema.metadata.namespace ?? ""] : []),
    schema.metadata.name,
    schema.status?.phase ?? "",
    conditionOf(schema, "Ready")?.reason ?? "",
    due,
  ];
}
