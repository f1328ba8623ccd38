import { expect, test } from "bun:test";
import { adviceFor, explainReason } from "../crds/reasons.ts";
import { run, waitingWorld } from "./testing.ts";

const explained = async (word: string) => (await run(waitingWorld(), ["explain", word])).stdout;

test.each([
  ["realm", "One physical database as the lock sees it"],
  ["coordinationKey", "names the database realm within a namespace"],
  ["Lease", "never delete one that has a holder"],
  ["dirty", "cleared with ptah migrations repair or set"],
  ["RunResolved", "was settled"],
  ["resolvedRun", "field of the status"],
])("explain knows %s, a word of the documentation", async (word, part) => {
  expect(await explained(word)).toContain(part);
});

test("explain of a reading says where somebody has to act all the same", async () => {
  for (const phase of ["Reading", "Observing", "Resolving", "Verifying", "Planning"])
    expect(await explained(phase)).toContain("OperationFailed or PodCannotStart its message says who has to do what");
});

test("explain says where spec.policy.apply: Never stands, of either kind", async () => {
  expect(await explained("ReadyToApply")).not.toContain("Never");
  expect(await explained("Blocked")).toContain("except with the reason ApplyDisabled");
  expect(await explained("ApplyDisabled")).toContain("A schema's phase is Blocked then and a migration's Planning");
});

test("whoever is suspended is told how to go on with one command", async () => {
  const suspended = explainReason("Suspended").reason;
  const patch = (kind: string) => `kubectl patch ${kind} NAME --type merge -p '{"spec":{"suspend":false}}'`;
  expect(suspended?.next).toEndWith(patch("ptahschema"));
  expect(suspended && adviceFor(suspended, "migration").next).toEndWith(patch("ptahmigration"));
});

test("a database administrator who is to refresh or settle is told which role that takes", () => {
  for (const word of ["OutcomeUnknown", "RecordRestored", "HistoryDirty"]) {
    const { reason } = explainReason(word);
    expect(reason && adviceFor(reason, "migration").next).toContain("(it takes the role ptah-operator-author)");
  }
});
