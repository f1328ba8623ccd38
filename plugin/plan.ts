/** `kubectl ptah plan`: prints the plan that stands, or the one that was applied. */
import { EXIT, type ExitCode } from "./failure.ts";
import type { Schema, Target } from "./families.ts";
import { loadPlan, type PlanChoice } from "./load.ts";
import { planText, sqlScript } from "./planview.ts";
import { readResource, type Session } from "./session.ts";
import { visible } from "./text.ts";

export type PlanOutput = "text" | "sql" | "json";

/** Nothing reaches standard output until every check holds. */
export async function printPlan(
  session: Session,
  target: Target<Schema>,
  choice: PlanChoice,
  output: PlanOutput,
): Promise<ExitCode> {
  const schema = await readResource(session, target);
  const loaded = await loadPlan(session, schema, choice);
  if (output === "json") {
    // Byte for byte, so that it still hashes to the content digest.
    const text = new TextDecoder().decode(loaded.bytes);
    session.io.stdout(text.endsWith("\n") ? text : `${text}\n`);
  } else if (output === "sql") {
    const script = sqlScript(loaded.document);
    session.io.stdout(session.io.outputIsTerminal ? visible(script) : script);
  } else {
    const appliedAt = choice === "applied" ? schema.status?.applied?.completedAt : undefined;
    session.io.stdout(planText(loaded, session.namespace, appliedAt, session.colors));
  }
  return EXIT.printed;
}
