/** Rule 11: superseded plans beyond `keepPlans`, and snapshots nothing names, are deleted after an uncached read. */
import { type Context, need } from "../context.ts";
import { journalledPlans } from "../journal.ts";
import { SNAPSHOT_KEPT_MS } from "../limits.ts";
import type { Move } from "../move.ts";

export function prune(c: Context): Move | undefined {
  return prunePlans(c) ?? pruneSnapshots(c);
}

/**
 * A plan whose serial lies below the standing one's never returns, whoever looks at it when; so an old view deletes only
 * what is superseded now too.
 */
function prunePlans(c: Context): Move | undefined {
  const { plan } = c.status;
  const owned = c.view.plans?.value;
  if (plan === undefined || owned === undefined) return undefined;
  const superseded = owned.filter((other) => !other.deleting && other.serial < plan.serial);
  const keep = c.spec.history.keepPlans;
  if (superseded.length <= keep) return undefined;
  const named = namedPlans(c);
  const oldest = superseded.sort((a, b) => a.serial - b.serial).slice(0, superseded.length - keep);
  const victim = oldest.find((other) => !named.has(other.uid));
  if (victim === undefined) return undefined;
  const look = need(c, "11/plans", { piece: "resource" }, { piece: "plans" }, { piece: "approvals" });
  if (look !== undefined) return look;
  const { name, uid, resourceVersion } = victim;
  return { kind: "deletePlan", rule: "11/plans", name, uid, resourceVersion };
}

/** The next instant at which a snapshot nothing names is old enough to go; far away where there is none. */
export function nextPruneMs(c: Context): number {
  let next = Number.POSITIVE_INFINITY;
  if (c.family.source(c.status) === undefined) return next;
  for (const s of c.view.snapshots?.value ?? []) {
    const goneMs = s.createdAtMs + SNAPSHOT_KEPT_MS;
    if (goneMs > c.nowMs && !s.deleting && !inUse(c, s.contentDigest)) next = Math.min(next, goneMs);
  }
  return next;
}

function namedPlans(c: Context): Set<string> {
  const named = journalledPlans(c.status.journal);
  const { plan } = c.status;
  for (const uid of [plan?.uid, c.claim?.plan?.uid, c.record?.plan?.uid, ...c.family.keptPlans(c.status)]) {
    if (uid !== undefined) named.add(uid);
  }
  return named;
}

function pruneSnapshots(c: Context): Move | undefined {
  if (c.family.source(c.status) === undefined) return undefined;
  const victim = c.view.snapshots?.value.find(
    (s) => !s.deleting && !inUse(c, s.contentDigest) && oldEnough(c, s.createdAtMs),
  );
  if (victim === undefined) return undefined;
  const look = need(c, "11/snapshots", { piece: "resource" }, { piece: "snapshots" }, { piece: "source" });
  if (look !== undefined) return look;
  const { name, uid, resourceVersion } = victim;
  return { kind: "deleteSnapshot", rule: "11/snapshots", name, uid, resourceVersion };
}

const oldEnough = (c: Context, createdAtMs: number): boolean => c.nowMs - createdAtMs >= SNAPSHOT_KEPT_MS;

function inUse(c: Context, contentDigest: string): boolean {
  const facts = c.view.source?.value;
  if (facts === undefined || facts.state !== "resolved" || facts.contentDigest === contentDigest) return true;
  const { status, claim, record } = c;
  return [c.family.source(status), claim?.source, record?.source, status.plan?.source].some(
    (s) => s?.contentDigest === contentDigest,
  );
}
