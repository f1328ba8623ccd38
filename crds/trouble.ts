/**
 * Troubles under which the operator goes on trying by itself, and what ends them; a person who waits is told accordingly.
 * Who acts stands in the tables of reasons and codes.
 */
import { explainCode, type OperationCode } from "./codes.ts";
import { explainReason, type ReasonName } from "./reasons.ts";

/**
 * `person`: nothing but an act of somebody ends it; `moments`: so, unless what it waits for is just being made; `time`: it may
 * pass by itself.
 */
export type TroubleEnd = "person" | "moments" | "time";

export interface Trouble {
  readonly ends: TroubleEnd;
  /** The same for every attempt that fails alike: the reason, with the code where the message holds one. */
  readonly key: string;
}

const REASONS_IN_TROUBLE: Partial<Record<ReasonName, TroubleEnd | "code">> = {
  SourceNotFound: "moments",
  SourceRefused: "person",
  SourcePolicyNotFound: "moments",
  SourcePolicyRefused: "person",
  ResolveFailed: "time",
  RefreshFailed: "time",
  RealmConflict: "moments",
  RealmNotAuthorized: "moments",
  OperationFailed: "code",
  ResultMissing: "time",
  ConfigurationError: "person",
  PodCannotStart: "moments",
  PodAdmissionRefused: "moments",
  RunnerProtocolMismatch: "person",
};

/** Codes that name somebody who may have to act, of what often passes without. */
const PASSING: ReadonlySet<string> = new Set(["connection_failed"]);

const CODE = /\b(?:[Ee]nded|[Rr]efused) with ([a-z_]+):/;

/** The code that the message says an operation ended, or a plan was refused, with. */
export function codeIn(message: string): OperationCode | undefined {
  const code = CODE.exec(message)?.[1];
  return code === undefined ? undefined : explainCode(code);
}

/**
 * @param reason reason of the condition Ready
 * @param message its message, which names the code an operation ended with
 * @returns undefined where the reason is no trouble of the kind
 */
export function troubleOf(reason: string, message: string): Trouble | undefined {
  const ends = REASONS_IN_TROUBLE[reason as ReasonName];
  if (ends === undefined || explainReason(reason).reason === undefined) return undefined;
  if (ends !== "code") return { ends, key: reason };
  const entry = codeIn(message);
  if (entry === undefined) return { ends: "time", key: reason };
  const passes = entry.who === "nobody" || PASSING.has(entry.code);
  return { ends: passes ? "time" : "person", key: `${reason} ${entry.code}` };
}
