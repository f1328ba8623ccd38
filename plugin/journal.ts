/** `kubectl ptah journal`: what happened to a schema, as far back as its journal reaches. */
import type { JournalEntry } from "../crds/index.ts";
import { EXIT, type ExitCode, nothingStored } from "./failure.ts";
import { readSchema, type Session } from "./session.ts";
import { field, instant, table, visible } from "./text.ts";

/** @throws Failure (nothing stored) when no manager has kept a journal yet */
export async function printJournal(session: Session, name: string, output: "text" | "json"): Promise<ExitCode> {
  const schema = await readSchema(session, name);
  const journal = schema.status?.journal;
  if (journal === undefined) throw nothingStored(`${name} has no journal yet`);
  const entries = journal.entries ?? [];
  if (output === "json") {
    const { namespace, uid } = schema.metadata;
    const content = { version: 1, kind: "Journal", namespace, name, uid, coveredSince: journal.coveredSince, entries };
    session.io.stdout(`${JSON.stringify(content, undefined, 2)}\n`);
    return EXIT.printed;
  }
  const rows = entries.map((entry) => [instant(entry.time) ?? "", entry.type, visible(wordsOf(entry))]);
  const lines = [
    ...field("Covered since", instant(journal.coveredSince)),
    "",
    ...(rows.length === 0 ? ["Nothing has happened since."] : table([["TIME", "ENTRY", "WHAT"], ...rows])),
  ];
  session.io.stdout(`${lines.join("\n")}\n`);
  return EXIT.printed;
}

/** Names and reasons of one entry; a journal holds no messages. */
function wordsOf(entry: JournalEntry): string {
  const { plan, replaced, approver, count } = entry;
  return [
    ...(entry.outcome === undefined ? [] : [entry.outcome]),
    ...(entry.operation === undefined ? [] : [entry.operation]),
    ...(entry.reason === undefined ? [] : [entry.reason]),
    ...(plan === undefined ? [] : [plan.name]),
    ...(entry.approvalRequired ? ["asks for approval"] : []),
    ...(replaced === undefined ? [] : [`replaces ${replaced.name}`]),
    ...(entry.approvalName === undefined ? [] : [`approval ${entry.approvalName}`]),
    ...(approver === undefined ? [] : [`by ${approver.username}`]),
    ...(entry.jobName === undefined ? [] : [`Job ${entry.jobName}`]),
    ...(count === undefined || count < 2 ? [] : [`${count} times until ${instant(entry.lastTime) ?? "now"}`]),
  ].join(", ");
}
