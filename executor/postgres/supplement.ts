import type { Difference } from "./catalog.ts";
import type { Step } from "./differ.ts";
import { displayName, quoteIdent, quoteLiteral } from "./quote.ts";

type Props = Readonly<Record<string, unknown>>;

/**
 * Statements for what the differ does not model and one ALTER can set: storage, compression and statistics of columns, defaults of
 * the columns of partitions, inheriting tables and views, TOAST options, options and clustering of indexes, and extended statistics.
 * @returns the steps, and the differences that none of them covers
 */
export function supplement(differences: readonly Difference[]): {
  readonly steps: readonly Step[];
  readonly rest: readonly Difference[];
} {
  const steps: Step[] = [];
  const rest: Difference[] = [];
  const commentsLast = [...differences].sort((a, b) => Number(isComment(a)) - Number(isComment(b)));
  for (const difference of commentsLast) {
    const statements = statementsFor(difference);
    if (statements === undefined) rest.push(difference);
    else steps.push(...statements.map((sql) => step(sql, tableOf(difference))));
  }
  return { steps, rest };
}

const isComment = (d: Difference): boolean => d.address.kind.startsWith("comment on");

function step(sql: string, table: string | undefined): Step {
  const tables = table === undefined ? [] : [table];
  return { sql, transaction: "joined", commitAfter: false, losesRows: false, rewrites: false, tables };
}

function tableOf({ address }: Difference): string | undefined {
  const inTable = ["column", "table", "index"].includes(address.kind);
  return inTable ? displayName(address.schema ?? "", address.object ?? "") : undefined;
}

const qualified = (schema: string | undefined, object: string | undefined): string =>
  `${quoteIdent(schema ?? "")}.${quoteIdent(object ?? "")}`;

function statementsFor(difference: Difference): readonly string[] | undefined {
  const { address, before, after } = difference;
  if (address.kind === "statistics") return statisticsObject(difference);
  if (address.kind === "comment on statistics object") {
    const text = after?.props["text"];
    return [
      `COMMENT ON STATISTICS ${qualified(address.schema, address.object)} IS ${typeof text === "string" ? quoteLiteral(text) : "NULL"}`,
    ];
  }
  if (/^comment on (?:materialized )?view column$/.test(address.kind)) {
    const text = after?.props["text"];
    const name = `${qualified(address.schema, address.object)}.${quoteIdent(address.child ?? "")}`;
    return [`COMMENT ON COLUMN ${name} IS ${typeof text === "string" ? quoteLiteral(text) : "NULL"}`];
  }
  if (before === undefined || after === undefined) return undefined;
  if (address.kind === "column") return column(difference, after.props);
  if (address.kind === "table") return toast(difference, before.props, after.props);
  return address.kind === "index" ? index(difference, after.props) : undefined;
}

function statisticsObject({ address, before, after, properties }: Difference): readonly string[] {
  const name = qualified(address.schema, address.object);
  const drop = `DROP STATISTICS ${name}`;
  if (after === undefined) return [drop];
  const remade = before === undefined || properties.includes("definition");
  const create = remade ? [String(after.props["definition"])] : [];
  const target = after.props["target"];
  const set = remade ? target !== undefined : properties.includes("target");
  return [
    ...(before !== undefined && remade ? [drop] : []),
    ...create,
    ...(set ? [`ALTER STATISTICS ${name} SET STATISTICS ${Number(target ?? -1)}`] : []),
    ...(!remade && properties.includes("owner")
      ? [`ALTER STATISTICS ${name} OWNER TO ${quoteIdent(String(after.props["owner"]))}`]
      : []),
  ];
}

const STORAGE: Readonly<Record<string, string>> = { p: "PLAIN", e: "EXTERNAL", m: "MAIN", x: "EXTENDED" };
const COMPRESSION: Readonly<Record<string, string>> = { p: "pglz", l: "lz4" };

/** Column settings by property; undefined for a property that no such setting exists for. */
const COLUMN_SETTINGS: Readonly<Record<string, (wanted: Props) => string | undefined>> = {
  storage: (wanted) => {
    const word = STORAGE[String(wanted["storage"] ?? wanted["type storage"])];
    return word === undefined ? undefined : `SET STORAGE ${word}`;
  },
  compression: (wanted) => `SET COMPRESSION ${COMPRESSION[String(wanted["compression"])] ?? "DEFAULT"}`,
  statistics: (wanted) => `SET STATISTICS ${Number(wanted["statistics"] ?? -1)}`,
  // What a generated column is computed from is printed as its default and cannot be set.
  default: (wanted) => {
    if (wanted["generated"] !== undefined) return undefined;
    return wanted["default"] === undefined ? "DROP DEFAULT" : `SET DEFAULT ${String(wanted["default"])}`;
  },
};

function column({ address, before, properties }: Difference, wanted: Props): readonly string[] | undefined {
  const target = `ALTER TABLE ${qualified(address.schema, address.object)} ALTER COLUMN ${quoteIdent(address.child ?? "")}`;
  const statements: string[] = [];
  for (const property of properties) {
    const setting = COLUMN_SETTINGS[property]?.(wanted);
    if (property === "options")
      statements.push(...optionChanges(target, "", before?.props["options"], wanted["options"]));
    else if (setting === undefined) return undefined;
    else statements.push(`${target} ${setting}`);
  }
  return statements;
}

const optionsOf = (value: unknown): ReadonlyMap<string, string> =>
  new Map(
    (Array.isArray(value) ? value.map(String) : []).map((o) => [
      o.slice(0, o.indexOf("=")),
      o.slice(o.indexOf("=") + 1),
    ]),
  );

function toast({ address, properties }: Difference, present: Props, wanted: Props): readonly string[] | undefined {
  if (properties.length !== 1 || properties[0] !== "toast options") return undefined;
  const table = `ALTER TABLE ${qualified(address.schema, address.object)}`;
  return optionChanges(table, "toast.", present["toast options"], wanted["toast options"]);
}

/** RESET of options that go, SET of those that come or change. */
function optionChanges(target: string, prefix: string, present: unknown, wanted: unknown): readonly string[] {
  const now = optionsOf(present);
  const then = optionsOf(wanted);
  const reset = [...now.keys()].filter((k) => !then.has(k)).map((k) => prefix + k);
  const set = [...then].filter(([k, v]) => now.get(k) !== v).map(([k, v]) => `${prefix}${k} = ${quoteLiteral(v)}`);
  return [
    ...(reset.length > 0 ? [`${target} RESET (${reset.join(", ")})`] : []),
    ...(set.length > 0 ? [`${target} SET (${set.join(", ")})`] : []),
  ];
}

function index({ address, before, properties }: Difference, wanted: Props): readonly string[] | undefined {
  if (!properties.every((p) => p === "clustered" || p === "options")) return undefined;
  const table = `ALTER TABLE ${qualified(address.schema, address.object)}`;
  const name = quoteIdent(address.child ?? "");
  const options = optionChanges(
    `ALTER INDEX ${qualified(address.schema, address.child)}`,
    "",
    before?.props["options"],
    wanted["options"],
  );
  if (!properties.includes("clustered")) return options;
  return [...options, wanted["clustered"] === true ? `${table} CLUSTER ON ${name}` : `${table} SET WITHOUT CLUSTER`];
}
