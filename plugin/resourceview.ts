/** What is shown alike of a resource of every kind: where it stands, what is under way, what to do next, and lists of them. */
import { nobodyLooks, unseenOf } from "./attention.ts";
import { EXIT, type ExitCode, nothingStored } from "./failure.ts";
import type { Family, Resource, UnsettledRecord } from "./families.ts";
import { limits } from "./limits.ts";
import { stepOf } from "./next.ts";
import { conditionOf } from "./resource.ts";
import { noneHere, type Session } from "./session.ts";
import { type Colors, field, instant, span, table, visibleLine } from "./text.ts";

/** The fields a resource begins with. @param silence that no manager looks at it */
export function standingLines(kind: string, resource: Resource, silence: string | undefined, colors: Colors): string[] {
  const ready = conditionOf(resource, "Ready");
  return [
    ...field(kind, `${resource.metadata.namespace ?? ""}/${resource.metadata.name}`),
    ...field("Phase", phaseOf(resource, colors)),
    ...field("Manager", silence),
    ...field("Ready", ready === undefined ? "not judged yet" : `${ready.status} (${ready.reason})`),
  ];
}

function phaseOf({ status, metadata, spec }: Resource, colors: Colors): string {
  const phase = status?.phase ?? "not seen by a manager yet";
  const stale =
    status?.phase !== undefined && status.observedGeneration !== metadata.generation ? " (of an earlier spec)" : "";
  const paint = phase === "InSync" ? colors.green : /Blocked|Failed/.test(phase) ? colors.red : colors.yellow;
  const going = metadata.deletionTimestamp === undefined ? "" : " (being deleted)";
  return `${paint(phase)}${stale}${spec.suspend && phase !== "Suspended" ? " (suspending)" : ""}${going}`;
}

export function operationOf(resource: Resource): string | undefined {
  const claim = resource.status?.activeOperation;
  return claim && `${claim.type} (Job ${claim.jobName}, attempt ${claim.attempt}, since ${instant(claim.startedAt)})`;
}

export const unsettledOf = (record: UnsettledRecord | undefined): string | undefined =>
  record && `${record.outcome}, Job ${record.job.name}, recorded ${instant(record.recordedAt)}`;

/** @param told messages that stand above already, by the name of their field: a long one is printed once */
export function conditionLines(
  resource: Resource,
  told: readonly (readonly [string, string | undefined])[] = [],
): string[] {
  const all = resource.status?.conditions ?? [];
  const ready = all.filter((c) => c.type === "Ready");
  const shown = [...ready, ...all.filter((c) => c.status === "True" && c.type !== "Ready")];
  if (shown.length === 0) return [];
  const places = new Map<string, string>();
  for (const [field, message] of told) if (message !== undefined) places.set(message, field);
  const rows = shown.map(({ type, status, reason, message }) => {
    const place = places.get(message);
    if (place === undefined) places.set(message, type);
    const said = place === undefined ? visibleLine(message) : `(as ${place})`;
    return [`  ${type}`, status, reason, said];
  });
  return ["", "Conditions:", ...table(rows)];
}

/** Who acts and the next command. */
export function nextLines(resource: Resource): string[] {
  const step = stepOf(resource);
  if (step === undefined) return [];
  const [first, ...more] = step.lines;
  return [
    "",
    ...field("Who acts", step.who),
    ...field("Next", first),
    ...more.map((line) => `                ${line}`),
  ];
}

/** What the JSON of every kind begins with. */
export function standingJson(kind: string, { metadata, status, spec }: Resource, silence: string | undefined): object {
  return {
    version: 1,
    kind,
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    generation: metadata.generation,
    observedGeneration: status?.observedGeneration,
    phase: status?.phase,
    suspended: spec.suspend,
    manager: silence,
  };
}

export const operationJson = ({ status }: Resource): object | undefined =>
  status?.activeOperation && {
    type: status.activeOperation.type,
    id: status.activeOperation.id,
    jobName: status.activeOperation.jobName,
    attempt: status.activeOperation.attempt,
    startedAt: status.activeOperation.startedAt,
  };

export const unsettledJson = (record: UnsettledRecord | undefined): object | undefined =>
  record && {
    operationID: record.operationID,
    outcome: record.outcome,
    jobName: record.job.name,
    recordedAt: record.recordedAt,
  };

/** A column that only one kind has. */
export interface OwnColumn<T> {
  readonly head: string;
  readonly key: string;
  of(resource: T): string | number | undefined;
  /** For a reader, where that says more. */
  text?(resource: T): string | undefined;
}

export interface ListOptions<T> {
  readonly all: boolean;
  readonly output: "text" | "json";
  readonly own?: readonly OwnColumn<T>[];
}

/** Prints every resource of a kind in a namespace, or in all of them. */
export async function printList<T extends Resource>(
  session: Session,
  family: Family<T>,
  { all, output, own = [] }: ListOptions<T>,
): Promise<ExitCode> {
  const selection = all ? {} : { namespace: session.namespace };
  const options = { timeoutMs: session.requestMs, itemsMax: limits.listMax };
  const { items } = await session.client.list(family.typed, selection, options);
  if (output === "json") {
    const kind = `${family.kind.replace(/^Ptah/, "")}List`;
    const rows = items.map((resource) => rowJson(resource, own));
    session.io.stdout(`${JSON.stringify({ version: 1, kind, items: rows }, undefined, 2)}\n`);
    return EXIT.printed;
  }
  if (items.length === 0)
    throw nothingStored(all ? `there is no ${family.kind}` : await noneHere(session, family.kind));
  const heads = own.map((column) => column.head);
  const head = [...(all ? ["NAMESPACE"] : []), "NAME", "PHASE", "REASON", ...heads, "NEXT READ"];
  const rows = items.map((resource) => row(resource, all, own, session.io.nowMs()));
  session.io.stdout(`${table([head, ...rows]).join("\n")}\n`);
  await tellSilence(session, items, all);
  return EXIT.printed;
}

/** Says below a list, as a diagnostic, that nobody looks; of the resource that waits longest. */
async function tellSilence(session: Session, resources: readonly Resource[], all: boolean): Promise<void> {
  const nowMs = session.io.nowMs();
  const waiting = resources.flatMap((resource) => unseenOf(resource, nowMs, all) ?? []);
  const [longest] = waiting.sort((a, b) => a.sinceMs - b.sinceMs);
  const sentence = await nobodyLooks(session, longest);
  if (sentence !== undefined) session.io.stderr(`kubectl-ptah: ${sentence}\n`);
}

const rowJson = <T extends Resource>(resource: T, own: readonly OwnColumn<T>[]): object => ({
  namespace: resource.metadata.namespace,
  name: resource.metadata.name,
  phase: resource.status?.phase,
  reason: conditionOf(resource, "Ready")?.reason,
  ...Object.fromEntries(own.map((column) => [column.key, column.of(resource)])),
  nextReconciliationTime: resource.status?.nextReconciliationTime,
});

function row<T extends Resource>(resource: T, all: boolean, own: readonly OwnColumn<T>[], nowMs: number): string[] {
  const next = Date.parse(resource.status?.nextReconciliationTime ?? "");
  const due = Number.isNaN(next) ? "" : next < nowMs ? `${span(nowMs - next)} overdue` : `in ${span(next - nowMs)}`;
  return [
    ...(all ? [resource.metadata.namespace ?? ""] : []),
    resource.metadata.name,
    resource.status?.phase ?? "",
    conditionOf(resource, "Ready")?.reason ?? "",
    ...own.map((column) => String((column.text ?? column.of)(resource) ?? "")),
    due,
  ];
}
