import { Refused } from "../contract.ts";
import { MAX_NAMES_IN_REPORT } from "../limits.ts";
import type { Session } from "./session.ts";

/** Oids below this one are the server's own (PostgreSQL's transam.h, FirstNormalObjectId). */
const FIRST_OWN_OID = 16_384;

/** Catalogs whose rows a declaration may make or change, and how such an object is named. */
const CATALOGS: readonly { readonly catalog: string; readonly schema: string; readonly name: string }[] = [
  { catalog: "pg_class", schema: "relnamespace", name: "'relation ' || o.oid::regclass::text" },
  { catalog: "pg_proc", schema: "pronamespace", name: "'routine ' || o.oid::regprocedure::text" },
  { catalog: "pg_type", schema: "typnamespace", name: "'type ' || o.oid::regtype::text" },
  { catalog: "pg_operator", schema: "oprnamespace", name: "'operator ' || o.oid::regoperator::text" },
  { catalog: "pg_collation", schema: "collnamespace", name: "'collation ' || o.collname" },
  { catalog: "pg_statistic_ext", schema: "stxnamespace", name: "'statistics ' || o.stxname" },
];

/** The part of a declaration's effect that neither reader looks at: what it made or changed in the server's own schemas. */
const TOUCHED = [
  ...CATALOGS.map(
    ({ catalog, schema, name }) => `SELECT ${name} AS name FROM pg_catalog.${catalog} o
      JOIN pg_catalog.pg_namespace n ON n.oid = o.${schema}
      WHERE (n.nspname IN ('pg_catalog', 'information_schema') OR n.nspname ~ '^pg_temp_')
      AND pg_catalog.age(o.xmin) <= pg_catalog.age($1::text::xid)
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
        WHERE d.classid = 'pg_catalog.${catalog}'::regclass AND d.objid = o.oid AND d.deptype IN ('e', 'i'))`,
  ),
  `SELECT 'schema ' || o.nspname FROM pg_catalog.pg_namespace o
      WHERE o.nspname IN ('pg_catalog', 'information_schema') AND pg_catalog.age(o.xmin) <= pg_catalog.age($1::text::xid)`,
  `SELECT 'comment on ' || pg_catalog.pg_describe_object(o.classoid, o.objoid, o.objsubid) FROM pg_catalog.pg_description o
      WHERE o.objoid < ${FIRST_OWN_OID} AND pg_catalog.age(o.xmin) <= pg_catalog.age($1::text::xid)
      AND (o.classoid, o.objoid) NOT IN (
        SELECT 'pg_catalog.pg_namespace'::regclass, p.oid FROM pg_catalog.pg_namespace p WHERE p.nspname = 'public'
        UNION ALL SELECT 'pg_catalog.pg_extension'::regclass, e.oid FROM pg_catalog.pg_extension e)`,
].join("\nUNION ALL ");

/** @returns a mark of this moment in the database, for {@link refuseSystemObjects} */
export async function markBefore(database: Session): Promise<string> {
  const [row] = await database.query("SELECT pg_catalog.xid(pg_catalog.pg_current_xact_id())::text AS mark");
  return String(row?.["mark"]);
}

/**
 * The server's own schemas belong to no declared schema: neither reader compares them, so what was declared there would be
 * ignored in silence. An extension's own objects are its business.
 * @param mark what {@link markBefore} said before anything was loaded
 * @throws Refused `system_object`
 */
export async function refuseSystemObjects(database: Session, mark: string): Promise<void> {
  const rows = await database.query(`SELECT DISTINCT name FROM (${TOUCHED}) touched ORDER BY name`, [mark]);
  const names = rows.map((row) => String(row["name"]));
  if (names.length === 0) return;
  const shown = names.slice(0, MAX_NAMES_IN_REPORT);
  const more = names.length > shown.length ? ` and ${names.length - shown.length} more` : "";
  throw new Refused(
    "system_object",
    `the desired schema makes or changes what is the server's own or temporary: ${shown.join("; ")}${more}; declare it in a schema of yours, or leave it out`,
    { objects: shown },
  );
}
