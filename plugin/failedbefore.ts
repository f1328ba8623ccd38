/** That what waits was run before and failed: the last Apply of the same declaration, the last run of the same files. */
import { HELD_RUN, SAME_WAY } from "../crds/reason.ts";
import type { Migration, Resource } from "./families.ts";
import { lastApply } from "./lastapply.ts";
import { familyOf } from "./resource.ts";
import { field, sentence } from "./text.ts";

/**
 * The last run, where it failed and the plan that stands would run the same files from the version on at which it stopped.
 * The digest of the source's content is that of every file with its name: where it is the same, so are versions and checksums.
 */
function lastRunOfTheSame({ status }: Migration): { readonly message: string } | undefined {
  const { lastRun: run, plan } = status ?? {};
  if (run === undefined || plan === undefined || plan.uid === run.plan?.uid) return undefined;
  if (run.outcome !== "Failed" && run.outcome !== "Partial") return undefined;
  const same = run.source?.contentDigest === plan.source.contentDigest;
  const elsewhere = run.targetIdentityDigest !== undefined && run.targetIdentityDigest !== plan.targetIdentityDigest;
  const passed = run.failure !== undefined && run.failure.version <= plan.currentVersion;
  if (!same || elsewhere || passed) return undefined;
  // A plan stands, so the hold that the message speaks of is over.
  return { message: (run.message ?? `It ended ${run.outcome}.`).replace(` ${HELD_RUN}`, "") };
}

/** The same, of a resource of either kind, as one sentence; undefined where nothing is known to have failed alike. */
export function failedBefore(resource: Resource): string | undefined {
  if (familyOf(resource) === "migration") {
    const run = lastRunOfTheSame(resource as Migration);
    return run && `the last run of these very files failed: ${sentence(run.message)}`;
  }
  const last = lastApply(resource);
  if (last === undefined || last.ofAnother || last.refused) return undefined;
  return `the last Apply of this very declaration failed: ${sentence(last.message)}`;
}

/** What a plan begins with then, for whoever is to decide on it. */
export function failedBeforeLines(resource: Resource): string[] {
  const failed = failedBefore(resource);
  return failed === undefined ? [] : field("Warning", `${failed} Mend the cause before it is approved, ${SAME_WAY}.`);
}
