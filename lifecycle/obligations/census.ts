/**
 * Rule 13: what this version runs, and who else claims the realm. Both families count together; a suspended resource, an
 * unsupported engine and one being deleted that owes nothing claim nothing.
 */
import { durationMs } from "../../crds/duration.ts";
import {
  type Engine,
  engineSupported,
  normalizeEngine,
  SUPPORTED_ENGINES,
  sourceSupported,
} from "../../crds/engine.ts";
import { declaredSource } from "../../crds/source.ts";
import { type Context, need, patch, patchIfNew, rest } from "../context.ts";
import type { Refusal } from "../families/family.ts";
import { KINDS } from "../families/kinds.ts";
import { REALM_RECHECK_MS } from "../limits.ts";
import type { Move, RuleId } from "../move.ts";
import { cycleAt } from "../positions.ts";
import { ahead, instantOf, msOf } from "../time.ts";
import type { CensusFacts, ClaimantFacts } from "../view.ts";

const ENGINES: Readonly<Record<Engine, readonly string[]>> = {
  postgresql: ["PostgreSQL"],
  mysql: ["MySQL", "MariaDB"],
};

/** Whom this version runs a family on, for a sentence. */
function enginesOf(family: Context["family"]["name"]): string {
  const names = SUPPORTED_ENGINES[family].flatMap((engine) => ENGINES[engine]);
  const last = names.at(-1) ?? "";
  return names.length < 2 ? last : `${names.slice(0, -1).join(", ")} and ${last}`;
}

/** What the spec names that this version does not run; an edit is waited for. */
export function unsupported(c: Context): Refusal | undefined {
  const { engine } = c.spec.target;
  if (!engineSupported(engine, c.family.name)) {
    return {
      reason: "UnsupportedEngine",
      sentence: `spec.target.engine ${engine} is not supported by this version, which runs a ${c.family.name} on ${enginesOf(c.family.name)}. Change it, or use a version that supports it.`,
    };
  }
  const declared = c.family.declared(c.spec);
  const source = declaredSource(declared.source);
  if (source === undefined || !sourceSupported(source.kind)) {
    const named = source === undefined ? "none or several sources" : source.kind === "OCI" ? "ociRef" : "git";
    return {
      reason: "UnsupportedSource",
      sentence: `${declared.field} names ${named}; this version reads configMap sources only. Use ${declared.field}.configMap.`,
    };
  }
  return undefined;
}

/** What the realm says against this resource. A look where the census was not read, or says so only from the cache. */
export function realmRefusal(
  c: Context,
  rule: RuleId,
  mustBeFresh: boolean,
): { readonly look: Move } | Refusal | undefined {
  const piece = c.view.census;
  if (piece === undefined || (mustBeFresh && piece.how !== "fresh")) {
    const look = need(c, rule, { piece: "census" });
    return look === undefined ? undefined : { look };
  }
  const refusal = judgeCensus(c, piece.value);
  if (refusal === undefined || piece.how === "fresh") return refusal;
  const look = need(c, rule, { piece: "census" });
  return look === undefined ? refusal : { look };
}

/** A copied key is the likelier cause: sharing a realm that is two databases would only make them wait for one another. */
const WAYS_OUT =
  "If these are two databases, give each a name of its own. If it is one, remove or suspend one of them, or have every claimant set spec.target.sharedRealm.";

const realmNamed = ({ coordinationKey, realmRef }: Context["spec"]["target"]): string =>
  realmRef === undefined ? `spec.target.coordinationKey ${coordinationKey}` : `PtahRealm ${realmRef.name}`;

const claims = (other: ClaimantFacts): boolean =>
  other.owes || (!other.suspended && !other.deleting && other.engineSupported);

function judgeCensus(c: Context, census: CensusFacts): Refusal | undefined {
  const { target } = c.spec;
  const realm = census.realm;
  if (target.realmRef !== undefined) {
    const name = target.realmRef.name;
    const wrong =
      realm === undefined || realm.state === "missing"
        ? "does not exist"
        : !realm.namespaceListed
          ? `does not list namespace ${c.resource.namespace}`
          : normalizeEngine(realm.engine) !== normalizeEngine(target.engine)
            ? `is for engine ${realm.engine}`
            : undefined;
    if (wrong !== undefined) {
      return {
        reason: "RealmNotAuthorized",
        sentence: `PtahRealm ${name} ${wrong}. Ask its owner to admit this resource, or name another realm.`,
      };
    }
  }
  const others = census.others.filter((other) => other.uid !== c.resource.uid && claims(other));
  const first = others[0];
  if (first === undefined) return undefined;
  const exclusive = realm?.state === "found" && realm.sharing === "Exclusive";
  if (!exclusive && target.sharedRealm && others.every((other) => other.sharedRealm)) return undefined;
  return {
    reason: "RealmConflict",
    sentence: `${KINDS[first.family]} ${first.namespace}/${first.name} claims the same database realm, ${realmNamed(target)}. ${WAYS_OUT}`,
  };
}

/** Rule 13. */
export function supported(c: Context): Move | undefined {
  const refusal = unsupported(c);
  if (refusal !== undefined) {
    return patchIfNew(c, "13", { cause: { at: "blocked", ...refusal } }) ?? rest("13", "Blocked");
  }
  return blockedByRealm(c) ?? blockedByServer(c);
}

function blockedByRealm(c: Context): Move | undefined {
  const refusal = realmRefusal(c, "13", false);
  if (refusal === undefined) return undefined;
  if ("look" in refusal) return refusal.look;
  const { retryNotBefore, cycle } = c.status;
  const first = c.family.reads[0] ?? "Resolve";
  if (ahead(retryNotBefore, c.nowMs) && cycle?.next === first && cycle.generation === c.resource.generation) {
    const told = patchIfNew(c, "13", { cause: { at: "blocked", ...refusal } });
    return told ?? rest("13", "Blocked", msOf(retryNotBefore ?? ""));
  }
  const recheckMs = Math.min(durationMs(c.spec.interval), REALM_RECHECK_MS);
  return patch(c, "13", {
    set: {
      cycle: { ...cycleAt(c, first), generation: c.resource.generation },
      retryNotBefore: instantOf(c.nowMs + recheckMs),
      nextReconciliationTime: instantOf(c.nowMs + recheckMs),
    },
    cause: { at: "blocked", ...refusal },
  });
}

/** A server nothing here can read: Blocked, and its version is read again at the interval. */
function blockedByServer(c: Context): Move | undefined {
  const refusal = c.family.serverRefusal(c, undefined);
  if (refusal === undefined) return undefined;
  const cause = { at: "blocked", ...refusal } as const;
  const { readAt, forgotten } = c.family.server(c);
  const againMs = (readAt === undefined ? 0 : msOf(readAt)) + durationMs(c.spec.interval);
  const edited = c.status.cycle?.generation !== c.resource.generation;
  if (c.nowMs < againMs && !edited) {
    const nextReconciliationTime = instantOf(againMs);
    const set = c.status.nextReconciliationTime === nextReconciliationTime ? undefined : { nextReconciliationTime };
    return patchIfNew(c, "13", { ...(set === undefined ? {} : { set }), cause }) ?? rest("13", "Blocked", againMs);
  }
  return patch(c, "13/again", {
    set: { ...forgotten, cycle: cycleAt(c, c.family.reads[0]), nextReconciliationTime: undefined },
  });
}
