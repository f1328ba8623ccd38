import type { Database } from "../e2e/lab/database.ts";
import type { Lab } from "../e2e/lab/lab.ts";
import { conditionOf } from "../e2e/lab/subject.ts";
import { type Check, condition, type Step } from "./step.ts";

const CONVERGENCE_MS = 180_000;
const NAME = "ledger";
const DIRECTORY = "build/demo-ledger";
/** What the ConfigMap is made of, as a pipeline would do it. */
const PUBLISH = `kubectl create configmap ledger-migrations -n $NAMESPACE --from-file=${DIRECTORY} --dry-run=client -o yaml | kubectl apply -f -`;
/** An administrator's own way to the database, from this machine. */
const DATABASE_URL = [
  "ip=$(kubectl get pod ledger -n $NAMESPACE -o jsonpath='{.status.podIP}')",
  "url=$(kubectl get secret ledger-url -n $NAMESPACE -o go-template='{{.data.url | base64decode}}')",
  `export PTAH_MIGRATIONS_DIR=${DIRECTORY} PTAH_DB_URL=$(echo "$url" | sed "s/@[^:]*:/@$ip:/")`,
].join("\n");
const ROWS = "SELECT version, state, applied, total FROM schema_migrations ORDER BY version";

const inDatabase = (sql: string): string =>
  `kubectl exec -i -n $NAMESPACE ledger -- mysql --user=root app --table -e "${sql}"`;

/** What the live object has to say. */
function checksOf(lab: Lab, namespace: string) {
  const read = () => lab.get("ptahmigration", NAME, namespace);
  // biome-ignore lint/suspicious/noExplicitAny: a check reads whatever field it is about
  const status = (claim: string, holds: (status: any) => boolean): Check => ({
    claim: `ptahmigration/${NAME} ${claim}`,
    holds: async () => {
      const migration = await read();
      const current = migration?.status?.observedGeneration === migration?.metadata.generation;
      return migration?.status !== undefined && current && holds(migration.status);
    },
  });
  const waits = (versions: number, from: number): Check =>
    status(`waits for a decision on ${versions} version(s) from ${from} on`, ({ phase, plan }) => {
      return phase === "AwaitingApproval" && plan?.stepCount === versions && plan.currentVersion === from;
    });
  const inSyncAt = (version: number): Check[] => [
    status(`is InSync at version ${version}, and nothing is owed`, ({ phase, history, unresolvedRun }) => {
      const matches = history?.currentVersion === version && history.pendingCount === 0;
      return phase === "InSync" && matches && unresolvedRun === undefined;
    }),
    condition(lab, "ptahmigration", NAME, namespace, "Ready", "HistoryMatched"),
  ];
  const held = (outcome: string, version: number, statement: number): Check[] => [
    status(`holds a run that ended ${outcome} at statement ${statement} of version ${version}`, (s) => {
      const { unresolvedRun, lastRun, plan } = s;
      const at = lastRun?.failure?.version === version && lastRun.failure.statement === statement;
      return unresolvedRun?.outcome === outcome && unresolvedRun.operationID === lastRun?.operationID && at && !plan;
    }),
    {
      claim: `ptahmigration/${NAME}: Ready=False (HistoryDirty), Blocked=True`,
      holds: async () => {
        const migration = await read();
        const ready = conditionOf(migration, "Ready");
        const blocked = conditionOf(migration, "Blocked");
        return ready?.status === "False" && ready.reason === "HistoryDirty" && blocked?.status === "True";
      },
    },
  ];
  const settledBy = (resolution: string): Check =>
    status(`has its held run settled (${resolution})`, (s) => s.resolvedRun?.resolution === resolution);
  return { status, waits, inSyncAt, held, settledBy };
}

type Checks = ReturnType<typeof checksOf>;

/** Two pending versions are approved and applied. */
function twoVersions({ waits, inSyncAt }: Checks, database: Database): Step[] {
  return [
    {
      note: "The other family: versioned migrations that somebody wrote, here for MySQL. Two are pending on an empty database.",
      run: [
        `rm -rf ${DIRECTORY} && cp -r demo/ledger ${DIRECTORY}`,
        PUBLISH,
        "kubectl apply -n $NAMESPACE -f demo/ledger.yaml",
      ].join("\n"),
      prints: ["ptahmigration.operator.ptah.run/ledger created"],
      checks: [waits(2, 0), { claim: "nothing has run yet", holds: async () => (await tables(database)) === "" }],
      withinMs: CONVERGENCE_MS,
    },
    {
      note: "The plan: which versions, with the checksums of their files, in this order and nothing else.",
      run: `kubectl ptah plan migration/${NAME} -n $NAMESPACE`,
      prints: ["Accounts", "Postings", "CHECKSUM"],
    },
    {
      note: "Approve exactly that. Both are applied by one run, and a fresh reading of the history proves it.",
      run: `kubectl ptah approve migration/${NAME} -n $NAMESPACE --yes --wait`,
      checks: [
        ...inSyncAt(2),
        { claim: "both tables exist", holds: async () => (await tables(database)) === "accounts,postings" },
      ],
      withinMs: CONVERGENCE_MS,
    },
  ];
}

