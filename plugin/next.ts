/** The next command of a reason, as it can be pasted. */
import { type Advice, adviceFor, explainReason, type Reason } from "../crds/reasons.ts";
import { codeIn } from "../crds/trouble.ts";
import type { Resource } from "./families.ts";
import { familyOf } from "./resource.ts";

/** What of a remedy tells it from others: a field, a flag, a command. */
const REMEDY = /spec(?:\.\w+)+|--[a-z][\w-]*|kubectl ptah \w+/g;

/**
 * The sentence of the table of reasons with the resource's own name and namespace.
 * @param message what is shown beside it: advice that it already holds is not said twice, a command that can be pasted is
 * @returns undefined for another reason, and where the message says as much
 */
export function nextOf(reason: string, resource: Resource, message = ""): string | undefined {
  const { reason: entry } = explainReason(reason);
  if (entry === undefined) return undefined;
  const { next } = adviceAt(entry, resource, message);
  if (message !== "" && said(next, message)) return undefined;
  const at = resource.metadata;
  const where = at.namespace === undefined ? at.name : `${at.name} -n ${at.namespace}`;
  return next.replaceAll("NAME", where);
}

/** Who acts and how: of an operation that failed, what its code says. */
export function adviceAt(entry: Reason, resource: Resource, message: string): Advice {
  const code = entry.reason === "OperationFailed" ? codeIn(message) : undefined;
  return adviceFor(code ?? entry, familyOf(resource));
}

function said(next: string, message: string): boolean {
  if (next.startsWith("kubectl ")) return false;
  if (
    next.includes("the message names") ||
    next.startsWith("The message names") ||
    next.startsWith("As the message says")
  )
    return true;
  const remedies: readonly string[] = next.match(REMEDY) ?? [];
  return remedies.length > 0 && remedies.every((remedy) => message.includes(remedy));
}
