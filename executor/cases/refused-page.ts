import { CLUSTER, NOT_DECLARATIONS, UNMANAGED, UNMANAGED_DEFINITIONS } from "../postgres/statements.ts";

export interface RefusedCase {
  readonly name: string;
  readonly code: string;
}

/** Refusals of a plan or of the desired schema, and who does what about them. */
const CODES: readonly (readonly [code: string, meaning: string])[] = [
  [
    "invalid_schema",
    "A file does not parse, or the server refuses a statement; file and line are named. Correct the file.",
  ],
  ["unsupported_schema_format", "A file is not SQL (HCL, YAML, JSON). Write plain DDL."],
  ["not_a_declaration", "A statement does something instead of declaring something; file and line are named."],
  ["cluster_statement", "A statement concerns the whole cluster (roles, databases, tablespaces), not one database."],
  ["unmanaged_kind", "A statement makes a kind of object this version does not manage."],
  [
    "credential_in_schema",
    "A password stands in the schema. Everybody who may read the schema could read it; set it by hand.",
  ],
  ["role_missing", "The schema names a role the target does not have. Roles are made by whoever runs the cluster."],
  ["extension_unavailable", "The scratch server's image cannot install an extension the schema names."],
  ["scratch_missing", "Planning needs a scratch server of the target's major version."],
  ["scratch_version_mismatch", "The scratch server is of another major version than the target."],
  ["server_version_changed", "The target is of another major version than this run was prepared for."],
  [
    "needs_written_migration",
    "The differ knows that PostgreSQL cannot make this change in place (the base type of a domain in use).",
  ],
  [
    "plan_fails_on_clone",
    "The server refuses a statement of the plan on a clone of the target's structure; position and SQLSTATE are named.",
  ],
  [
    "clone_not_reproduced",
    "The target's structure cannot be rebuilt on the scratch server, so nothing could be proven there.",
  ],
  ["not_managed", "After the plan something would still differ; it is named. It is in no kind this version manages."],
  ["plan_not_stable", "Planning again after the plan would find more to do."],
  ["protected-table", "The plan would change a table of spec.policy.protectedTables."],
  ["invalid_exclude", "An exclude selector cannot be honoured; it is named."],
  [
    "transaction_mode",
    "transactionMode all cannot hold: a statement must be committed before the next (a new enum value).",
  ],
  ["lock_timeout", "Another schema change holds the database's lock."],
  ["lock_not_exclusive", "The URL leads through a transaction pooler, where a lock protects nothing."],
  ["stale-plan", "The database is no longer what the plan was made from."],
];

const list = (values: Readonly<Record<string, string>>): string =>
  [...new Set(Object.values(values))]
    .sort()
    .map((v) => `- ${v}`)
    .join("\n");

/** The page `docs/refused-postgresql.md`; written by `WRITE=1 make cases`, compared by every run. */
export function refusedPage(cases: readonly RefusedCase[]): string {
  const rows = [...cases].sort((a, b) => (a.name < b.name ? -1 : 1)).map((c) => `| ${c.name} | \`${c.code}\` |`);
  return `# What the PostgreSQL executor refuses

This page is made and compared by \`make cases\`. A refusal comes before any statement is sent and names what it is about; nothing is
ever ignored instead. Two readers look at every database (the differ and a second one of our own catalogs); a difference that
only the second sees and nothing here can plan ends as \`not_managed\`.

## Codes

| code | meaning |
| --- | --- |
${CODES.map(([code, meaning]) => `| \`${code}\` | ${meaning} |`).join("\n")}

## Statements that are no declaration

${list(NOT_DECLARATIONS)}
- ALTER TABLE with DROP COLUMN, DROP CONSTRAINT, DETACH PARTITION, ALTER COLUMN … TYPE, NO INHERIT, OF, SET TABLESPACE: imperative
- SET of anything that changes how later statements are read (what pg_dump writes around a schema is accepted)
- a SELECT that reads or calls something

## Statements about the whole cluster

${list(CLUSTER)}
- a grant on a database, tablespace, parameter or large object; TABLESPACE of a table

## Kinds that are not managed

${list(UNMANAGED)}
${list(UNMANAGED_DEFINITIONS)}
- a typed table (CREATE TABLE … OF), the VERSION of an extension
- column order: a difference is reported as a finding and never planned

## Cases of this repository that end refused

| case | code |
| --- | --- |
${rows.join("\n")}

\`data_<SQLSTATE>\` is not a refusal of the plan: existing rows break it, which only the server can know. Apply names the statement
and the state, and everything is rolled back.
`;
}
