/**
 * Shows on the running cluster that what scenarios rest on holds: Pods start from images pinned by digest, their logs
 * are read, names of Services resolve and lead to their Pods, a Pod reaches the API server, every database server is found
 * and used by its Service's name, and one of each PostgreSQL major runs as a sidecar under restricted settings.
 */
import { databaseObjects, ENGINES, type EngineName, RESTRICTED } from "./database-pod.ts";
import { applyObjects, type KubectlTarget, kubectl, kubectlJson } from "./kubectl.ts";
import { LIMITS } from "./limits.ts";
import type { ImageReferences } from "./open.ts";
import type { Progress } from "./progress.ts";
import { waitFor } from "./wait.ts";

const NAMESPACE = "cluster-selfcheck";
const PASSWORD = "selfcheck";

/** Each server's image, its engine, and what its version must have in it. */
const SERVERS = [
  ["postgres15", "postgresql", "PostgreSQL 15."],
  ["postgres17", "postgresql", "PostgreSQL 17."],
  ["mariadb", "mariadb", "-MariaDB"],
  ["mysql", "mysql", "."],
] as const;

type ServerName = (typeof SERVERS)[number][0];

interface Check {
  target: KubectlTarget;
  images: ImageReferences;
  progress: Progress;
}

export async function selfCheck(check: Check): Promise<void> {
  const { target, progress } = check;
  await kubectl(target, ["delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=true"], {
    timeoutMs: LIMITS.nodeReadyMs,
  });
  await applyObjects(target, [{ apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } }]);
  await waitFor(
    "the namespace's service account",
    async () => {
      return (
        (await kubectl(target, [
          "get",
          "serviceaccount",
          "default",
          "-n",
          NAMESPACE,
          "--ignore-not-found",
          "-o",
          "name",
        ])) !== ""
      );
    },
    { timeoutMs: LIMITS.nodeReadyMs },
  );
  await progress.step("a Job pinned by digest completes, and its log is read", () => digestJob(check));
  await progress.step("a Pod reaches the API server and resolves its name", () => apiJob(check));
  for (const [name, engine, version] of SERVERS) {
    await progress.step(`${name}: a client finds the server by its Service's name`, () =>
      serviceByName(check, name, engine, version),
    );
  }
  for (const name of ["postgres15", "postgres17"] as const) {
    await progress.step(`${name}: a scratch server runs as a restricted sidecar`, () => sidecar(check, name));
  }
  await kubectl(target, ["delete", "namespace", NAMESPACE, "--wait=false"]);
}

async function digestJob(check: Check): Promise<void> {
  const log = await runJob(
    check,
    "hello",
    podWith({ image: imageOf(check, "busybox"), command: ["sh", "-c", "echo pinned by digest"] }),
  );
  expectText(log, "pinned by digest");
}

async function apiJob(check: Check): Promise<void> {
  const reach = "nc -w 5 $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT </dev/null && echo reached";
  const resolve = "nslookup kubernetes.default.svc.cluster.local";
  const log = await runJob(
    check,
    "api",
    podWith({ image: imageOf(check, "busybox"), command: ["sh", "-c", `${reach} && ${resolve}`] }),
  );
  expectText(log, "reached");
  expectText(log, "Address: 10.96.0.1");
}

async function serviceByName(check: Check, image: ServerName, engine: EngineName, version: string): Promise<void> {
  const { client, clientPassword } = ENGINES[engine];
  const server = {
    namespace: NAMESPACE,
    name: image,
    engine,
    image: imageOf(check, image),
    password: PASSWORD,
    database: "app",
  };
  await applyObjects(check.target, databaseObjects(server));
  // Until the server answers and the proxy knows of it.
  const ask = client(server.database, `${image}.${NAMESPACE}.svc`).join(" ");
  const script = `for i in $(seq 300); do echo 'select version();' | ${ask} && exit 0; sleep 0.2; done; exit 1`;
  const pod = { image: server.image, command: ["sh", "-c", script], env: [{ name: clientPassword, value: PASSWORD }] };
  expectText(await runJob(check, `${image}-client`, podWith(pod)), version);
}

/** The shape of a planning Pod: the server beside the one who asks it, sharing only a memory volume. */
async function sidecar(check: Check, image: "postgres15" | "postgres17"): Promise<void> {
  const volumeMounts = [{ name: "scratch", mountPath: "/scratch" }];
  const shared = { image: imageOf(check, image), securityContext: RESTRICTED, volumeMounts };
  const startupProbe = {
    exec: { command: ["pg_isready", "--host=/scratch", "--quiet"] },
    periodSeconds: 1,
    failureThreshold: 60,
  };
  const ask =
    'psql -h /scratch -U postgres -Atc "create extension pg_trgm" -c "select \'scratch \' || count(*) from pg_extension" && pg_dump -h /scratch -U postgres -s postgres | wc -l';
  const pod = {
    ...podWith({ ...shared, command: ["sh", "-c", ask] }),
    initContainers: [{ ...shared, name: "scratch", args: ["scratch"], restartPolicy: "Always", startupProbe }],
    volumes: [{ name: "scratch", emptyDir: { medium: "Memory", sizeLimit: "256Mi" } }],
  };
  expectText(await runJob(check, `${image}-sidecar`, pod), "scratch 2");
}

function podWith(container: object): object {
  return {
    restartPolicy: "Never",
    terminationGracePeriodSeconds: 1,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    containers: [{ name: "main", securityContext: RESTRICTED, ...container }],
  };
}

interface JobObject {
  status?: { conditions?: { type: string; status: string; message?: string }[] };
}

/** Runs one Pod to its end and returns its log. @throws Error when the Job fails. */
async function runJob({ target }: Check, name: string, spec: object): Promise<string> {
  const metadata = { namespace: NAMESPACE, name };
  await applyObjects(target, [
    { apiVersion: "batch/v1", kind: "Job", metadata, spec: { backoffLimit: 0, template: { spec } } },
  ]);
  const log = () => kubectl(target, ["logs", `job/${name}`, "-n", NAMESPACE, "-c", "main"]);
  const ended = await waitFor(
    `the end of Job ${name}`,
    async () => {
      const job = await kubectlJson<JobObject>(target, ["get", "job", name, "-n", NAMESPACE]);
      return job.status?.conditions?.find((one) => one.status === "True" && ["Complete", "Failed"].includes(one.type));
    },
    { timeoutMs: LIMITS.nodeReadyMs },
  );
  if (ended.type === "Failed") throw new Error(`Job ${name} failed (${ended.message ?? ""}): ${await log()}`);
  return log();
}

function imageOf({ images }: Check, name: keyof ImageReferences): string {
  const reference = images[name];
  if (!reference) throw new Error(`the image ${name} is not loaded: run "main.ts images"`);
  return reference;
}

function expectText(log: string, text: string): void {
  if (!log.includes(text)) throw new Error(`expected "${text}" in the log, found:\n${log}`);
}
