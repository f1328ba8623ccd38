/**
 * What the row guard asks the server. Every name is written in full: functions of the schema must not stand in for the
 * server's own.
 */

/** Tables, materialized views and sequences that are there before a transaction, and their storage. No lock is taken. */
export const STANDING = `SELECT c.oid::text AS oid, n.nspname AS schema, c.relname AS name, c.relkind AS kind, c.relfilenode::text AS storage
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'm', 'S') AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'`;

/** Tables that the transaction locked against everybody: only under that lock can one be emptied, dropped or written anew. */
export const LOCKED = `SELECT l.relation::text AS oid, c.relfilenode::text AS storage,
    EXISTS (SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = l.relation AND a.attisdropped
      AND pg_catalog.age(a.xmin) <= pg_catalog.age(pg_catalog.pg_current_xact_id()::xid)) AS drops_column
  FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_class c ON c.oid = l.relation
  WHERE l.pid = pg_catalog.pg_backend_pid() AND l.granted AND l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock'
    AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())`;

/** The tables of these names with all partitions and children, and their storage. No lock is taken. */
const FAMILY = `WITH RECURSIVE f(oid) AS (SELECT pg_catalog.to_regclass(n)::oid FROM pg_catalog.unnest($1::text[]) n
    UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN f ON i.inhparent = f.oid)`;
export const STORAGE = `${FAMILY} SELECT c.oid::text AS oid, c.relfilenode::text AS storage
  FROM f JOIN pg_catalog.pg_class c ON c.oid = f.oid WHERE c.relkind IN ('r', 'm')`;

/** The same with their size. It waits for whoever rewrites one, so it is asked only under a lock that the plan needs anyway. */
export const SIZES = `${FAMILY} SELECT c.oid::text AS oid, c.relfilenode::text AS storage, pg_catalog.pg_relation_size(c.oid)::text AS size
  FROM f JOIN pg_catalog.pg_class c ON c.oid = f.oid WHERE c.relkind IN ('r', 'm')`;

/** The same, and whether each holds a row (one is looked for, none is counted). A table that may not be read is taken for full. */
export const SIZES_AND_ROWS = `${FAMILY} SELECT c.oid::text AS oid, c.relfilenode::text AS storage, pg_catalog.pg_relation_size(c.oid)::text AS size,
    CASE WHEN pg_catalog.pg_relation_size(c.oid) = 0 THEN false
      WHEN NOT pg_catalog.has_table_privilege(c.oid, 'SELECT') OR NOT pg_catalog.has_schema_privilege(n.oid, 'USAGE') OR pg_catalog.row_security_active(c.oid) THEN true
      ELSE pg_catalog.query_to_xml(pg_catalog.format('SELECT 1 AS a FROM ONLY %I.%I LIMIT 1', n.nspname, c.relname), false, true, '')::text <> '' END AS filled
  FROM f JOIN pg_catalog.pg_class c ON c.oid = f.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'm')`;

/** The sizes of tables that this session holds locked; one that is gone has none. */
export const SIZES_OF = `SELECT o::text AS oid, coalesce(pg_catalog.pg_relation_size(o), 0)::text AS size FROM pg_catalog.unnest($1::oid[]) o`;

/** Whether the role may take the lock by itself that ALTER TABLE takes for it. */
export const MAY_LOCK = "SELECT pg_catalog.has_table_privilege($1::text, 'UPDATE, DELETE, TRUNCATE') AS may";

/** Rows and pieces of large objects that the transaction changed or deleted, as the server counts them. */
export const CHANGED = `SELECT
    coalesce(sum(n_tup_upd + n_tup_del) FILTER (WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND schemaname !~ '^pg_toast'), 0)::text AS rows,
    coalesce(sum(n_tup_upd + n_tup_del) FILTER (WHERE schemaname = 'pg_catalog' AND relname IN ('pg_largeobject', 'pg_largeobject_metadata')), 0)::text AS objects
  FROM pg_catalog.pg_stat_xact_all_tables`;

/** Of these tables, those into which the transaction inserted. The server writes a table anew without counting that. */
export const INSERTED = `SELECT relid::text AS oid FROM pg_catalog.pg_stat_xact_all_tables
  WHERE n_tup_ins > 0 AND relid = ANY ($1::oid[])`;

/** Event triggers that run. */
export const EVENT_TRIGGERS =
  "SELECT EXISTS (SELECT FROM pg_catalog.pg_event_trigger WHERE evtenabled <> 'D') AS found";
