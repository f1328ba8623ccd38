/** Status schemas of every kind, and what the lifecycle keeps in annotations. */
export * from "./approval.ts";
export * from "./binding.ts";
export * from "./family.ts";
export * from "./journal.ts";
export * from "./lifecycle.ts";
export * from "./migration.ts";
export * from "./mirror.ts";
export * from "./plan.ts";
export * from "./schema.ts";
