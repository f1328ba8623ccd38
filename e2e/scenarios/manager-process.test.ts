import { afterAll, beforeAll, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { annotation, label, MIGRATION_FINALIZER } from "../../crds/names.ts";
import { applyObjects, type KubectlTarget, kubectl, kubectlJson, tryKubectl } from "../cluster/kubectl.ts";
import { openCluster } from "../cluster/open.ts";
import { createProgress } from "../cluster/progress.ts";
import { waitFor } from "../cluster/wait.ts";
import { IMAGE, schema } from "./manager-shell.ts";
import { migrationFiles, migrationObject } from "./standing-migration-plan.ts";

/** The manager as a process, on an API server alone: start, readiness, metrics, stop, and what it refuses to act on. */

const ROOT = join(import.meta.dir, "../..");
const NAMESPACE = "manager-process";
const START_MS = 60_000;
const NEWER = JSON.stringify({ version: 99 });

let target: KubectlTarget;

beforeAll(async () => {
  const cluster = await openCluster({ progress: createProgress(), apiOnly: true });
  await cluster.up({ apiOnly: true });
  target = { kubectl: cluster.kubectl, kubeconfig: cluster.kubeconfig };
  await kubectl(target, ["apply", "-f", join(ROOT, "crds/yaml")]);
  await tryKubectl(target, ["create", "namespace", NAMESPACE]);
  await waitFor("PtahSchema is served", () => kubectl(target, ["get", "ptahs", "-n", NAMESPACE]), {
    timeoutMs: 20_000,
  });
  await tryKubectl(target, ["create", "serviceaccount", "default", "-n", NAMESPACE]);
  await cleanUp();
}, START_MS);

const here = (...args: readonly string[]): string[] => [...args, "-n", NAMESPACE];

async function cleanUp(): Promise<void> {
  await tryKubectl(target, here("patch", "ptahm/ledger", "--type=merge", "-p", '{"metadata":{"finalizers":null}}'));
  await tryKubectl(target, here("delete", "ptahs,ptahm,jobs,configmaps", "--all", "--cascade=background"));
}

afterAll(cleanUp);

interface Started {
  readonly child: ChildProcess;
  /** Lines of its log. */
  readonly lines: string[];
  readonly ended: Promise<number | null>;
}

let nextPort = 20_000 + (process.pid % 20_000);

function start(health: number, metrics: number): Started {
  const args = [
    ...[
      "main.ts",
      "manager",
      `--kubeconfig=${target.kubeconfig}`,
      `--namespace=${NAMESPACE}`,
      "--coordination-namespace=default",
    ],
    ...[`--executor-image=${IMAGE}`, `--runner-image=${IMAGE}`, `--controller-image=${IMAGE}`, "--leader-elect=false"],
    ...[`--health-probe-bind-address=127.0.0.1:${health}`, `--metrics-bind-address=127.0.0.1:${metrics}`],
  ];
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  child.stdout?.on("data", (chunk: Buffer) =>
    lines.push(
      ...chunk
        .toString("utf8")
        .split("\n")
        .filter((line) => line !== ""),
    ),
  );
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  return { child, lines, ended };
}

const answers = (url: string): Promise<string | undefined> =>
  fetch(url).then(
    async (response) => (response.ok ? await response.text() : undefined),
    () => undefined,
  );

test(
  "it is ready once its caches are filled, says how it is, and stops when it is asked to",
  async () => {
    const [health, metrics] = [nextPort++, nextPort++];
    const { child, lines, ended } = start(health, metrics);
    await waitFor("readiness", () => answers(`http://127.0.0.1:${health}/readyz`), { timeoutMs: 30_000 });
    expect(await answers(`http://127.0.0.1:${health}/healthz`)).toBe("ok\n");
    expect(await answers(`http://127.0.0.1:${health}/elsewhere`)).toBeUndefined();
    const page = await waitFor(
      "a leader's gauges",
      async () => {
        const text = (await answers(`http://127.0.0.1:${metrics}/metrics`)) ?? "";
        return text.includes("ptah_operator_unresolved_view_synced 1") ? text : undefined;
      },
      { timeoutMs: 10_000 },
    );
    expect(page).toContain('ptah_operator_unresolved_attempts{family="schema"} 0');
    expect(page).toContain('ptah_operator_unresolved_attempts{family="migration"} 0');
    child.kill("SIGTERM");
    const stopped = performance.now();
    expect(await ended).toBe(0);
    expect(performance.now() - stopped).toBeLessThan(10_000);
    expect(lines.every((line) => typeof JSON.parse(line).msg === "string")).toBe(true);
  },
  START_MS,
);

interface Read {
  readonly metadata: { readonly finalizers?: readonly string[] };
  readonly status?: {
    readonly phase?: string;
    readonly activeOperation?: { readonly jobName: string; readonly jobUID?: string };
    readonly artifact?: { readonly fileCount: number };
    readonly conditions?: readonly { readonly type: string; readonly reason: string }[];
  };
}

test(
  "a migration is taken to the reading of its history, and holds its realm against the other family",
  async () => {
    const realm = { engine: "PostgreSQL", coordinationKey: "ledger", urlFrom: { name: "db", key: "url" } };
    const neighbour = { name: "ledger", namespace: NAMESPACE };
    await applyObjects(target, [migrationFiles(NAMESPACE), migrationObject(NAMESPACE, "ledger", { target: realm })]);
    const metrics = nextPort++;
    const { child, ended } = start(nextPort++, metrics);
    try {
      const { status, metadata } = await waitFor(
        "the Job of the reading is confirmed",
        async () => {
          const read = await kubectlJson<Read>(target, here("get", "ptahm", "ledger"));
          return read.status?.activeOperation?.jobUID === undefined ? undefined : read;
        },
        { timeoutMs: 30_000 },
      );
      expect(metadata.finalizers).toEqual([MIGRATION_FINALIZER]);
      expect(status).toMatchObject({ phase: "Reading", artifact: { fileCount: 1 } });
      const job = await kubectlJson<{ metadata: { labels: object } }>(
        target,
        here("get", "job", status?.activeOperation?.jobName ?? ""),
      );
      expect(job.metadata.labels).toMatchObject({ [label.migration]: "ledger", [label.operation]: "history" });
      const page = (await answers(`http://127.0.0.1:${metrics}/metrics`)) ?? "";
      expect(page).toContain('ptah_operator_active_operations{family="migration",operation="history"} 1');
      expect(page).toContain('ptah_operator_resources{family="migration",phase="Reading"} 1');

      await applyObjects(target, [{ ...schema, metadata: neighbour, spec: { ...schema.spec, target: realm } }]);
      await waitFor(
        "the schema of the same realm and name is refused",
        async () => {
          const read = await kubectlJson<Read>(target, here("get", "ptahs", "ledger"));
          return read.status?.conditions?.some(({ reason }) => reason === "RealmConflict");
        },
        { timeoutMs: 30_000 },
      );
    } finally {
      child.kill("SIGTERM");
    }
    expect(await ended).toBe(0);
  },
  START_MS,
);

test(
  "what a newer version stored keeps it from acting at all, and is named, whatever its family",
  async () => {
    const metadata = { name: "newer", namespace: NAMESPACE, annotations: { [annotation.unsettledApply]: NEWER } };
    const objects = [
      { ...schema, metadata },
      { ...migrationObject(NAMESPACE, "newer"), metadata },
    ];
    await kubectl(target, ["create", "-f", "-"], {
      input: JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }),
    });
    const before = await kubectl(target, [
      "get",
      "ptahs",
      "newer",
      "-n",
      NAMESPACE,
      "-o",
      "jsonpath={.metadata.resourceVersion}",
    ]);
    const { lines, ended } = start(nextPort++, nextPort++);
    expect(await ended).toBe(3);
    const named = lines.find((line) => line.includes("newer version"));
    for (const kind of ["PtahSchema", "PtahMigration"]) expect(named).toContain(`${kind}/${NAMESPACE}/newer`);
    const after = await kubectl(target, [
      "get",
      "ptahs",
      "newer",
      "-n",
      NAMESPACE,
      "-o",
      "jsonpath={.metadata.resourceVersion}",
    ]);
    expect(after).toBe(before);
  },
  START_MS,
);
