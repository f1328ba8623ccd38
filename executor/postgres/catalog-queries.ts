/**
 * The second reader's queries: what a database holds, by name and never by OID, independent of the differ. Each row is one thing:
 * (kind, schema, object, child, props). Two databases are equal when these rows are.
 * Left out on purpose: column order (a finding of its own), what an extension owns, row counts and anything a server changes by itself.
 */

const USER_SCHEMA = `n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%' AND n.nspname NOT LIKE 'pg\\_temp%'`;

const notMember = (catalog: string, oid: string): string =>
  `NOT EXISTS (SELECT 1 FROM pg_depend dep WHERE dep.classid = '${catalog}'::regclass AND dep.objid = ${oid} AND dep.deptype IN ('e', 'i'))`;

const role = (oid: string): string => `(SELECT rolname FROM pg_roles WHERE oid = ${oid})`;

/** Privileges per grantee; an absent ACL is its built-in default, a trailing star a grant option. */
const acl = (column: string, type: string, owner: string): string => `(SELECT jsonb_object_agg(g, p) FROM (
  SELECT coalesce(r.rolname, 'PUBLIC') AS g,
    jsonb_agg(DISTINCT x.privilege_type || CASE WHEN x.is_grantable THEN '*' ELSE '' END) AS p
  FROM aclexplode(coalesce(${column}, acldefault('${type}', ${owner}))) x LEFT JOIN pg_roles r ON r.oid = x.grantee GROUP BY 1) s)`;

const sorted = (options: string): string => `(SELECT jsonb_agg(o ORDER BY o) FROM unnest(${options}) o)`;

const SCHEMAS = `SELECT 'schema' AS kind, n.nspname AS schema, NULL::text AS object, NULL::text AS child,
  jsonb_build_object('owner', ${role("n.nspowner")}, 'privileges', ${acl("n.nspacl", "n", "n.nspowner")}) AS props
  FROM pg_namespace n WHERE ${USER_SCHEMA} AND ${notMember("pg_namespace", "n.oid")}`;

const EXTENSIONS = `SELECT 'extension', NULL, e.extname::text, NULL, jsonb_build_object('schema', n.nspname)
  FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname <> 'plpgsql'`;

const RELATION_KIND = `CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized_view'
  WHEN 'f' THEN 'foreign_table' WHEN 'S' THEN 'sequence' END`;

const RELATIONS = `SELECT ${RELATION_KIND}, n.nspname, c.relname, NULL, jsonb_strip_nulls(jsonb_build_object(
    'partitioned', c.relkind = 'p', 'persistence', c.relpersistence, 'owner', ${role("c.relowner")},
    'options', ${sorted("c.reloptions")},
    'toast options', (SELECT ${sorted("t.reloptions")} FROM pg_class t WHERE t.oid = c.reltoastrelid),
    'row security', c.relrowsecurity, 'forced row security', c.relforcerowsecurity, 'replica identity', c.relreplident,
    'type of', CASE WHEN c.reloftype <> 0 THEN format_type(c.reloftype, NULL) END,
    'tablespace', (SELECT spcname FROM pg_tablespace WHERE oid = c.reltablespace),
    'access method', (SELECT amname FROM pg_am WHERE oid = c.relam),
    'partition key', CASE WHEN c.relkind = 'p' THEN pg_get_partkeydef(c.oid) END,
    'partition bound', pg_get_expr(c.relpartbound, c.oid),
    'parents', (SELECT jsonb_agg(i.inhparent::regclass::text ORDER BY i.inhseqno) FROM pg_inherits i WHERE i.inhrelid = c.oid),
    'query', CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) END,
    'privileges', CASE WHEN c.relkind = 'S' THEN ${acl("c.relacl", "s", "c.relowner")} ELSE ${acl("c.relacl", "r", "c.relowner")} END))
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND ${USER_SCHEMA} AND ${notMember("pg_class", "c.oid")}`;

/** What a server of Debian 13 notes on every column by itself, unlike on any other server; pg_dump leaves it out too. */
const SERVER_NOTE = "pg_attver=%";

