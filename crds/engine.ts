/** Which engines and sources this version carries out. What it does not is refused by name, never ignored. */
import type { SourceKind } from "./source.ts";

export type Engine = "postgresql" | "mysql";

const SPELLINGS: Readonly<Record<string, Engine>> = {
  postgres: "postgresql",
  postgresql: "postgresql",
  pgx: "postgresql",
  mysql: "mysql",
  mariadb: "mysql",
};

/** Engines whose lifecycle exists here. */
export const SUPPORTED_ENGINES: readonly Engine[] = ["postgresql"];
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

/** Whether an engine, as spelled in a spec, can be run. */
export function engineSupported(spelling: string): boolean {
  const engine = normalizeEngine(spelling);
  return engine !== undefined && SUPPORTED_ENGINES.includes(engine);
}

/** Whether a kind of source can be read. */
export function sourceSupported(kind: SourceKind): boolean {
  return SUPPORTED_SOURCES.includes(kind);
}
