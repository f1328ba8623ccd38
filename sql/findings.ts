import { LIMITS } from "./limits.ts";
import { orderedPrivileges, type PrivilegeChange, UNREADABLE_PRIVILEGES } from "./privileges.ts";
import { type Severity, strongerSeverity } from "./severity.ts";
import { child, isTree, list, stringValue, type Tree, text } from "./tree.ts";

/** What one piece of SQL does, as far as approvals and policy care. */
export interface Classification {
  readonly severity: Severity;
  /** Why, in words of this reader; never a piece of the SQL. Empty when there is nothing to say. */
  readonly reason: string;
  readonly destructive: boolean;
  /** In the order of the closed list, without duplicates. */
  readonly privilegeChanges: readonly PrivilegeChange[];
  /** Relations the SQL changes (not those it only reads), `schema.name` or `name`, sorted. */
  readonly tables: readonly string[];
  /** True when the SQL carries a password or another secret; such a statement is refused, never stored. */
  readonly credential: boolean;
}

/** Collects what was found while a statement is read. Everything here only adds: nothing found is ever taken back. */
export class Findings {
  #severity: Severity = "safe";
  readonly #reasons = new Map<string, Severity>();
  readonly #privileges = new Set<PrivilegeChange>();
  readonly #tables = new Set<string>();
  #credential = false;
  readonly #newTables: ReadonlySet<string>;

  /** @param newTables `schema.name` of tables that came to be in the same transaction of change and hold no row */
  constructor(newTables: ReadonlySet<string> = new Set()) {
    this.#newTables = newTables;
  }

  /** Raises the severity and says why. */
  raise(severity: Severity, reason: string): void {
    this.#severity = strongerSeverity(this.#severity, severity);
    this.#reasons.set(reason, strongerSeverity(this.#reasons.get(reason) ?? "safe", severity));
  }

  privilege(kind: PrivilegeChange, reason: string): void {
    this.#privileges.add(kind);
    this.raise("warning", reason);
  }

  /** What cannot be read is destructive and may change any privilege. */
  unreadable(reason: string): void {
    this.raise("destructive", reason);
    for (const kind of UNREADABLE_PRIVILEGES) this.#privileges.add(kind);
  }

  credential(): void {
    this.#credential = true;
    this.raise("error", "carries a credential");
  }

  /** Notes a changed relation given as a RangeVar's fields. */
  relation(rangeVar: Tree): void {
    const name = text(rangeVar, "relname");
    if (name !== "") this.#tables.add([text(rangeVar, "schemaname"), name].filter((part) => part !== "").join("."));
  }

  /** Whether a RangeVar's fields name a table without rows; a name that could be read in two ways does not. */
  isNewTable(rangeVar: Tree): boolean {
    const [schema, name] = [text(rangeVar, "schemaname"), text(rangeVar, "relname")];
    return !`${schema}${name}`.includes(".") && this.#newTables.has(`${schema}.${name}`);
  }

  /** Notes a changed relation given as a list of name parts; `drop` trailing parts belong to something inside it. */
  named(parts: readonly Tree[], drop = 0): void {
    const names = parts.map((part) => stringValue(part) ?? "").filter((part) => part !== "");
    const kept = names.slice(0, names.length - drop).slice(-2);
    if (kept.length > 0) this.#tables.add(kept.join("."));
  }

  result(): Classification {
    const strongest = [...this.#reasons]
      .filter(([, severity]) => severity === this.#severity)
      .map(([reason]) => reason);
    return {
      severity: this.#severity,
      reason: strongest.join("; ").slice(0, LIMITS.reasonLength),
      destructive: this.#severity === "destructive",
      privilegeChanges: orderedPrivileges(this.#privileges),
      tables: [...this.#tables].sort(),
      credential: this.#credential,
    };
  }
}

/** @returns the name parts of a dropped or named object (`List` of Strings, or one String). */
export function nameParts(object: Tree): readonly Tree[] {
  if ("List" in object) return list(child(object, "List"), "items");
  return isTree(object["String"]) ? [object] : [];
}