const COLUMNS = `SELECT 'column', n.nspname, c.relname, a.attname, jsonb_strip_nulls(jsonb_build_object(
    'type', format_type(a.atttypid, a.atttypmod), 'not null', a.attnotnull,
    'collation', CASE WHEN a.attcollation <> t.typcollation THEN (SELECT quote_ident(cn.nspname) || '.' || quote_ident(co.collname)
      FROM pg_collation co JOIN pg_namespace cn ON cn.oid = co.collnamespace WHERE co.oid = a.attcollation) END,
    'identity', nullif(a.attidentity, ''), 'generated', nullif(a.attgenerated, ''),
    'default', pg_get_expr(d.adbin, d.adrelid),
    'storage', CASE WHEN a.attstorage <> t.typstorage THEN a.attstorage END, 'type storage', t.typstorage, 'compression', nullif(a.attcompression, ''),
    'statistics', nullif(coalesce(a.attstattarget, -1), -1), 'options', (SELECT jsonb_agg(o ORDER BY o) FROM unnest(a.attoptions) o WHERE o NOT LIKE '${SERVER_NOTE}'),
    'foreign options', ${sorted("a.attfdwoptions")},
    'privileges', CASE WHEN a.attacl IS NOT NULL THEN ${acl("a.attacl", "c", "c.relowner")} END))
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'f', 'm', 'c', 'v') AND ${USER_SCHEMA}
    AND NOT EXISTS (SELECT 1 FROM pg_depend e WHERE e.classid = 'pg_class'::regclass AND e.objid = c.oid AND e.deptype = 'e')
    AND (c.relkind <> 'c' OR EXISTS (SELECT 1 FROM pg_type ct WHERE ct.typrelid = c.oid AND ${notMember("pg_type", "ct.oid")}))`;

const CONSTRAINTS = `SELECT 'constraint', n.nspname, coalesce(c.relname, t.typname), k.conname, jsonb_build_object(
    'definition', pg_get_constraintdef(k.oid), 'validated', k.convalidated)
  FROM pg_constraint k JOIN pg_namespace n ON n.oid = k.connamespace
  LEFT JOIN pg_class c ON c.oid = k.conrelid LEFT JOIN pg_type t ON t.oid = k.contypid
  WHERE k.contype IN ('c', 'f', 'p', 'u', 'x') AND ${USER_SCHEMA}
    AND NOT EXISTS (SELECT 1 FROM pg_depend e WHERE e.deptype = 'e' AND (e.classid, e.objid) IN
      (('pg_class'::regclass, k.conrelid), ('pg_type'::regclass, k.contypid), ('pg_constraint'::regclass, k.oid)))`;

/** The options of an index as its printed definition holds them. */
const INDEX_OPTIONS = `(SELECT ' WITH (' || string_agg(quote_ident(split_part(o, '=', 1)) || '=' ||
      CASE WHEN quote_ident(v) = v THEN v ELSE quote_literal(v) END, ', ' ORDER BY at) || ')'
    FROM unnest(i.reloptions) WITH ORDINALITY r(o, at), LATERAL substr(o, strpos(o, '=') + 1) v)`;

const INDEXES = `SELECT 'index', n.nspname, c.relname, i.relname, jsonb_strip_nulls(jsonb_build_object(
    'definition', replace(pg_get_indexdef(x.indexrelid), coalesce(${INDEX_OPTIONS}, ''), ''), 'options', ${sorted("i.reloptions")},
    'valid', x.indisvalid AND x.indisready, 'clustered', nullif(x.indisclustered, false),
    'replica identity', nullif(x.indisreplident, false),
    'tablespace', (SELECT spcname FROM pg_tablespace WHERE oid = i.reltablespace),
    'statistics', (SELECT jsonb_object_agg(a.attnum, a.attstattarget) FROM pg_attribute a
       WHERE a.attrelid = i.oid AND coalesce(a.attstattarget, -1) <> -1)))
  FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class c ON c.oid = x.indrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE ${USER_SCHEMA} AND NOT EXISTS (SELECT 1 FROM pg_depend e WHERE e.classid = 'pg_class'::regclass AND e.objid IN (c.oid, i.oid) AND e.deptype = 'e')`;

const SEQUENCES = `SELECT 'sequence_definition', n.nspname, c.relname, NULL, jsonb_strip_nulls(jsonb_build_object(
    'type', format_type(s.seqtypid, NULL), 'start', s.seqstart, 'increment', s.seqincrement, 'min', s.seqmin, 'max', s.seqmax,
    'cache', s.seqcache, 'cycle', s.seqcycle,
    'owned by', (SELECT jsonb_build_array(rn.nspname, rc.relname, a.attname) FROM pg_depend d
       JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
       JOIN pg_class rc ON rc.oid = d.refobjid JOIN pg_namespace rn ON rn.oid = rc.relnamespace
       WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('a', 'i') AND d.refobjsubid > 0)))
  FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE ${USER_SCHEMA} AND NOT EXISTS (SELECT 1 FROM pg_depend e WHERE e.classid = 'pg_class'::regclass AND e.objid = c.oid AND e.deptype = 'e')`;

