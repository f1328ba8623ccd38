/** The kinds whose lifecycles this is. */
import type { FamilyName } from "./types.ts";

export const KINDS = {
  schema: "PtahSchema",
  migration: "PtahMigration",
} as const satisfies Readonly<Record<FamilyName, string>>;

export type Kind = (typeof KINDS)[FamilyName];
