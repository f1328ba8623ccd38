/** `kubectl ptah settle`: a person ends the record of an Apply whose effect no reading can establish. */
import { annotation } from "../crds/names.ts";
import { confirm, type DecisionFlags } from "./ask.ts";
import { EXIT, type ExitCode, failed, nothingStored } from "./failure.ts";
import type { Resource, Target } from "./families.ts";
import { readResource, type Session } from "./session.ts";
import { type Verdict, waitUntil } from "./wait.ts";

/** @throws Failure */
export async function settle<T extends Resource>(
  session: Session,
  target: Target<T>,
  flags: DecisionFlags,
): Promise<ExitCode> {
  const { family, name } = target;
  const resource = await readResource(session, target);
  const record = family.record(resource);
  if (record === undefined) throw nothingStored(`no Apply of ${name} is unsettled`);
  const instead = family.unsettleable(resource);
  if (instead !== undefined) throw failed(`nothing was settled: ${instead}`);
  session.io.stdout(`${family.shown(resource, record, session.io.nowMs())}\n`);
  if (!flags.yes) {
    const question = "Have you established what that run did to the database? Its record is ended on your word.";
    await confirm(session.io, question, name);
  }
  const again = await readResource(session, target);
  if (family.record(again)?.operationID !== record.operationID) {
    throw failed("the record changed while it was read; nothing was settled");
  }
  const body = { metadata: { annotations: { [annotation.settledApply]: record.operationID } } };
  const at = { namespace: session.namespace, name };
  const patch = { type: "merge", body, uid: again.metadata.uid } as const;
  await session.client.patch(family.raw, at, patch, { timeoutMs: session.requestMs });
  session.io.stdout(`settled: ${record.operationID}; the record ends once nobody may still write\n`);
  if (!flags.wait) return EXIT.printed;
  const ended = `the record of ${record.operationID} is ended`;
  const judge = (seen: T): Verdict =>
    family.record(seen)?.operationID === record.operationID ? { state: "going" } : { state: "done", message: ended };
  // A resource that is being deleted goes with its record.
  const gone = { uid: again.metadata.uid, gone: `${ended}, and ${name} is gone` };
  const message = await waitUntil(session, target, flags.waitMs, judge, gone);
  session.io.stdout(`${message}\n`);
  return EXIT.printed;
}