/** A file fails half-way; the run is held, inspected, repaired by hand and settled by a reading. */
function halfWay({ waits, inSyncAt, held, settledBy }: Checks): Step[] {
  return [
    {
      note: "A third version. Its second statement names an account that does not exist, and MySQL has committed the first by then.",
      run: `cp demo/ledger-next/0000000003_* ${DIRECTORY}/\n${PUBLISH}`,
      checks: [waits(1, 2)],
      withinMs: CONVERGENCE_MS,
    },
    {
      note: "Approved, it fails half-way. The run is held: it is never repeated, and nothing else runs on this database.",
      run: `kubectl ptah approve migration/${NAME} -n $NAMESPACE --yes`,
      prints: ["approved:"],
      checks: held("Partial", 3, 2),
      withinMs: CONVERGENCE_MS,
    },
    {
      note: "Where did it stop? No SQL and no row in status: version, statement, and the database's own error number.",
      run: `kubectl ptah migration ${NAME} -n $NAMESPACE`,
      prints: ["version 3, statement 2", "MySQL error 1452"],
    },
    {
      note: "Inspect the database: one of three statements is recorded as done, and the column is there.",
      run: `${inDatabase(ROWS)}\n${inDatabase("SHOW COLUMNS FROM postings LIKE 'note'")}`,
      prints: ["failed", "varchar(80)"],
    },
    {
      note: "Repair it by hand: run what is missing, then say so in the revision table.",
      run: [
        inDatabase(
          "INSERT INTO accounts (id, name) VALUES (1, 'cash'); INSERT INTO postings (account_id, amount, note) VALUES (1, 100.00, 'opening balance'), (1, 5.00, 'opening balance')",
        ),
        DATABASE_URL,
        "ptah migrations repair --version 3 --force",
      ].join("\n"),
      checks: held("Partial", 3, 2),
    },
    {
      note: "A reading settles the run: nothing is pending. Nobody had to vouch for anything.",
      run: `kubectl ptah refresh migration/${NAME} -n $NAMESPACE --wait`,
      checks: [...inSyncAt(3), settledBy("Reading")],
      withinMs: CONVERGENCE_MS,
    },
  ];
}

/** Nobody can tell what a statement left; a person looks, and vouches for that one run. */
function vouchedFor({ status, waits, inSyncAt, held, settledBy }: Checks): Step[] {
  return [
    {
      note: "A fourth version: a unique index over notes that are not unique. MySQL does not say whether a stopped index left anything.",
      run: [
        `cp demo/ledger-next/0000000004_* ${DIRECTORY}/`,
        PUBLISH,
        `kubectl ptah wait migration/${NAME} -n $NAMESPACE --for AwaitingApproval`,
        `kubectl ptah approve migration/${NAME} -n $NAMESPACE --yes`,
      ].join("\n"),
      prints: ["approved:"],
      checks: held("Unknown", 4, 1),
      withinMs: CONVERGENCE_MS,
    },
    {
      note: "A person looks: the index is not there. The row is cleared, and the file no longer asks for what the data refuses.",
      run: [
        inDatabase("SHOW INDEX FROM postings WHERE Key_name = 'postings_note'"),
        `sed -i 's/UNIQUE //' ${DIRECTORY}/0000000004_note_index.up.sql`,
        PUBLISH,
        DATABASE_URL,
        "ptah migrations set --version 3",
        `kubectl ptah refresh migration/${NAME} -n $NAMESPACE --wait`,
      ].join("\n"),
      neverPrints: ["postings_note |"],
      checks: [
        status("still holds the run, although the version is pending again and nothing is dirty", (s) => {
          return s.unresolvedRun?.outcome === "Unknown" && s.history?.pendingCount === 1 && s.history.dirty !== true;
        }),
      ],
      withinMs: CONVERGENCE_MS,
    },
    {
      note: "Only a word ends it now: what is known, what is not and what to check is shown, and the person vouches for that one run.",
      run: `kubectl ptah acknowledge ${NAME} -n $NAMESPACE --yes --wait`,
      prints: ["Known:", "Not known:", "acknowledged:"],
      checks: [settledBy("Acknowledged"), waits(1, 3)],
      withinMs: CONVERGENCE_MS,
    },
    {
      note: "The edited file is a new plan and needs its own approval. It is applied.",
      run: `kubectl ptah approve migration/${NAME} -n $NAMESPACE --yes --wait`,
      checks: inSyncAt(4),
      withinMs: CONVERGENCE_MS,
    },
    {
      note: "And the journal tells all of it, each run joined to its approval and its reading.",
      run: `kubectl ptah journal migration/${NAME} -n $NAMESPACE`,
      prints: ["Partial", "Unknown", "RunAcknowledged", "Verified"],
      checks: [
        status("tells four runs, each once", (s) => {
          const entries = (s.journal?.entries ?? []) as { type: string; outcome?: string }[];
          const runs = entries.filter((entry) => entry.type === "RunFinished").map((entry) => entry.outcome);
          return runs.join() === "Applied,Partial,Unknown,Applied";
        }),
      ],
    },
  ];
}

/** The story of versioned migrations (seed 003). */
export function ledgerStory(lab: Lab, database: Database): Step[] {
  const checks = checksOf(lab, database.namespace);
  return [...twoVersions(checks, database), ...halfWay(checks), ...vouchedFor(checks)];
}

async function tables(database: Database): Promise<string> {
  const rows = await database.sql(
    "select table_name from information_schema.tables where table_schema = database() and table_name <> 'schema_migrations' order by 1",
  );
  return rows.trim().split("\n").join();
}
