/** What a scenario is: where it starts and what may happen in it, how often. */
import type { FamilyName } from "../families/types.ts";
import type { SpecInputs } from "./values.ts";
import type { Budgets } from "./world.ts";

export interface Scenario {
  /** A schema's where it is not said. */
  readonly family?: FamilyName;
  readonly name: string;
  /** What it plays, in one line. */
  readonly plays: string;
  readonly budgets: Budgets;
  /** More of it with DEEP=1. */
  readonly deeper?: Budgets;
  readonly inputs?: Partial<SpecInputs>;
  /** Other resources of the same managers; on the same realm unless their inputs name another. */
  readonly beside?: readonly { readonly family: FamilyName; readonly inputs?: Partial<SpecInputs> }[];
  /** A person has approved every plan that stands at the start. */
  readonly approved?: boolean;
  readonly managers?: number;
  readonly contender?: boolean;
  readonly databases?: number;
  /** Begins where the resource first rests in this verdict, nothing having failed; otherwise as it is created. */
  readonly from?: "AwaitingApproval" | "Blocked";
  /** Phases, conditions and journal are written too. */
  readonly narrated?: boolean;
}
