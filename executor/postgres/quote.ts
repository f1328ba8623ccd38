/** An identifier as SQL text. */
export const quoteIdent = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** A string literal as SQL text, whatever standard_conforming_strings says. */
export const quoteLiteral = (value: string): string =>
  value.includes("\\")
    ? `E'${value.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`
    : `'${value.replaceAll("'", "''")}'`;

/** `schema.object` as a person writes it: quoted only where it must be. */
export const displayName = (...parts: readonly string[]): string =>
  parts.map((p) => (/^[a-z_][a-z0-9_$]*$/.test(p) ? p : quoteIdent(p))).join(".");
