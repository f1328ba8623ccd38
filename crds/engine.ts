/** Which engines and sources this version carries out. What it does not is refused by name, never ignored. */
import type { Family } from "./names.ts";
import type { SourceKind } from "./source.ts";

export type Engine = "postgresql" | "mysql";

const SPELLINGS: Readonly<Record<string, Engine>> = {
  postgres: "postgresql",
  postgresql: "postgresql",
  pgx: "postgresql",
  mysql: "mysql",
  mariadb: "mysql",
};

/** Engines whose lifecycle exists here, by family: migrations are the author's own SQL, a schema's is computed. */
export const SUPPORTED_ENGINES: Readonly<Record<Family, readonly Engine[]>> = {
  schema: ["postgresql"],
  migration: ["postgresql", "mysql"],
};
/** Sources that are read here. */
export const SUPPORTED_SOURCES: readonly SourceKind[] = ["ConfigMap"];

/**
 * The engine a spelling means, whatever its case.
 * @returns undefined for an engine nobody here knows
 */
export function normalizeEngine(spelling: string): Engine | undefined {
  const key = spelling.trim().toLowerCase();
  return Object.hasOwn(SPELLINGS, key) ? SPELLINGS[key] : undefined;
}

/** Whether an engine, as spelled in a spec, can be run by this family. */
export function engineSupported(spelling: string, family: Family): boolean {
  const engine = normalizeEngine(spelling);
  return engine !== undefined && SUPPORTED_ENGINES[family].includes(engine);
}

/** Whether a kind of source can be read. */
export function sourceSupported(kind: SourceKind): boolean {
  return SUPPORTED_SOURCES.includes(kind);
}
