import { columnOrderFindings, compareCatalogs, type Difference, describeDifference } from "./catalog.ts";
import { type CompareInput, withComparison } from "./compare.ts";
import { spellingOf } from "./spelling.ts";

export type DriftSeverity = "safe" | "info" | "warning" | "error" | "destructive";

export interface DriftFinding {
  readonly category: string;
  readonly count: number;
  readonly severity: DriftSeverity;
}

export interface DriftResult {
  readonly drift: boolean;
  readonly highestSeverity: DriftSeverity;
  readonly findings: readonly DriftFinding[];
  /** Names by category. */
  readonly diff: Readonly<Record<string, readonly string[]>>;
  readonly columnOrder: readonly string[];
  readonly serverVersionNum: number;
  readonly serverVersion: string;
}

const ORDER: readonly DriftSeverity[] = ["safe", "info", "warning", "error", "destructive"];

/** Compares the target with the desired schema; changes and plans nothing. */
export function driftOf(input: CompareInput): Promise<DriftResult> {
  return withComparison(input, async (comparison) => {
    const { target, desired: declared, server, scratch } = comparison;
    const { exclusion } = input;
    const { wanted } = await spellingOf({ scratch, base: comparison, target, declared, exclusion });
    const byCategory = new Map<string, { names: string[]; severity: DriftSeverity }>();
    for (const difference of compareCatalogs(target.catalog, wanted.catalog)) {
      const { category, severity } = categoryOf(difference);
      const known = byCategory.get(category);
      byCategory.set(category, {
        names: [...(known?.names ?? []), describeDifference(difference)],
        severity: stronger(known?.severity ?? "safe", severity),
      });
    }
    const findings = [...byCategory].map(([category, { names, severity }]) => ({
      category,
      count: names.length,
      severity,
    }));
    findings.sort(
      (a, b) => ORDER.indexOf(b.severity) - ORDER.indexOf(a.severity) || (a.category < b.category ? -1 : 1),
    );
    return {
      drift: findings.length > 0,
      highestSeverity: findings[0]?.severity ?? "safe",
      findings,
      diff: Object.fromEntries(
        [...byCategory].map(([c, { names }]) => [c, names] as const).sort(([a], [b]) => (a < b ? -1 : 1)),
      ),
      columnOrder: columnOrderFindings(target.catalog, declared.catalog),
      serverVersionNum: server.versionNum,
      serverVersion: server.version,
    };
  });
}

const stronger = (a: DriftSeverity, b: DriftSeverity): DriftSeverity => (ORDER.indexOf(a) >= ORDER.indexOf(b) ? a : b);

/** Category names: the reference's where it has one, its pattern for the kinds it does not know. */
const PLURALS: Readonly<Record<string, string>> = {
  index: "indexes",
  policy: "rls_policies",
  procedure: "functions",
  aggregate: "functions",
  function: "functions",
  sequence_definition: "sequences",
  foreign_table_definition: "foreign_tables",
  statistics: "statistics",
  default_privileges: "default_privileges",
};

/** What holds rows or values that a removal would lose. */
const LOSING: ReadonlySet<string> = new Set([
  "schema",
  "table",
  "column",
  "materialized_view",
  "sequence",
  "type",
  "domain",
  "extension",
  "foreign_table",
]);

function categoryOf({ address, before, after, properties }: Difference): { category: string; severity: DriftSeverity } {
  const kind = address.kind.startsWith("comment on") ? "comment" : address.kind;
  const plural = kind.startsWith("unmodeled ") ? "unmanaged_objects" : (PLURALS[kind] ?? `${kind}s`);
  if (before === undefined) return { category: `${plural}_added`, severity: "safe" };
  if (after === undefined)
    return { category: `${plural}_removed`, severity: LOSING.has(kind) ? "destructive" : "warning" };
  const retyped = kind === "column" && properties.includes("type");
  return {
    category: `${plural}_modified`,
    severity: retyped ? "destructive" : kind === "comment" ? "info" : "warning",
  };
}
