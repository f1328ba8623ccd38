import type { PrivilegeChange } from "../crds/common.ts";
import { PrivilegeChange as PrivilegeChangeList } from "../crds/common.ts";

export type { PrivilegeChange };

/**
 * The closed list of privilege kinds, in the order they are always listed. A plan that carries any of them needs an
 * approval even under `apply: Always`.
 */
export const PRIVILEGE_CHANGES = PrivilegeChangeList.options;

/** What a PostgreSQL statement that cannot be read might change: every kind but MySQL's DEFINER clause. */
export const UNREADABLE_PRIVILEGES: readonly PrivilegeChange[] = PRIVILEGE_CHANGES.filter((kind) => kind !== "Definer");

/** @returns the kinds without duplicates, in the order of the closed list. */
export function orderedPrivileges(kinds: Iterable<PrivilegeChange>): PrivilegeChange[] {
  const present = new Set(kinds);
  return PRIVILEGE_CHANGES.filter((kind) => present.has(kind));
}
