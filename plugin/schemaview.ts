/** `kubectl ptah schema`: where a schema is, what it waits for and what to do next. */
import { nobodyLooks, unseenOf } from "./attention.ts";
import { EXIT, type ExitCode } from "./failure.ts";
import type { Schema, Target } from "./families.ts";
import { lastApply } from "./lastapply.ts";
import {
  conditionLines,
  nextLines,
  operationJson,
  operationOf,
  standingJson,
  standingLines,
  unsettledJson,
  unsettledOf,
} from "./resourceview.ts";
import { readResource, type Session } from "./session.ts";
import { type Colors, field, instant, visible, visibleLine } from "./text.ts";

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
  const { spec, status } = schema;
  const failed = lastApply(schema)?.message;
  return [
    ...standingLines("Schema", schema, silence, colors),
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
    ...field("Unsettled", unsettledOf(status?.pendingObservation)),
    ...field("Last Apply", failed && visibleLine(failed)),
    ...conditionLines(schema, [["Last Apply", failed]]),
    ...nextLines(schema),
  ];
}

function engineOf(schema: Schema): string {
  const version = schema.status?.target?.serverVersion;
  return version === undefined ? schema.spec.target.engine : `${schema.spec.target.engine} ${visible(version)}`;
}

/** What the last read found, by category; never names or values. */
function driftOf(schema: Schema): string | undefined {
  const target = schema.status?.target;
  if (target?.highestDriftSeverity === undefined) return undefined;
  const count = target.driftFindingCount ?? 0;
  const findings = (target.driftFindings ?? []).map((finding) => `${finding.count} of ${finding.category}`);
  const rated = `the last read found ${count} difference${count === 1 ? "" : "s"}, the gravest of severity ${target.highestDriftSeverity}`;
  const sorts = findings.length === 0 ? "" : `: ${findings.join(", ")}`;
  const classed = schema.status?.plan === undefined ? "" : " What a statement risks is its class, in the plan.";
  return `${rated}${sorts}.${classed}`;
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

function jsonOf(schema: Schema, silence: string | undefined): string {
  const { status, spec } = schema;
  const content = {
    ...standingJson("Schema", schema, silence),
    policy: spec.policy,
    source: status?.source,
    target: status?.target,
    operation: operationJson(schema),
    plan: status?.plan,
    applied: status?.applied,
    unsettled: unsettledJson(status?.pendingObservation),
    nextReconciliationTime: status?.nextReconciliationTime,
    conditions: status?.conditions ?? [],
  };
  return `${JSON.stringify(content, undefined, 2)}\n`;
}
