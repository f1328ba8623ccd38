/** The API: kinds, specs, statuses, names and digests. */
export * from "./canonical.ts";
export * from "./common.ts";
export * from "./duration.ts";
export * from "./engine.ts";
export * from "./execution.ts";
export * from "./fields.ts";
export * from "./fingerprints.ts";
export type * from "./kind.ts";
export * from "./names.ts";
export * from "./ptahschema.ts";
export * from "./ptahschemaapproval.ts";
export * from "./ptahschemaplan.ts";
export * from "./source.ts";
export * from "./spec.ts";
export * from "./status/index.ts";
export * from "./target.ts";
export * from "./targetidentity.ts";
