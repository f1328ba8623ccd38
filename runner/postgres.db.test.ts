import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { PTAH_SCRIPT } from "../executor/cases/executable.ts";
import { type LocalServer, startServer } from "../executor/cases/server.ts";
import { SCRATCH_SCRIPT } from "../workload/containers.ts";
import { ENV } from "../workload/environment.ts";
import type { OperationResult, WireOperation } from "../workload/result.ts";
import { type Ended, Pod, until } from "./testing/pod.ts";

/**
 * The runner over the real executor, on a real PostgreSQL and with the scratch server that the Job's sidecar would start.
 */
const NOT_READY_LIMIT_MS = 180_000;
const PASSWORD = "v3ry-s3cret";

let server: LocalServer;
let scratch: ChildProcess;
let scratchDirectory: string;
let executor: string;
const pods: Pod[] = [];

/** The sidecar's own script in a directory of this test, as an account that is not root. */
function startScratch(): void {
  scratchDirectory = mkdtempSync(join(tmpdir(), "ptah-scratch-"));
  chmodSync(scratchDirectory, 0o777);
  const script = SCRATCH_SCRIPT.replaceAll("/scratch", scratchDirectory);
  const passwd = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const account = passwd.find((f) => f[0] === "postgres") ?? passwd.find((f) => f[0] === "nobody") ?? [];
  const shell = ["/bin/sh", "-c", script];
  const asUser =
    process.getuid?.() === 0 ? ["setpriv", `--reuid=${account[2]}`, `--regid=${account[3]}`, "--clear-groups"] : [];
  const [command = "", ...args] = [...asUser, ...shell];
  scratch = spawn(command, args, {
    stdio: "ignore",
    env: { PATH: process.env["PATH"], PTAH_SCRATCH_MAJOR: String(server.major) },
  });
}

beforeAll(async () => {
  server = await startServer();
  startScratch();
  const directory = mkdtempSync(join(tmpdir(), "ptah-executor-"));
  executor = join(directory, "ptah");
  writeFileSync(executor, PTAH_SCRIPT, { mode: 0o755 });
  await withDatabase("postgres", async (client) => {
    await client.query(`CREATE ROLE app LOGIN SUPERUSER PASSWORD '${PASSWORD}'`);
  });
}, 300_000);

afterAll(async () => {
  scratch.kill("SIGINT");
  await server.stop();
  rmSync(scratchDirectory, { recursive: true, force: true });
});

afterEach(() => {
  for (const pod of pods.splice(0)) pod.dispose();
});

async function withDatabase<T>(database: string, body: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: server.url(database) });
  await client.connect();
  try {
    return await body(client);
  } finally {
    await client.end();
  }
}

const urlOf = (database: string): string =>
  `postgres://app:${PASSWORD}@127.0.0.1:${server.port}/${database}?sslmode=disable`;

function podOf(operation: WireOperation, database: string, files: Record<string, string> = {}): Pod {
  const pod = new Pod(operation, {}, executor);
  pods.push(pod);
  const source = join(pod.directory, "source");
  mkdirSync(source);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(source, name), text);
  Object.assign(pod.env, {
    [ENV.databaseURL]: urlOf(database),
    [ENV.schemaFile]: source,
    [ENV.devURL]: `postgres://ptah@localhost/postgres?host=${scratchDirectory}`,
    [ENV.scratchDirectory]: scratchDirectory,
    [ENV.expectedServerMajor]: String(server.major),
    [ENV.transactionMode]: "file",
  });
  return pod;
}

function succeeded(ended: Ended): OperationResult {
  if (ended.result === undefined || ended.result.error !== undefined) {
    throw new Error(`the operation failed: ${JSON.stringify(ended.result?.error ?? ended.stderr)}`);
  }
  return ended.result;
}

const SCHEMA = {
  "10-orders.sql": "CREATE TABLE orders (id int PRIMARY KEY, note text NOT NULL DEFAULT '');\n",
  "20-view.sql": "CREATE VIEW open_orders AS SELECT id FROM orders WHERE note <> '';\n",
};

