/**
 * Plain data as tokens: what of an object counts, and how. Remembered per object, because parts of a status are shared by
 * thousands of worlds.
 */
import type { MigrationHistory, MigrationRun } from "../../crds/status/index.ts";
import { msOf } from "../time.ts";
import { EPOCH_MS, hasScratch } from "./values.ts";

/** Tokens are pairs of a kind and a value. */
export const TOKEN = {
  const: 0,
  id: 1,
  instant: 2,
  age: 3,
  generation: 4,
  serial: 5,
  passing: 6,
  lapse: 7,
  recent: 8,
} as const;

/** How a member of an object is written. */
type Kind = "drop" | "id" | "instant" | "age" | "generation" | "serial" | "few" | "passing" | "lapse" | "recent";

const KINDS = new Map<string, Kind>();
const kinds = (kind: Kind, ...keys: string[]): void => {
  for (const key of keys) KINDS.set(key, kind);
};
// Written for people, or derived from what is written anyway.
kinds(
  "drop",
  "message",
  "lastTransitionTime",
  "observedGeneration",
  "inputFingerprint",
  "resolvedAt",
  "recordedAt",
  "digest",
);
kinds(
  "drop",
  "startedAt",
  "createdAt",
  "completedAt",
  "approvedAt",
  "at",
  "lastAttemptTime",
  "lastSuccessfulReconciliation",
);
kinds("drop", "lastObservedAt", "observedAt", "version", "transitions", "nonce", "events", "metrics", "revisions");
kinds("id", "id", "operationID", "jobName", "jobUID", "uid", "name", "leaseHolder", "holder", "epoch", "leaseEpoch");
kinds(
  "id",
  "executionBindingID",
  "retiredEpoch",
  "fingerprint",
  "planFingerprint",
  "planName",
  "planUID",
  "podUID",
  "podName",
);
kinds("id", "approvalName", "approvalUID", "closedOperationID", "proves", "snapshot", "ownerUID", "templateDigest");
kinds("instant", "executionNotAfter");
kinds("passing", "retryNotBefore", "nextReconciliationTime", "dispatchNotAfter", "observeAfter");
kinds("age", "endedAt");
kinds("lapse", "dispatchedAt");
kinds("recent", "finishedAt");
// Whether it is the first; the number itself only makes names.
kinds("few", "attempt");
kinds("generation", "generation");
kinds("serial", "serial", "planSerial");

/** Members of a status that are narration. */
const NARRATION = new Set(["phase", "conditions", "journal"]);

const strings = new Map<string, number>();
export function intern(text: string): number {
  const known = strings.get(text);
  if (known !== undefined) return known;
  strings.set(text, strings.size + 1);
  return strings.size;
}

export const seconds = (ms: number): number => Math.round((ms - EPOCH_MS) / 1000);
const instants = new Map<string, number>();
function secondsOf(text: string): number {
  const known = instants.get(text);
  if (known !== undefined) return known;
  if (instants.size > 50_000) instants.clear();
  const value = seconds(msOf(text));
  instants.set(text, value);
  return value;
}

const cache = new WeakMap<object, readonly number[]>();
const keyOrder = new Map<string, string[]>();

function sortedKeys(value: object): string[] {
  const keys = Object.keys(value);
  const shape = keys.join();
  const known = keyOrder.get(shape);
  if (known !== undefined) return known;
  const sorted = keys.sort();
  keyOrder.set(shape, sorted);
  return sorted;
}

/** Tokens of plain data, remembered per object: parts of a status are shared by thousands of worlds. */
export function tokensOf(value: object): readonly number[] {
  const known = cache.get(value);
  if (known !== undefined) return known;
  const out: number[] = [];
  if (Array.isArray(value)) {
    out.push(TOKEN.const, value.length);
    for (const item of value) tokenize(item, undefined, out);
  } else {
    for (const key of sortedKeys(value)) {
      const member: unknown = value[key as keyof typeof value];
      const kind = KINDS.get(key);
      // An Apply's deadline is counted from its claim, and the next look at a server nothing here can compare with from the
      // last one; elsewhere the beginning says nothing.
      const aged =
        (key === "startedAt" && "dispatchNotAfter" in value && !("jobUID" in value)) ||
        (key === "lastObservedAt" && "serverMajor" in value && !hasScratch(Number(value.serverMajor)));
      if (member === undefined || (kind === "drop" && !aged)) continue;
      out.push(TOKEN.const, -intern(key));
      tokenize(member, aged ? "age" : kind, out);
    }
    out.push(TOKEN.const, 0);
  }
  cache.set(value, out);
  return out;
}

function tokenize(value: unknown, kind: Kind | undefined, out: number[]): void {
  if (typeof value === "object" && value !== null) {
    for (const token of tokensOf(value)) out.push(token);
    return;
  }
  switch (kind) {
    case "id":
      out.push(TOKEN.id, intern(String(value)));
      return;
    case "instant":
    case "passing":
    case "lapse":
    case "recent":
    case "age":
      out.push(TOKEN[kind], typeof value === "number" ? seconds(value) : secondsOf(String(value)));
      return;
    case "generation":
    case "serial":
      out.push(TOKEN[kind], Number(value));
      return;
    default:
      out.push(TOKEN.const, plainWord(value, kind));
  }
}

function plainWord(value: unknown, kind: Kind | undefined): number {
  if (kind === "few") return Math.min(2, Number(value));
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return value ? 1 : 2;
  return intern(String(value));
}

const reduced = new WeakMap<object, object>();

/** Of the last run and the last history only what a decision can come to depend on. */
function counted(key: string, member: unknown): unknown {
  if ((key !== "lastRun" && key !== "history") || typeof member !== "object" || member === null) return member;
  const known = reduced.get(member);
  if (known !== undefined) return known;
  const made = key === "lastRun" ? runCounted(member as MigrationRun) : historyCounted(member as MigrationHistory);
  reduced.set(member, made);
  return made;
}

const runCounted = ({ operationID, outcome, plan, targetIdentityDigest, finishedAt, verification }: MigrationRun) => ({
  operationID,
  outcome,
  uid: plan?.uid,
  ...(verification === undefined ? { targetIdentityDigest } : {}),
  // A run that failed is not tried again before the retry delay.
  ...(outcome === "Failed" ? { finishedAt } : {}),
});

/** A history's fingerprint is no name: it says what was read. */
const historyCounted = ({ fingerprint, ...rest }: MigrationHistory) => ({ ...rest, historyFingerprint: fingerprint });

const statusCache = new WeakMap<object, readonly number[]>();

/** Tokens of a status without its narration. */
export function statusTokens(status: object): readonly number[] {
  const known = statusCache.get(status);
  if (known !== undefined) return known;
  const out: number[] = [];
  for (const key of sortedKeys(status)) {
    const member = counted(key, status[key as keyof typeof status]);
    const kind = KINDS.get(key);
    if (member === undefined || kind === "drop" || NARRATION.has(key)) continue;
    out.push(TOKEN.const, -intern(key));
    // Where the next reading has its instant, the end of the last cycle says nothing more.
    const timed = key === "cycle" && "nextReconciliationTime" in status && status.nextReconciliationTime !== undefined;
    tokenize(timed ? { ...(member as object), endedAt: undefined } : member, kind, out);
  }
  out.push(TOKEN.const, 0);
  statusCache.set(status, out);
  return out;
}
