/** One CSV record (RFC 4180 quoting): how lists travel in one environment variable. */

/** The record of the fields, each quoted where it has to be. */
export function csvRecord(fields: readonly string[]): string {
  return fields.map((field) => (/[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(",");
}

/** The fields of one record, or undefined when the text is not exactly one. */
export function parseCsvRecord(record: string): string[] | undefined {
  if (record === "") return [];
  const fields: string[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|$)/y;
  while (field.lastIndex <= record.length) {
    const match = field.exec(record);
    if (match === null) return undefined;
    fields.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? "");
    if (match[3] === "") return fields;
  }
  return undefined;
}
