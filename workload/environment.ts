/**
 * Names of every environment variable that the Job builder writes and the runner reads, so that the two cannot drift.
 * The names are the wire contract of the reference (runner contract, "Environment read by the runner").
 */
export const ENV = {
  operationID: "PTAH_OPERATION_ID",
  protocolVersion: "PTAH_RUNNER_PROTOCOL_VERSION",
  databaseURL: "PTAH_DB_URL",
  databaseCAFile: "PTAH_DB_CA_FILE",
  devURL: "PTAH_DEV_URL",
  scratchDirectory: "PTAH_SCRATCH_DIR",
  schemaFile: "PTAH_SCHEMA_FILE",
  expectedEngine: "PTAH_EXPECTED_DATABASE_ENGINE",
  expectedServerMajor: "PTAH_EXPECTED_SERVER_MAJOR",
  exclude: "PTAH_EXCLUDE",
  protectedTables: "PTAH_PROTECTED_TABLES",
  severity: "PTAH_SEVERITY",
  connectTimeout: "PTAH_CONNECT_TIMEOUT",
  lockTimeout: "PTAH_LOCK_TIMEOUT",
  transactionMode: "PTAH_TX_MODE",
  planDirectory: "PTAH_PLAN_DIR",
  expectedPlanContentDigest: "PTAH_EXPECTED_PLAN_CONTENT_DIGEST",
  coordinationDigest: "PTAH_COORDINATION_DIGEST",
  expectedCoordinationDigest: "PTAH_EXPECTED_COORDINATION_DIGEST",
  expectedTargetIdentityDigest: "PTAH_EXPECTED_TARGET_IDENTITY_DIGEST",
  dispatchNotAfter: "PTAH_DISPATCH_NOT_AFTER",
  executionNotAfter: "PTAH_EXECUTION_NOT_AFTER",
  terminationGraceSeconds: "PTAH_TERMINATION_GRACE_PERIOD_SECONDS",
  sourceContentDigest: "PTAH_SOURCE_CONTENT_DIGEST",
  snapshotDirectory: "PTAH_SNAPSHOT_DIR",
  sourceDirectory: "PTAH_SOURCE_DIR",
  versionOnly: "PTAH_VERSION_ONLY",
  migrationsDirectory: "PTAH_MIGRATIONS_DIR",
  expectedSequence: "PTAH_EXPECTED_MIGRATION_SEQUENCE",
  expectedSequenceDigest: "PTAH_EXPECTED_MIGRATION_SEQUENCE_DIGEST",
  expectedHistoryFingerprint: "PTAH_EXPECTED_MIGRATION_HISTORY_FINGERPRINT",
  migrationTransactionMode: "PTAH_TRANSACTION_MODE",
  /** Not `lockTimeout`: that one is how long a migration's statements wait for locks. */
  migrationLockTimeout: "PTAH_MIGRATION_LOCK_TIMEOUT",
} as const;

/** Variables whose value is a credential: never in argv, never in output. */
export const SECRET_ENV: readonly string[] = [ENV.databaseURL, ENV.devURL, "PTAH_OCI_PASSWORD", "PTAH_OCI_TOKEN"];

/** Fixed paths inside an operation Pod. */
export const PATHS = {
  ptah: "/usr/local/bin/ptah",
  runnerDirectory: "/runner",
  installedRunner: "/runner/ptah",
  work: "/work",
  source: "/source",
  migrations: "/source/migrations",
  snapshot: "/snapshot",
  plan: "/plan",
  scratch: "/scratch",
  targetCADirectory: "/credentials/target-ca",
  targetCAFile: "/credentials/target-ca/ca.pem",
  terminationLog: "/dev/termination-log",
} as const;
