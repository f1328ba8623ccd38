/** The families there are: what `decide` chooses from, and the only list of them. */
import type { Family } from "./family.ts";
import { migrationFamily } from "./migration.ts";
import { schemaFamily } from "./schema.ts";
import type { FamilyName } from "./types.ts";

export const FAMILIES: Readonly<Record<FamilyName, Family>> = { schema: schemaFamily, migration: migrationFamily };
