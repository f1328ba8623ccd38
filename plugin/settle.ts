/** `kubectl ptah settle`: a person ends the record of an Apply whose effect no reading can establish. */
import { annotation } from "../crds/names.ts";
import type { PtahSchema } from "../crds/ptahschema.ts";
import { type Custom, custom } from "../kube/index.ts";
import { confirm } from "./ask.ts";
import { EXIT, type ExitCode, failed, nothingStored } from "./failure.ts";
import { readSchema, type Session } from "./session.ts";
import { field, instant } from "./text.ts";
import { waitUntil } from "./wait.ts";

export interface SettleFlags {
  readonly yes: boolean;
  readonly wait: boolean;
  readonly waitMs: number;
}

type Schema = Custom<PtahSchema>;

/** @throws Failure */
export async function settle(session: Session, name: string, flags: SettleFlags): Promise<ExitCode> {
  const schema = await readSchema(session, name);
  const record = schema.status?.pendingObservation;
  if (record === undefined) throw nothingStored(`no Apply of ${name} is unsettled`);
  session.io.stdout(`${recordLines(schema, record).join("\n")}\n`);
  if (!flags.yes) {
    const question = "Have you established what that run did to the database? Its record is ended on your word.";
    await confirm(session.io, question, name);
  }
  const again = await readSchema(session, name);
  if (again.status?.pendingObservation?.operationID !== record.operationID) {
    throw failed("the record changed while it was read; nothing was settled");
  }
  const body = { metadata: { annotations: { [annotation.settledApply]: record.operationID } } };
  const at = { namespace: session.namespace, name };
  const patch = { type: "merge", body, uid: again.metadata.uid } as const;
  await session.client.patch(custom.PtahSchema.raw, at, patch, { timeoutMs: session.requestMs });
  session.io.stdout(`settled: ${record.operationID}; the record ends once nobody may still write\n`);
  if (!flags.wait) return EXIT.printed;
  const message = await waitUntil(session, name, flags.waitMs, (seen) =>
    seen.status?.pendingObservation?.operationID === record.operationID
      ? { state: "going" }
      : { state: "done", message: `the record of ${record.operationID} is ended` },
  );
  session.io.stdout(`${message}\n`);
  return EXIT.printed;
}

function recordLines(
  schema: Schema,
  record: NonNullable<NonNullable<Schema["status"]>["pendingObservation"]>,
): string[] {
  return [
    ...field("Schema", `${schema.metadata.namespace ?? ""}/${schema.metadata.name}`),
    ...field("Operation", record.operationID),
    ...field("Outcome", record.outcome),
    ...field("Job", record.job.name),
    ...field("Plan", record.plan?.name),
    ...field("Database", record.targetIdentityDigest),
    ...field("Recorded", instant(record.recordedAt)),
    ...field("May write until", instant(record.executionNotAfter)),
  ];
}
