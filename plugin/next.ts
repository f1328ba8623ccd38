/** The next step of a resource, with commands as they can be pasted. */

import { APPROVE, SAME_WAY } from "../crds/reason.ts";
import { type Advice, adviceFor, explainReason, type Reason, SETTLE } from "../crds/reasons.ts";
import { codeIn } from "../crds/trouble.ts";
import { dirtySteps } from "./dirty.ts";
import { failedBefore } from "./failedbefore.ts";
import type { Migration, Resource } from "./families.ts";
import { whyAPlanWaits } from "./lastapply.ts";
import { conditionOf, familyOf } from "./resource.ts";

/** Who acts, and what to do: a sentence, and commands on further lines where there is a choice. */
export interface Step {
  readonly who: Advice["who"];
  readonly lines: readonly string[];
}

/** What there is to do by what the status tells; undefined where all is well, or the reason is of a newer operator. */
export function stepOf(resource: Resource): Step | undefined {
  const ready = conditionOf(resource, "Ready");
  const entry = ready === undefined || ready.status === "True" ? undefined : explainReason(ready.reason).reason;
  if (ready === undefined || entry === undefined) return undefined;
  const migration = familyOf(resource) === "migration" ? (resource as Migration) : undefined;
  if (migration?.status?.unresolvedRun !== undefined && migration.metadata.deletionTimestamp !== undefined)
    return placed(SETTLE, resource, ready.message);
  const lines = entry.reason === "HistoryDirty" && migration !== undefined ? dirtySteps(migration) : undefined;
  if (lines !== undefined) return { who: "database administrator", lines };
  const again = entry.reason === "AwaitingApproval" && migration !== undefined ? failedBefore(migration) : undefined;
  if (again !== undefined) return afterFailedRun(again, resource);
  return placed(whyAPlanWaits(resource)?.advice ?? adviceAt(entry, resource, ready.message), resource, ready.message);
}

/** The plan that waits holds the files whose run failed: what failed comes before what is to be done. */
function afterFailedRun(failed: string, resource: Resource): Step {
  const next = `Correct the file, or the cause, that the message names, ${SAME_WAY}. Then ${APPROVE}`;
  const { who, lines } = placed(adviceFor({ who: "author", next }, familyOf(resource)), resource, "");
  return { who, lines: [`${failed[0]?.toUpperCase()}${failed.slice(1)} ${lines.join(" ")}`] };
}

/** The same as the end of a message: a choice of commands on lines of its own, so that each can be pasted. */
export const nextOf = (resource: Resource): string | undefined => stepOf(resource)?.lines.join("\n  ");

/** Who acts and how: of an operation that failed, what its code says. */
function adviceAt(entry: Reason, resource: Resource, message: string): Advice {
  const code = entry.reason === "OperationFailed" ? codeIn(message) : undefined;
  return adviceFor(code ?? entry, familyOf(resource));
}

/** What points at the code in a message. */
const EXPLAIN_CODE = /; kubectl ptah explain CODE [^.]*/;

/** With the resource's own name, its namespace and the message's code. */
function placed({ who, next }: Advice, resource: Resource, message: string): Step {
  const { name, namespace } = resource.metadata;
  const where = namespace === undefined ? name : `${name} -n ${namespace}`;
  const code = codeIn(message)?.code;
  const explained = code === undefined ? next.replace(EXPLAIN_CODE, "") : next.replace("CODE", code);
  return { who, lines: [explained.replaceAll("NAME", where)] };
}
