/** `kubectl ptah plan`: prints the plan that stands, or the one that was applied. */
import { EXIT, type ExitCode, usage } from "./failure.ts";
import type { Migration, Resource, Schema, Target } from "./families.ts";
import { loadPlan, type PlanChoice } from "./load.ts";
import { warnOfSource } from "./migrationfiles.ts";
import { loadMigrationPlan, migrationPlanText } from "./migrationplan.ts";
import { planText, sqlScript } from "./planview.ts";
import { readResource, type Session } from "./session.ts";
import { visible } from "./text.ts";

export type PlanOutput = "text" | "sql" | "json";

/** Nothing reaches standard output until every check holds. @throws Failure */
export async function printPlan<T extends Resource>(
  session: Session,
  target: Target<T>,
  choice: PlanChoice,
  output: PlanOutput,
): Promise<ExitCode> {
  const resource = await readResource(session, target);
  session.io.stdout(await target.family.plan(session, resource, choice, output));
  return EXIT.printed;
}

/** A schema's plan: its statements. @throws Failure */
export async function schemaPlan(
  session: Session,
  schema: Schema,
  choice: PlanChoice,
  output: PlanOutput,
): Promise<string> {
  const loaded = await loadPlan(session, schema, choice);
  if (output === "json") {
    // Byte for byte, so that it still hashes to the content digest.
    const text = new TextDecoder().decode(loaded.bytes);
    return text.endsWith("\n") ? text : `${text}\n`;
  }
  if (output === "sql") {
    const script = sqlScript(loaded.document);
    return session.io.outputIsTerminal ? visible(script) : script;
  }
  return planText(loaded, schema, session.namespace, session.colors);
}

/** A migration's plan: its versions and their checksums. @throws Failure; usage for SQL, which it does not hold */
export async function migrationPlan(
  session: Session,
  migration: Migration,
  choice: PlanChoice,
  output: PlanOutput,
): Promise<string> {
  if (output === "sql") throw usage("a plan of migrations holds no SQL: it stays in the source. Use -o text or json.");
  const plan = await loadMigrationPlan(session, migration, choice);
  if (output === "json") {
    const { name, namespace } = migration.metadata;
    const { fingerprint, contentDigest, historyFingerprint, currentVersion, migrations } = plan.spec;
    const content = {
      version: 1,
      kind: "MigrationPlan",
      namespace,
      name,
      choice,
      plan: { name: plan.metadata.name, uid: plan.metadata.uid, fingerprint, contentDigest, historyFingerprint },
      currentVersion,
      migrations,
    };
    return `${JSON.stringify(content, undefined, 2)}\n`;
  }
  if (choice === "current") await warnOfSource(session, migration);
  return migrationPlanText(migration, plan, choice);
}
