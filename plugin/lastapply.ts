/** A schema's last Apply that did not do what it should: what it said of itself, and what comes first then. */
import type { Advice } from "../crds/reasons.ts";
import { codeIn } from "../crds/trouble.ts";
import type { Resource, Schema } from "./families.ts";
import { conditionOf, familyOf } from "./resource.ts";

export interface LastApply {
  /** What it reported, with its code. */
  readonly message: string;
  /** It was refused before it sent anything. */
  readonly refused: boolean;
  /** What is declared has changed since: the plan that waits has nothing to do with it. */
  readonly ofAnother: boolean;
  /** Where what is declared has changed since, the plan that waits is another one and may be right. */
  readonly advice: Advice;
}

const LOOK: Advice = {
  who: "approver",
  next: "Look at what is left to change before it is approved: kubectl ptah plan NAME",
};

/** @returns undefined for a migration, and where the last Apply was proved or none failed */
export function lastApply(resource: Resource): LastApply | undefined {
  const failed = conditionOf(resource, "ReconciliationFailed");
  if (familyOf(resource) !== "schema" || failed?.status !== "True" || failed.reason !== "ApplyOutcomeUnknown")
    return undefined;
  const { unproven, plan } = (resource as Schema).status ?? {};
  const code = codeIn(failed.message);
  const refused = code?.nothingSent === true;
  const advised = code === undefined || code.who === "nobody" ? LOOK : code;
  const another = plan !== undefined && unproven?.desiredStateFingerprint !== plan.desiredStateFingerprint;
  return {
    message: failed.message,
    refused,
    ofAnother: another,
    advice: another && !refused ? LOOK : { who: advised.who, next: advised.next },
  };
}

/** The same, where what a person is to do now follows from it: a plan waits because the last Apply did not do what it should. */
export function whyAPlanWaits(resource: Resource): LastApply | undefined {
  return conditionOf(resource, "Ready")?.reason === "AwaitingApproval" ? lastApply(resource) : undefined;
}
