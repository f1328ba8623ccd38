/** `kubectl ptah journal`: what happened to a schema, as far back as its journal reaches. */
import type { JournalEntry } from "../crds/index.ts";
import { EXIT, type ExitCode, nothingStored } from "./failure.ts";
import type { Resource, Target } from "./families.ts";
import { conditionOf } from "./resource.ts";
import { readResource, type Session } from "./session.ts";
import { field, instant, table, visible } from "./text.ts";

/** @throws Failure (nothing stored) when no manager has kept a journal yet */
export async function printJournal(session: Session, target: Target, output: "text" | "json"): Promise<ExitCode> {
  const { name } = target;
  const resource = await readResource(session, target);
  const journal = resource.status?.journal;
  if (journal === undefined) throw nothingStored(`${name} has no journal yet`);
  const entries = journal.entries ?? [];
  if (output === "json") {
    const { namespace, uid } = resource.metadata;
    const content = { version: 1, kind: "Journal", namespace, name, uid, coveredSince: journal.coveredSince, entries };
    session.io.stdout(`${JSON.stringify(content, undefined, 2)}\n`);
    return EXIT.printed;
  }
  const rows = entries.map((entry) => [
    instant(entry.time) ?? "",
    entry.type,
    visible(wordsOf(entry, verdictOn(entry, resource))),
  ]);
  const lines = [
    ...field("Covered since", instant(journal.coveredSince)),
    "",
    ...(rows.length === 0 ? ["Nothing has happened since."] : table([["TIME", "ENTRY", "WHAT"], ...rows])),
  ];
  session.io.stdout(`${lines.join("\n")}\n`);
  return EXIT.printed;
}

/** Why policy does not let a plan run, by reason: the journal holds that a plan was published, the status what became of it. */
const REFUSED: Readonly<Record<string, string>> = {
  PolicyBlocked: "refused by policy (PolicyBlocked)",
  ApplyDisabled: "not applied by policy (ApplyDisabled)",
};

/** What policy says of the plan that stands; nothing of earlier ones. */
function verdictOn(entry: JournalEntry, resource: Resource): string | undefined {
  const stands = entry.type === "PlanPublished" && entry.plan?.uid === resource.status?.plan?.uid;
  return stands ? REFUSED[conditionOf(resource, "Ready")?.reason ?? ""] : undefined;
}

/** Names and reasons of one entry; a journal holds no messages. */
function wordsOf(entry: JournalEntry, verdict: string | undefined): string {
  const { plan, replaced, approver, count } = entry;
  return [
    ...(entry.outcome === undefined ? [] : [entry.outcome]),
    ...(entry.operation === undefined ? [] : [entry.operation]),
    ...(entry.reason === undefined ? [] : [entry.reason]),
    ...(plan === undefined ? [] : [plan.name]),
    ...(entry.approvalRequired ? ["asks for approval"] : []),
    ...(verdict === undefined ? [] : [verdict]),
    ...(replaced === undefined ? [] : [`replaces ${replaced.name}`]),
    ...(entry.approvalName === undefined ? [] : [`approval ${entry.approvalName}`]),
    ...(approver === undefined ? [] : [`by ${approver.username}`]),
    ...(entry.jobName === undefined ? [] : [`Job ${entry.jobName}`]),
    ...(count === undefined || count < 2 ? [] : [`${count} times until ${instant(entry.lastTime) ?? "now"}`]),
  ].join(", ");
}
