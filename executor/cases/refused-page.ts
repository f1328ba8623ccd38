import { EXECUTOR_REFUSALS } from "../../crds/codes.ts";
import { CLUSTER, NOT_DECLARATIONS, UNMANAGED, UNMANAGED_DEFINITIONS } from "../postgres/statements.ts";

export interface RefusedCase {
  readonly name: string;
  readonly code: string;
}

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
${EXECUTOR_REFUSALS.map(([code, meaning]) => `| \`${code}\` | ${meaning} |`).join("\n")}

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
- column order: never planned; a schema that differs in nothing else is in sync, and \`column_order\` in the report of
  \`ptah schema drift\` and \`plan\` names its tables

## Cases of this repository that end refused

| case | code |
| --- | --- |
${rows.join("\n")}

\`apply_failed\` with a SQLSTATE is not a refusal of the plan: existing rows break it, which only the server can know. Apply names the statement
and the state, and everything is rolled back.
`;
}
