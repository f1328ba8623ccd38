/**
 * The plain data of versioned migrations: what a migration directory holds once it was read, and why it was not.
 * Types only; `directory.ts` makes them, `statements.ts` splits a file for an engine.
 */

/** The engines that migrations run on; MariaDB and MySQL read the same text but are told apart by executable comments. */
export type MigrationEngine = "postgresql" | "mysql" | "mariadb";

/**
 * How one migration runs: `file` in one transaction with its history row, `none` each statement on its own.
 * `all` belongs to a whole run and is never a migration's own mode.
 */
export type TransactionMode = "file" | "none";

/** What the header of a file (its comments before the first statement) asks for. */
export interface Directives {
  /** `-- +ptah no_transaction` or `-- atlas:txmode none`. */
  readonly noTransaction: boolean;
  /** `-- +ptah lock_timeout=…`: how long a statement waits for a lock; above zero. */
  readonly lockTimeoutMs?: number;
  /** `-- +ptah statement_timeout=…`: how long a statement may run; above zero. */
  readonly statementTimeoutMs?: number;
  /** `-- atlas:txmode file|none` where the header says it; it may not contradict `no_transaction`. */
  readonly transactionMode?: TransactionMode;
}

/** One half of a migration as it stands in the directory. */
export interface MigrationFile {
  /** Path within the directory, `/` between its parts. */
  readonly path: string;
  /** The file's whole text, byte order mark included where it has one; empty where the bytes are not UTF-8 (see `refusal`). */
  readonly text: string;
}

/** One version: both halves, read and checked, not yet split into statements. */
export interface Migration {
  /** The file name's ten digits as an integer; positive and safe. */
  readonly version: number;
  /** A textual version of formats that have one; the native format has none. */
  readonly versionKey?: string;
  /** The file name's middle part as written, such as `create_orders`. */
  readonly name: string;
  /** `name` for people and for the history row, such as `Create Orders`. */
  readonly description: string;
  readonly up: MigrationFile;
  readonly down: MigrationFile;
  /** A checkpoint stands for all lower versions on a fresh database and is passed over on any other. */
  readonly checkpoint: boolean;
  /** Hex SHA-256 of the up file's bytes, as the history row of a clean run holds it. */
  readonly checksum: string;
  /** Directives of the up file's header. */
  readonly directives: Directives;
  /** How the up file runs where the run itself is in mode `file` (runs in mode `none` run everything without one). */
  readonly transactionMode: TransactionMode;
  /**
   * Why the up file cannot be run here (a directive that is not carried out, bytes that are no text …). It matters only where the
   * version is to be run: what another executor applied long ago is still read, because nobody can edit it any more.
   */
  readonly refusal?: MigrationRefusal;
}

/** One statement of a migration file. */
export interface Statement {
  /** What is sent to the server: without its terminator and without the comments before it. */
  readonly text: string;
  /** `text` through its terminator as it stands in the file: what `partial:h1:` checksums are made of. */
  readonly source: string;
  /** 1-based line of the file on which the statement starts. */
  readonly line: number;
  /** 1-based position among the file's statements. */
  readonly number: number;
}

/** Stable codes of what keeps a migration directory or one of its files from being used. */
export type MigrationRefusalCode =
  /** The directory is not there or cannot be read. */
  | "migration_directory_unreadable"
  /** A symbolic link, special file, or path that is too long, too deep or unsafe. */
  | "migration_path_unsafe"
  /** More files or bytes than the bounds of `limits.ts`. */
  | "migration_directory_too_large"
  /** A file whose name no rule of the format knows. */
  | "migration_file_unknown"
  /** A version lacks its up or its down file, or the two names differ. */
  | "migration_pair_incomplete"
  /** Two migrations carry one version. */
  | "migration_version_duplicate"
  /** Version zero. */
  | "migration_version_invalid"
  /** Atlas files, `atlas.sum`, repeatable or txtar files. */
  | "migration_format_unsupported"
  /** `ptah.sum` cannot be read. */
  | "migration_sum_invalid"
  /** A file differs from `ptah.sum`, is missing, or is not listed there. */
  | "migration_sum_mismatch"
  /** There is no `ptah.sum` and the caller requires one. */
  | "migration_sum_missing"
  /** A header directive that is malformed, repeated or contradicts another. */
  | "migration_directive_invalid"
  /** A header directive that is known and not carried out here. */
  | "migration_directive_unsupported"
  /** The file is not UTF-8 text without NUL. */
  | "migration_not_text"
  /** The file cannot be split into statements, or into more than one file may have; `rule` says why. */
  | "migration_syntax"
  /** A statement that mode `file` cannot keep in one transaction with its history row. */
  | "migration_statement_refused";

/** Why a directory or file is not used. `message` says what to do next and holds no SQL text. */
export interface MigrationRefusal {
  readonly code: MigrationRefusalCode;
  readonly message: string;
  /** The file concerned, as a path within the directory. */
  readonly path?: string;
  /** 1-based line within that file. */
  readonly line?: number;
  /** 1-based statement number within that file. */
  readonly statement?: number;
  /** Stable name of the rule that refused a statement. */
  readonly rule?: string;
}

/** A directory that was read whole: every file known, every pair complete, the sum (where there is one) verified. */
export interface MigrationDirectory {
  /** Ascending by version; versions are unique, checkpoints included. */
  readonly migrations: readonly Migration[];
  /** Whether `ptah.sum` was there and agreed; a disagreement is a refusal. */
  readonly sum: "verified" | "absent";
  /** `h1:` + base64 directory hash over the recognised files as they are, whether or not `ptah.sum` is there. */
  readonly directoryHash: string;
}

export type DirectoryResult = { readonly directory: MigrationDirectory } | { readonly refusal: MigrationRefusal };
export type StatementsResult = { readonly statements: readonly Statement[] } | { readonly refusal: MigrationRefusal };
