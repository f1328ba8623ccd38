/** What the phases mean, for people. `kubectl ptah explain <phase>` and docs/reasons.md are this table; no decision reads a phase. */
import { RESUME } from "./reason.ts";
import type { Actor } from "./reasons.ts";

export interface Phase {
  readonly phase: string;
  readonly meaning: string;
  readonly who: Actor;
  readonly next: string;
}

const WAIT = "Nothing to do; kubectl ptah wait NAME returns when somebody has to act or nothing is left.";
/** Of what fails and is tried again: the phase stays, and the reason says whose turn it is. */
const READS =
  `${WAIT} Where the reason of Ready is OperationFailed or PodCannotStart its message says who has to do what, and the ` +
  "reading is tried again by itself.";
const WHY = "kubectl ptah schema NAME, or kubectl ptah migration NAME, shows the reason and the next command.";

const p = (phase: string, meaning: string, who: Actor = "nobody", next: string = WAIT): Phase => ({
  phase,
  meaning,
  who,
  next,
});

export const PHASES: readonly Phase[] = [
  p("Pending", "Nothing of this declaration has been read yet, or everything is read anew."),
  p("Resolving", "The source is being resolved to its content.", "nobody", READS),
  p("Verifying", "The source's artifact is being verified.", "nobody", READS),
  p("Observing", "The database is being read.", "nobody", READS),
  p("Reading", "A migration: the database's history is being read.", "nobody", READS),
  p(
    "Planning",
    "The change is being computed and proven on a throwaway copy of the structure. A migration: a plan stands and is about to run; with the reason ApplyDisabled it stays, because spec.policy.apply is Never.",
    "nobody",
    READS,
  ),
  p("ReadyToApply", "A plan stands, and policy lets it run without an approval."),
  p(
    "AwaitingApproval",
    "A plan waits for a person's approval of exactly that plan.",
    "approver",
    "kubectl ptah plan NAME, then kubectl ptah approve NAME",
  ),
  p(
    "Blocked",
    "Nothing changes until somebody changes an input; the reason of Ready says which. The condition Stalled is there too, except with the reason ApplyDisabled: a schema's plan stands and spec.policy.apply is Never.",
    "author",
    WHY,
  ),
  p("Applying", "The plan is being applied by its one Job."),
  p("VerifyingConvergence", "The Apply ended; a fresh read has to prove what it did."),
  p("VerifyingHistory", "A migration's run ended; a fresh read of the history follows."),
  p(
    "InSync",
    "A fresh read proved that the database is as declared, or that no migration is pending.",
    "nobody",
    "Nothing to do.",
  ),
  p("Suspended", "spec.suspend keeps new operations from starting.", "author", RESUME),
  p("Failed", "The last operation failed; it is tried again after spec.execution.failureRetryInterval.", "author", WHY),
];

/** The phase a word names, whatever its case. */
export function explainPhase(word: string): Phase | undefined {
  return PHASES.find((entry) => entry.phase.toLowerCase() === word.toLowerCase());
}