describe("the runner over the real executor", () => {
  test(
    "observes, plans, applies and finds nothing more to do",
    async () => {
      await withDatabase("postgres", (client) => client.query("CREATE DATABASE story"));

      const versionPod = podOf("observe", "story");
      versionPod.env[ENV.versionOnly] = "true";
      for (const name of [ENV.expectedServerMajor, ENV.devURL, ENV.scratchDirectory]) delete versionPod.env[name];
      const version = succeeded(await versionPod.run());
      expect(version.serverMajor).toBe(server.major);
      expect(version.driftReportDigest).toBeUndefined();

      const before = succeeded(await podOf("observe", "story", SCHEMA).run());
      expect(before).toMatchObject({ observedDrift: true, serverMajor: server.major });
      expect(before.driftFindingCount).toBeGreaterThan(0);

      const planned = succeeded(await podOf("plan", "story", SCHEMA).run());
      expect(planned.planOutcome).toBe("Changes");
      expect(planned.serverMajor).toBe(server.major);
      expect(planned.targetIdentityDigest).toBe(before.targetIdentityDigest ?? "");
      expect(planned.stdout).toContain("open_orders");
      expect(planned.stdout).not.toContain(PASSWORD);

      const applied = succeeded(await approved("story", planned.stdout).run());
      expect(applied).toMatchObject({ mutationStarted: true, childStarted: true });
      const rows = await withDatabase(
        "story",
        async (client) => (await client.query("SELECT * FROM open_orders")).rowCount,
      );
      expect(rows).toBe(0);

      const again = succeeded(await podOf("plan", "story", SCHEMA).run());
      expect(again.planOutcome).toBe("NoChanges");
      const after = succeeded(await podOf("observe", "story", SCHEMA).run());
      expect(after.observedDrift).toBe(false);

      // The approved bytes once more: the executor sees that the database moved on, and the frame says stale.
      const stale = await approved("story", planned.stdout).run();
      expect(stale.result).toMatchObject({ mutationStarted: true, uncertain: true, error: { code: "stale_plan" } });
    },
    NOT_READY_LIMIT_MS,
  );

  function approved(database: string, plan: string): Pod {
    const pod = podOf("apply", database);
    for (const name of [ENV.schemaFile, ENV.devURL, ENV.scratchDirectory, ENV.expectedServerMajor])
      delete pod.env[name];
    return pod.approve(plan, 512 * 1024);
  }

  test(
    "rolls back what the data refuses and says that the outcome is to be read",
    async () => {
      await withDatabase("postgres", (client) => client.query("CREATE DATABASE refusing"));
      await withDatabase("refusing", (client) => client.query("CREATE TABLE t (a int); INSERT INTO t VALUES (NULL)"));
      const planned = succeeded(await podOf("plan", "refusing", { "a.sql": "CREATE TABLE t (a int NOT NULL);" }).run());
      const ended = await approved("refusing", planned.stdout).run();
      expect(ended.result).toMatchObject({ mutationStarted: true, uncertain: true });
      expect(["apply_failed", "apply_refused", "apply_outcome_unknown"]).toContain(ended.result?.error?.code ?? "");
    },
    NOT_READY_LIMIT_MS,
  );

  const refusals: readonly [string, (pod: Pod) => void, Record<string, string>, string][] = [
    [
      "a database that does not exist",
      (p) => Object.assign(p.env, { [ENV.databaseURL]: urlOf("nowhere") }),
      SCHEMA,
      "database_missing",
    ],
    [
      "a port that nobody listens on",
      (p) => Object.assign(p.env, { [ENV.databaseURL]: "postgres://app@127.0.0.1:1/x?sslmode=disable" }),
      SCHEMA,
      "connection_failed",
    ],
    ["SQL with a syntax error", () => undefined, { "bad.sql": "CREATE TABLE (;" }, "plan_refused"],
    [
      "an extension the scratch server lacks",
      () => undefined,
      { "x.sql": "CREATE EXTENSION no_such_extension;" },
      "plan_refused",
    ],
    [
      "another major than the claim's",
      (p) => Object.assign(p.env, { [ENV.expectedServerMajor]: "99" }),
      SCHEMA,
      "server_version_changed",
    ],
  ];
  for (const [name, change, files, code] of refusals) {
    test(
      `ends in ${code} for ${name}`,
      async () => {
        const pod = podOf("plan", "postgres", files);
        change(pod);
        const ended = await pod.run();
        expect(ended.result?.error?.code).toBe(code);
        expect(ended.result?.error?.message.length).toBeGreaterThan(10);
        expect(JSON.stringify(ended.result)).not.toContain(PASSWORD);
      },
      NOT_READY_LIMIT_MS,
    );
  }

  test(
    "is stopped in the middle of a statement by one SIGTERM and leaves the database as it was",
    async () => {
      await withDatabase("postgres", (client) => client.query("CREATE DATABASE stopped"));
      await withDatabase("stopped", (client) => client.query("CREATE TABLE t (a int)"));
      const planned = succeeded(await podOf("plan", "stopped", { "a.sql": "CREATE TABLE t (a int, b int);" }).run());
      const pod = approved("stopped", planned.stdout);
      pod.env[ENV.lockTimeout] = "60s";
      await withDatabase("stopped", async (blocker) => {
        await blocker.query("BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE");
        const run = pod.run();
        await withDatabase("stopped", async (watcher) => {
          const waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = 'stopped' AND wait_event_type = 'Lock'";
          let seen = false;
          void (async () => {
            while (!seen) seen = (await watcher.query(waiting)).rowCount !== 0;
          })();
          await until("a statement that waits for the lock", () => (seen ? true : undefined), 20_000);
        });
        pod.signal("SIGTERM");
        const ended = await run;
        expect(ended.result).toMatchObject({ mutationStarted: true, uncertain: true });
        await blocker.query("ROLLBACK");
      });
      const columns = await withDatabase("stopped", async (client) => {
        const result = await client.query(
          "SELECT count(*)::int AS n FROM information_schema.columns WHERE table_name = 't'",
        );
        return result.rows[0]?.n as number;
      });
      expect(columns).toBe(1);
    },
    NOT_READY_LIMIT_MS,
  );

  test("leaves no child of its own behind", () => {
    const left = execFileSync("ps", ["-eo", "args"]).toString().split("\n");
    expect(left.filter((line) => line.includes(executor))).toEqual([]);
  });
});