const ROUTINES = `SELECT CASE p.prokind WHEN 'p' THEN 'procedure' WHEN 'a' THEN 'aggregate' ELSE 'function' END, n.nspname,
    p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')', NULL, jsonb_strip_nulls(jsonb_build_object(
    'definition', CASE WHEN p.prokind <> 'a' THEN pg_get_functiondef(p.oid) END,
    'aggregate', (SELECT to_jsonb(g) - '{aggfnoid,aggtranstype,aggmtranstype,aggsortop}'::text[] || jsonb_build_object(
        'state', format_type(g.aggtranstype, NULL), 'sort', g.aggsortop::regoperator::text) FROM pg_aggregate g WHERE g.aggfnoid = p.oid),
    'result', pg_get_function_result(p.oid), 'parallel', p.proparallel, 'owner', ${role("p.proowner")},
    'extensions', (SELECT jsonb_agg(x.extname ORDER BY x.extname) FROM pg_depend d JOIN pg_extension x ON x.oid = d.refobjid
       WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'x'),
    'privileges', ${acl("p.proacl", "f", "p.proowner")}))
  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE ${USER_SCHEMA} AND ${notMember("pg_proc", "p.oid")}`;

const TRIGGERS = `SELECT 'trigger', n.nspname, c.relname, t.tgname, jsonb_build_object('definition', pg_get_triggerdef(t.oid), 'enabled', t.tgenabled)
  FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE NOT t.tgisinternal AND ${USER_SCHEMA} AND NOT EXISTS (SELECT 1 FROM pg_depend e WHERE e.deptype = 'e'
    AND (e.classid, e.objid) IN (('pg_class'::regclass, c.oid), ('pg_trigger'::regclass, t.oid)))`;

const POLICIES = `SELECT 'policy', n.nspname, c.relname, p.polname, jsonb_build_object('command', p.polcmd, 'permissive', p.polpermissive,
    'roles', (SELECT jsonb_agg(coalesce(r.rolname, 'PUBLIC') ORDER BY coalesce(r.rolname, 'PUBLIC')) FROM unnest(p.polroles) o LEFT JOIN pg_roles r ON r.oid = o),
    'using', pg_get_expr(p.polqual, p.polrelid), 'check', pg_get_expr(p.polwithcheck, p.polrelid))
  FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE ${USER_SCHEMA} AND NOT EXISTS (SELECT 1 FROM pg_depend e WHERE e.classid = 'pg_class'::regclass AND e.objid = c.oid AND e.deptype = 'e')`;

const RULES = `SELECT 'rule', n.nspname, c.relname, r.rulename, jsonb_build_object('definition', pg_get_ruledef(r.oid), 'enabled', r.ev_enabled)
  FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE r.rulename <> '_RETURN' AND ${USER_SCHEMA}
    AND NOT EXISTS (SELECT 1 FROM pg_depend e WHERE e.classid = 'pg_class'::regclass AND e.objid = c.oid AND e.deptype = 'e')`;

const TYPES = `SELECT CASE t.typtype WHEN 'd' THEN 'domain' ELSE 'type' END, n.nspname, t.typname, NULL, jsonb_strip_nulls(jsonb_build_object(
    'kind', t.typtype, 'owner', ${role("t.typowner")}, 'privileges', ${acl("t.typacl", "T", "t.typowner")},
    'values', (SELECT jsonb_agg(l.enumlabel ORDER BY l.enumsortorder) FROM pg_enum l WHERE l.enumtypid = t.oid),
    'base', CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod) END,
    'not null', nullif(t.typnotnull, false), 'default', CASE WHEN t.typtype = 'd' THEN t.typdefault END,
    'collation', CASE WHEN t.typtype = 'd' AND t.typcollation <> 0 THEN (SELECT collname FROM pg_collation WHERE oid = t.typcollation) END,
    'input', CASE WHEN t.typtype = 'b' THEN t.typinput::regprocedure::text END,
    'range', (SELECT jsonb_build_object('subtype', format_type(r.rngsubtype, NULL), 'canonical', r.rngcanonical::text, 'difference', r.rngsubdiff::text,
       'class', (SELECT opcname FROM pg_opclass WHERE oid = r.rngsubopc), 'collation', (SELECT collname FROM pg_collation WHERE oid = r.rngcollation),
       'multirange', format_type(r.rngmultitypid, NULL)) FROM pg_range r WHERE r.rngtypid = t.oid)))
  FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
  WHERE ${USER_SCHEMA} AND ${notMember("pg_type", "t.oid")} AND t.typtype IN ('e', 'd', 'c', 'r', 'b')
    AND (t.typrelid = 0 OR (SELECT relkind FROM pg_class WHERE oid = t.typrelid) = 'c')
    AND NOT EXISTS (SELECT 1 FROM pg_type el WHERE el.typarray = t.oid)`;

