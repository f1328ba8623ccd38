/** Every broken variant, by the name of its part. */
import { type Canary, FIRST_CANARIES } from "./canaries.ts";
import { MIGRATION_CANARIES } from "./canaries-migration.ts";

export const CANARIES: readonly Canary[] = [
  ...FIRST_CANARIES.map((canary) => ({ ...canary, name: String(canary.property) })),
  ...MIGRATION_CANARIES,
];
