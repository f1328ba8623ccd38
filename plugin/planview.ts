/** A plan as a person reads it: what it is, then every statement with its class and reason. */
import type { PlanDocument, PlanStatement } from "../sql/index.ts";
import { failedBeforeLines } from "./failedbefore.ts";
import type { Schema } from "./families.ts";
import { laidOut } from "./layout.ts";
import type { LoadedPlan } from "./load.ts";
import { type Colors, field, instant, visible, visibleLine } from "./text.ts";

/** The plan's facts, one `Name:` per line. */
export function planFacts(loaded: LoadedPlan, namespace: string, appliedAt: string | undefined): string[] {
  const { plan, choice } = loaded;
  const { spec, metadata } = plan;
  const destructive = loaded.unrecordedDestructive ? "true (unrecorded)" : String(spec.destructive);
  return [
    ...field("Schema", `${namespace}/${spec.schemaRef.name}`),
    ...field("Plan", `${choice} (${metadata.name})`),
    ...field("Fingerprint", spec.fingerprint),
    ...field("Content digest", spec.contentDigest),
    ...field("Dialect", spec.dialect),
    ...field("Statements", spec.statementCount),
    ...field("Destructive", destructive),
    ...field("Privileges", privileges(loaded)),
    ...field("Stored", instant(metadata.creationTimestamp)),
    ...field("Applied", instant(appliedAt)),
  ];
}

function privileges(loaded: LoadedPlan): string {
  const unrecorded = loaded.unrecordedPrivileges.map((kind) => `${kind} (unrecorded)`);
  return [...(loaded.plan.spec.privilegeChanges ?? []), ...unrecorded].join(", ") || "none";
}

/** The statements, each under a comment that says its class, its reason and its transaction. */
export function statementLines(document: PlanDocument, colors: Colors): string[] {
  return document.statements.flatMap((statement, index) => [
    paint(statement, colors)(`-- ${index + 1}/${document.statements.length} ${headline(statement)}`),
    visible(terminated(laidOut(statement.sql))),
    "",
  ]);
}

function headline(statement: PlanStatement): string {
  const { severity, reason } = statement;
  const kinds = statement.class.privilegeChanges;
  const words = [
    severity === "destructive" || !statement.class.destructive ? severity : `${severity}, destructive`,
    ...(kinds.length > 0 ? [`privileges ${kinds.join(", ")}`] : []),
    ...(statement.transaction === "alone" ? ["outside a transaction"] : []),
    ...(statement.commitAfter ? ["commits after it"] : []),
  ].join("; ");
  return reason === "" ? words : `${words}: ${visibleLine(reason)}`;
}

function paint(statement: PlanStatement, colors: Colors): (text: string) => string {
  if (statement.class.destructive || statement.severity === "destructive") return colors.red;
  if (statement.class.privilegeChanges.length > 0 || statement.severity === "warning") return colors.yellow;
  return colors.dim;
}

/** The statements alone, as one script; nothing is split or rewritten but the missing terminators. */
export function sqlScript(document: PlanDocument): string {
  return document.statements.map((statement) => `${terminated(statement.sql)}\n`).join("");
}

/** With the `;` a script needs; on its own line where the last line may be a comment. */
function terminated(sql: string): string {
  const text = sql.trimEnd();
  if (text.endsWith(";")) return text;
  const lastLine = text.slice(text.lastIndexOf("\n") + 1);
  return lastLine.includes("--") ? `${text}\n;` : `${text};`;
}

/** The plan as text, facts first. */
export function planText(loaded: LoadedPlan, schema: Schema, namespace: string, colors: Colors): string {
  const facts =
    loaded.choice === "applied"
      ? planFacts(loaded, namespace, schema.status?.applied?.completedAt)
      : [...planFacts(loaded, namespace, undefined), ...failedBeforeLines(schema)];
  const lines = [...facts, "", ...statementLines(loaded.document, colors)];
  return `${lines.join("\n").trimEnd()}\n`;
}
