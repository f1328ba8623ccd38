/**
 * Words of a status, a plan or the journal that are no phase, condition, reason or code: outcomes, entry types, classes, severities.
 * `kubectl ptah explain <word>` and docs/reasons.md are this table.
 */

export interface Word {
  readonly word: string;
  /** Where it is shown. */
  readonly where: string;
  readonly meaning: string;
}

const group = (where: string, words: readonly (readonly [word: string, meaning: string])[]): readonly Word[] =>
  words.map(([word, meaning]) => ({ word, where, meaning }));

export const WORDS: readonly Word[] = [
  ...group("journal entry", [
    ["PlanPublished", "A plan was stored. Whether it runs is decided afterwards, by policy or by an approval."],
    ["ApprovalAccepted", "A person's approval of that very plan was accepted."],
    ["ApplyFinished", "A schema's Apply ended. What it did is proved by the Verified that follows."],
    ["RunFinished", "A migration's run ended; how, and where it stopped, stands beside it."],
    ["Verified", "The first fresh reading after an Apply or a run, and what it found."],
    ["RunAcknowledged", "A person who had looked in the database ended the hold of a run."],
    ["OperationFailed", "An operation failed; the reason stands beside it, and how often in a row."],
    ["RunResolved", "How the last run that was not accounted for was settled; from status.resolvedRun."],
  ]),
  ...group("field of the status", [
    ["resolvedRun", "How the last run, or Apply, that was not accounted for was settled, when and by whom."],
  ]),
  ...group("what the operator works with", [
    [
      "realm",
      "One physical database as the lock sees it; at any time one resource changes it. Resources that name the same realm have to set spec.target.sharedRealm, and then take turns.",
    ],
    [
      "coordinationKey",
      "spec.target.coordinationKey names the database realm within a namespace; it is no secret. Where several namespaces change one database, spec.target.realmRef names a cluster-wide PtahRealm instead.",
    ],
    [
      "Lease",
      "Each realm has one Lease ptah-t-… in the operator's namespace: whoever holds it may change that database; never delete one that has a holder. The Lease ptah-operator-manager says which manager leads and when it last said so.",
    ],
    [
      "dirty",
      "A row of the revision table whose version was begun and not finished, by a run that failed or was interrupted. It blocks every version (HistoryDirty) until its cause is mended and the row is cleared with ptah migrations repair or set.",
    ],
  ]),
  ...group("outcome of a migration's run", [
    ["UpToDate", "The run found nothing to do."],
    ["Applied", "Every version of the plan was applied. A reading of the history proves it."],
    ["Failed", "The run failed and nothing is kept of the version that failed; versions before it are applied."],
    [
      "Partial",
      "The run stopped inside a version and some of its statements are kept. It is held until it is settled.",
    ],
    ["Unknown", "What the run did is not known. It is held until a reading or a person settles it."],
  ]),
  ...group("outcome of a schema's Apply", [
    ["Succeeded", "The Apply reported success. A fresh reading proves it."],
    ["ApplySucceeded", "The Apply reported success and its proof is still to come."],
    [
      "Unknown",
      "The Apply did not succeed, or left no account. What it reported is not believed; a fresh reading says what the database holds.",
    ],
    ["OutcomeUnknown", "The same, while its reading is still to come."],
  ]),
  ...group("result of the reading after an Apply or a run", [
    ["InSync", "Nothing is left to change, or nothing is pending."],
    ["DriftRemains", "The database still differs from what is declared; a new plan follows."],
    ["Pending", "Versions are still pending."],
    ["Blocked", "The history cannot be continued; the reason stands beside it."],
    ["Superseded", "A newer declaration took over before anything was proved."],
    ["Unknown", "A person settled it without a proof."],
  ]),
  ...group("what settled a run", [
    ["Reading", "A fresh reading of the same database."],
    ["Acknowledged", "A person's acknowledgment (kubectl ptah acknowledge)."],
    ["Settled", "A person's word (kubectl ptah settle)."],
    ["Superseded", "A newer declaration, which is read instead."],
  ]),
  ...group("what let a plan run", [
    ["Approval", "A person's approval of that very plan."],
    ["Policy", "spec.policy.apply: Always; nobody was asked."],
  ]),
  ...group("class of a statement in a plan", [
    ["safe", "It loses nothing and is not known to fail or to block for long. It still changes the database."],
    ["info", "It touches something that is there without losing any of it, for example a routine, or inserts rows."],
    [
      "warning",
      "It may fail on the rows that are there, or block other work while it runs; the reason stands beside it.",
    ],
    ["error", "It holds what may not stand in a plan, for example a credential."],
    ["destructive", "It may lose data. It runs only with spec.policy.allowDestructive and an approval."],
  ]),
  ...group("severity of drift", [
    ["safe", "Something is to be added. What the statements for it risk is their class, in the plan."],
    ["info", "A text differs, for example a comment."],
    ["warning", "Something is to be changed or taken away that holds no rows."],
    ["error", "Above warning and below destructive; this version gives no difference it."],
    ["destructive", "Something is to be taken away or retyped that may hold rows."],
  ]),
  ...group("spec.policy.apply", [
    ["Never", "Plans are recorded and none runs."],
    ["OnApproval", "A plan runs when a person has approved exactly that plan."],
    ["Always", "A plan that loses nothing and changes no privileges runs by itself."],
  ]),
  ...group("spec.policy.driftSeverity", [
    ["all", "Every difference is reported."],
    ["destructive", "Only differences that may lose data are reported."],
  ]),
  ...group("transaction mode", [
    ["file", "One transaction for each file or run of statements that may share one."],
    ["none", "No transaction; what came before a failure is kept."],
    ["all", "One transaction around everything, or nothing runs."],
  ]),
  ...group("operation", [
    ["Resolve", "Reads the source and takes a snapshot of it."],
    ["Verify", "Checks the source against its verification policy."],
    ["Observe", "Reads a schema's database."],
    ["Plan", "Computes the statements that a schema needs, and proves them on a scratch server."],
    ["History", "Reads a migration's revision table and files."],
    ["Apply", "Runs one plan, once."],
  ]),
  ...group("change of privileges in a plan", [
    ["Grant", "Somebody is given a right."],
    ["Revoke", "Somebody loses a right."],
    ["RoleMembership", "A role becomes or stops being a member of another."],
    ["Role", "A role is made, changed or dropped."],
    ["Ownership", "An object gets another owner, who may do everything with it."],
    ["RowSecurityPolicy", "Which rows somebody sees changes."],
    ["SecurityDefiner", "A function runs with its owner's rights."],
    ["Definer", "A view or routine runs with its definer's rights."],
    ["FunctionReplacement", "A function that others call with their rights gets another body."],
  ]),
  ...group("state of a row of the revision table", [
    ["applied", "The version is applied."],
    ["pending", "The version was begun and not finished; the row is dirty."],
    ["failed", "A statement of the version failed; the row is dirty."],
  ]),
  ...group("kind of source", [
    ["ConfigMap", "The files stand in a ConfigMap of the namespace."],
    ["OCI", "The files stand in an OCI artifact."],
    ["Git", "The files stand in a Git repository."],
  ]),
];

const CATEGORY = /^[a-z][a-z_]*_(added|removed|modified)$/;
const DIFFERENCES: Readonly<Record<string, string>> = {
  added: "What is declared and the database lacks: it is to be added.",
  removed: "What the database has and the declaration does not: it is to be taken away.",
  modified: "What is there and declared otherwise: it is to be changed.",
};

/** Everything a word means besides phase, condition, reason, code and Event, whatever its case. */
export function explainWord(word: string): readonly Word[] {
  const lower = word.toLowerCase();
  const known = WORDS.filter((entry) => entry.word.toLowerCase() === lower);
  const difference = CATEGORY.exec(lower)?.[1];
  const meaning = difference === undefined ? undefined : DIFFERENCES[difference];
  return meaning === undefined ? known : [...known, { word: lower, where: "category of drift", meaning }];
}