const COLLATIONS = `SELECT 'collation', n.nspname, c.collname, NULL,
    to_jsonb(c) - '{oid,collname,collnamespace,collversion,collowner}'::text[] || jsonb_build_object('owner', ${role("c.collowner")})
  FROM pg_collation c JOIN pg_namespace n ON n.oid = c.collnamespace WHERE ${USER_SCHEMA} AND ${notMember("pg_collation", "c.oid")}`;

const EVENT_TRIGGERS = `SELECT 'event_trigger', NULL, e.evtname::text, NULL, jsonb_build_object('event', e.evtevent, 'function', e.evtfoid::regprocedure::text,
    'enabled', e.evtenabled, 'tags', ${sorted("e.evttags")}, 'owner', ${role("e.evtowner")})
  FROM pg_event_trigger e WHERE ${notMember("pg_event_trigger", "e.oid")}`;

/** Row filters, column lists and whole schemas of a publication exist since major 15. */
const PUBLISHED_DETAILS = `coalesce(' ' || r.prattrs::text, '') || coalesce(' ' || pg_get_expr(r.prqual, r.prrelid), '')`;

const publications = (detailed: boolean): string => `SELECT 'publication', NULL, p.pubname::text, NULL,
    to_jsonb(p) - '{oid,pubname,pubowner}'::text[] || jsonb_build_object('owner', ${role("p.pubowner")},
    'tables', (SELECT jsonb_agg(r.prrelid::regclass::text || ${detailed ? PUBLISHED_DETAILS : "''"} ORDER BY r.prrelid::regclass::text)
      FROM pg_publication_rel r WHERE r.prpubid = p.oid)${
        detailed
          ? ", 'schemas', (SELECT jsonb_agg(n.nspname ORDER BY n.nspname) FROM pg_publication_namespace x JOIN pg_namespace n ON n.oid = x.pnnspid WHERE x.pnpubid = p.oid)"
          : ""
      })
  FROM pg_publication p WHERE ${notMember("pg_publication", "p.oid")}`;

const FOREIGN = `SELECT 'foreign_data_wrapper', NULL, w.fdwname::text, NULL, jsonb_build_object('handler', w.fdwhandler::regproc::text,
    'validator', w.fdwvalidator::regproc::text, 'options', ${sorted("w.fdwoptions")}, 'owner', ${role("w.fdwowner")}, 'privileges', ${acl("w.fdwacl", "F", "w.fdwowner")})
  FROM pg_foreign_data_wrapper w WHERE ${notMember("pg_foreign_data_wrapper", "w.oid")}
UNION ALL SELECT 'server', NULL, s.srvname::text, NULL, jsonb_build_object('type', s.srvtype, 'version', s.srvversion,
    'options', ${sorted("s.srvoptions")}, 'owner', ${role("s.srvowner")}, 'privileges', ${acl("s.srvacl", "S", "s.srvowner")})
  FROM pg_foreign_server s WHERE ${notMember("pg_foreign_server", "s.oid")}
UNION ALL SELECT 'user_mapping', NULL, m.srvname || ' for ' || m.usename, NULL, '{}'::jsonb FROM pg_user_mappings m
UNION ALL SELECT 'foreign_table_definition', n.nspname, c.relname, NULL, jsonb_build_object('server', s.srvname, 'options', ${sorted("f.ftoptions")})
  FROM pg_foreign_table f JOIN pg_class c ON c.oid = f.ftrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_foreign_server s ON s.oid = f.ftserver WHERE ${notMember("pg_class", "c.oid")}`;

const DEFAULT_PRIVILEGES = `SELECT 'default_privileges', n.nspname, ${role("d.defaclrole")} || ' ' || d.defaclobjtype::text, NULL,
    (SELECT jsonb_object_agg(g, p) FROM (SELECT coalesce(r.rolname, 'PUBLIC') AS g,
       jsonb_agg(DISTINCT x.privilege_type || CASE WHEN x.is_grantable THEN '*' ELSE '' END) AS p
       FROM aclexplode(d.defaclacl) x LEFT JOIN pg_roles r ON r.oid = x.grantee WHERE x.grantee <> d.defaclrole GROUP BY 1) s)
  FROM pg_default_acl d LEFT JOIN pg_namespace n ON n.oid = d.defaclnamespace`;

