/** Named bounds of the SQL room; where a figure comes from the field or the reference it is said here. */
export const LIMITS = {
  /** The largest plan document (reference, schema plan §5.1). */
  planSizeBytes: 8 * 1024 * 1024,
  /** One stored plan chunk. */
  chunkSizeBytes: 512 * 1024,
  /** How many chunks one plan may have: 16 × 512 KiB = 8 MiB. */
  chunkCount: 16,
  /** The largest SQL text given to the parser in one piece. */
  sqlSizeBytes: 8 * 1024 * 1024,
  /** The largest text one classification reads; its tree is some 150 times as large, and nobody reads more before approving. */
  classifiedSizeBytes: 1024 * 1024,
  /** Statements of one plan; far above any real schema, low enough to be read by a person. */
  statementCount: 20_000,
  /** Nodes of one statement's tree that are read; a larger statement counts as unreadable. */
  treeNodeCount: 2_000_000,
  /** How deep routine bodies may nest (a DO block that creates a function that …) before they count as unreadable. */
  bodyDepth: 8,
  /** Statements of one MySQL text; a dump of rows has more than a plan, and each is one round trip. */
  mysqlStatementCount: 100_000,
  /** How deep MySQL blocks may nest in a body; the server's own parser stack ends far below. */
  mysqlBlockDepth: 256,
  /** The longest delimiter the MySQL client accepts. */
  mysqlDelimiterLength: 15,
  planNameLength: 253,
  fingerprintLength: 128,
  reasonLength: 1024,
  excludeCount: 128,
  excludeLength: 256,
} as const;
