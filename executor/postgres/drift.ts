import {
  type Catalog,
  columnOrderFindings,
  compareCatalogs,
  type Difference,
  describeDifference,
  mayBeRespelled,
  readCatalog,
  withoutExcludedEntries,
} from "./catalog.ts";
import { type CompareInput, type Comparison, withComparison } from "./compare.ts";
import type { Exclusion } from "./exclude.ts";
import type { Session } from "./session.ts";

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
    const { server } = comparison;
    const { target, wanted } = await catalogs(comparison, input.exclusion);
    const byCategory = new Map<string, { names: string[]; severity: DriftSeverity }>();
    for (const difference of compareCatalogs(target, wanted)) {
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
      columnOrder: columnOrderFindings(target, wanted),
      serverVersionNum: server.versionNum,
      serverVersion: server.version,
    };
  });
}

interface Catalogs {
  readonly target: Catalog;
  /** The declared schema's, in the target's spelling wherever the two mean the same. */
  readonly wanted: Catalog;
}

/** Our own reader is enough to see a difference; the differ's is asked only where one may be no more than another spelling. */
async function catalogs(comparison: Comparison, exclusion: Exclusion): Promise<Catalogs> {
  const { target, desired } = await comparison.read(readNarrowCatalog);
  if (!compareCatalogs(target, desired).some(mayBeRespelled)) return { target, wanted: desired };
  const [{ spellingOf }, { emptyReadOnce }, { readView }] = await Promise.all([
    import("./spelling.ts"),
    import("./clone.ts"),
    import("./view.ts"),
  ]);
  const { server, scratch } = comparison;
  const views = await comparison.read(readView);
  const base = { server, empty: emptyReadOnce() };
  const { wanted } = await spellingOf({ scratch, base, target: views.target, declared: views.desired, exclusion });
  return { target: views.target.catalog, wanted: wanted.catalog };
}

const readNarrowCatalog = async (session: Session, exclusion: Exclusion): Promise<Catalog> =>
  withoutExcludedEntries(await readCatalog(session), exclusion);

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