const STATISTICS = `SELECT 'statistics', n.nspname, s.stxname, NULL, jsonb_strip_nulls(jsonb_build_object(
    'definition', pg_get_statisticsobjdef(s.oid), 'owner', ${role("s.stxowner")}, 'target', nullif(coalesce(s.stxstattarget, -1), -1)))
  FROM pg_statistic_ext s JOIN pg_namespace n ON n.oid = s.stxnamespace WHERE ${USER_SCHEMA} AND ${notMember("pg_statistic_ext", "s.oid")}`;

const FIRST_USER_OID = 16384;

/** Kinds nobody here models: their existence and identity are read, so that one that differs is named. */
const UNMODELED = (
  [
    "pg_cast",
    "pg_operator",
    "pg_opclass",
    "pg_opfamily",
    "pg_ts_config",
    "pg_ts_dict",
    "pg_ts_parser",
    "pg_ts_template",
    "pg_transform",
    "pg_language",
    "pg_conversion",
    "pg_am",
    "pg_subscription",
  ] as const
)
  .map((catalog) => {
    const source =
      catalog === "pg_subscription"
        ? "(SELECT oid FROM pg_subscription WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database()))"
        : catalog;
    return `SELECT 'unmodeled ' || i.type, i.schema,
    CASE WHEN i.schema IS NULL THEN i.identity ELSE substr(i.identity, length(quote_ident(i.schema)) + 2) END, NULL, '{}'::jsonb FROM ${source} x,
  LATERAL pg_identify_object('${catalog}'::regclass, x.oid, 0) i WHERE x.oid >= ${FIRST_USER_OID} AND ${notMember(catalog, "x.oid")}`;
  })
  .join("\nUNION ALL\n");

const COMMENTS = `SELECT 'comment on ' || i.type, coalesce(i.schema, CASE WHEN i.type = 'schema' THEN i.identity END),
    CASE WHEN i.type = 'schema' THEN NULL WHEN i.schema IS NULL THEN i.identity ELSE coalesce(a.object_names[2], i.identity) ||
      coalesce('(' || nullif(array_to_string(a.object_args, ','), '') || ')', '') END, a.object_names[3], jsonb_build_object('text', d.description)
  FROM pg_description d, LATERAL pg_identify_object(d.classoid, d.objoid, d.objsubid) i,
    LATERAL pg_identify_object_as_address(d.classoid, d.objoid, d.objsubid) a
  WHERE d.objoid >= ${FIRST_USER_OID} AND d.classoid <> 'pg_extension'::regclass AND i.type IS NOT NULL
    AND coalesce(i.schema, '') NOT IN ('pg_catalog', 'information_schema')
    AND NOT EXISTS (SELECT 1 FROM pg_depend e WHERE e.classid = d.classoid AND e.objid = d.objoid AND e.deptype = 'e')`;

const SECURITY_LABELS = `SELECT 'security_label', NULL, i.identity, i.type, jsonb_build_object('provider', l.provider, 'label', l.label)
  FROM pg_seclabel l, LATERAL pg_identify_object(l.classoid, l.objoid, l.objsubid) i`;

/** All queries for a server of this major, in a fixed order. */
export const catalogQueries = (major: number): readonly string[] => [
  SCHEMAS,
  EXTENSIONS,
  RELATIONS,
  COLUMNS,
  CONSTRAINTS,
  INDEXES,
  SEQUENCES,
  ROUTINES,
  TRIGGERS,
  POLICIES,
  RULES,
  TYPES,
  COLLATIONS,
  EVENT_TRIGGERS,
  publications(major >= 15),
  FOREIGN,
  DEFAULT_PRIVILEGES,
  STATISTICS,
  UNMODELED,
  COMMENTS,
  SECURITY_LABELS,
];

/** Columns of each table and view in their order. */
export const COLUMN_ORDER = `SELECT n.nspname AS schema, c.relname AS object, c.relkind = 'v' AS view, jsonb_agg(a.attname ORDER BY a.attnum) AS columns
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'f', 'v') AND ${USER_SCHEMA}
    AND NOT EXISTS (SELECT 1 FROM pg_depend e WHERE e.classid = 'pg_class'::regclass AND e.objid = c.oid AND e.deptype = 'e')
  GROUP BY 1, 2, 3`;
