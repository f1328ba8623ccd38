/** What a migration operation's Job does, from its claim. */
import type { Claim } from "../../crds/status/index.ts";
import type { MigrationApplyWork, MigrationWork, SourceSnapshot } from "../../workload/operation.ts";
import type { Context } from "../context.ts";

type Unbuilt = { readonly unbuilt: string };

export function migrationWork(_c: Context, claim: Claim): MigrationWork | Unbuilt {
  const { source: bound } = claim;
  if (bound?.snapshot === undefined) return { unbuilt: "The source is not resolved." };
  const source: SourceSnapshot = { configMapName: bound.snapshot, contentDigest: bound.contentDigest };
  if (claim.type === "History") return { type: "History", source };
  if (claim.type === "Apply") return run(claim, source);
  return { unbuilt: `${claim.type} is no operation of this version.` };
}

/** The Job carries the sequence and its digest; runner and executor compare them before anything changes. */
function run(claim: Claim, source: SourceSnapshot): MigrationApplyWork | Unbuilt {
  const { plan, planContentDigest, historyFingerprint, expectedSequence, transactionMode } = claim;
  const { coordinationDigest, targetIdentityDigest, dispatchNotAfter, executionNotAfter } = claim;
  if (plan === undefined || planContentDigest === undefined || historyFingerprint === undefined) {
    return { unbuilt: "The claim names no plan." };
  }
  if (expectedSequence === undefined || coordinationDigest === undefined || targetIdentityDigest === undefined) {
    return { unbuilt: "The claim holds no sequence." };
  }
  if (dispatchNotAfter === undefined || executionNotAfter === undefined) {
    return { unbuilt: "The claim lacks its deadlines." };
  }
  return {
    type: "Apply",
    family: "migration",
    source,
    plan: {
      name: plan.name,
      fingerprint: plan.fingerprint,
      sequenceDigest: planContentDigest,
      historyFingerprint,
      migrations: expectedSequence.map(({ version, versionKey, checksum, checkpoint, transactionMode: mode }) => ({
        version,
        ...(versionKey === undefined ? {} : { versionKey }),
        checksum,
        ...(checkpoint === undefined ? {} : { checkpoint }),
        ...(mode === undefined ? {} : { transactionMode: mode }),
      })),
    },
    ...(transactionMode === "file" || transactionMode === "none" ? { transactionMode } : {}),
    expectedCoordinationDigest: coordinationDigest,
    expectedTargetIdentityDigest: targetIdentityDigest,
    dispatchNotAfter,
    executionNotAfter,
  };
}
