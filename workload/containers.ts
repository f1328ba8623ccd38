import { OPERATION_CONTAINER } from "../crds/names.ts";
import { ENV, PATHS } from "./environment.ts";
import type { Container, EnvVar, JsonObject, VolumeMount } from "./kubernetes.ts";
import { PLAN_SIZE_BYTES_MAX } from "./limits.ts";
import { type OperationSpec, type Scratch, type SourceSnapshot, type Work, wireOperation } from "./operation.ts";
import { canonicalResources } from "./resources.ts";

/** uid, gid and fsGroup of everything that runs our own binary. */
export const NONROOT_ID = 65_532;

/** Names of volumes, so that mounts and volumes cannot drift. */
export const VOLUME = {
  runner: "runner",
  work: "work",
  source: "schema-source",
  snapshot: "source-snapshot",
  plan: "plan",
  scratch: "scratch",
  targetCA: "target-ca",
} as const;

export function containerSecurity(uid: number): JsonObject {
  return {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
    privileged: false,
    readOnlyRootFilesystem: true,
    runAsGroup: NONROOT_ID,
    runAsNonRoot: true,
    runAsUser: uid,
    seccompProfile: { type: "RuntimeDefault" },
  };
}

interface ContainerParts {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly EnvVar[];
  readonly mounts: readonly VolumeMount[];
  readonly uid?: number;
  readonly workingDir?: string;
  readonly sidecar?: boolean;
}

/** One container under the restricted Pod security standard; every default the API server would add is written out. */
function container(spec: OperationSpec<Work>, parts: ContainerParts): Container {
  return {
    name: parts.name,
    image: parts.image,
    imagePullPolicy: "IfNotPresent",
    command: parts.command,
    ...(parts.args === undefined ? {} : { args: parts.args }),
    ...(parts.workingDir === undefined ? {} : { workingDir: parts.workingDir }),
    ...(parts.env === undefined || parts.env.length === 0 ? {} : { env: sortedEnv(parts.env) }),
    resources: canonicalResources(spec.execution.resources),
    ...(parts.sidecar === true ? { restartPolicy: "Always" } : {}),
    securityContext: containerSecurity(parts.uid ?? NONROOT_ID),
    terminationMessagePath: PATHS.terminationLog,
    terminationMessagePolicy: "File",
    volumeMounts: parts.mounts,
  };
}

const sortedEnv = (env: readonly EnvVar[]): EnvVar[] =>
  [...env].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));

/** Copies the runner into a volume, where the executor comes from another image. */
export function installRunner(spec: OperationSpec<Work>): Container {
  return container(spec, {
    name: "install-runner",
    image: spec.manager.runnerImage,
    command: [PATHS.ptah],
    args: ["runner", "--install-to", PATHS.installedRunner],
    mounts: [{ name: VOLUME.runner, mountPath: PATHS.runnerDirectory }],
  });
}

/** Re-hashes the mounted snapshot against the bound digest and copies its files to a directory; holds no database URL. */
export function copySource(spec: OperationSpec<Work>, source: SourceSnapshot, directory: string): Container {
  return container(spec, {
    name: "copy-source",
    image: spec.manager.runnerImage,
    command: [PATHS.ptah],
    args: ["runner", "--snapshot-copy"],
    env: [
      { name: ENV.snapshotDirectory, value: PATHS.snapshot },
      { name: ENV.sourceContentDigest, value: source.contentDigest },
      { name: ENV.sourceDirectory, value: directory },
    ],
    mounts: [
      { name: VOLUME.snapshot, mountPath: PATHS.snapshot, readOnly: true },
      { name: VOLUME.source, mountPath: PATHS.source },
    ],
  });
}

/** How the scratch server's cluster is made, but for where. */
export const SCRATCH_INITDB = "initdb --username=ptah --auth=trust --encoding=UTF8 --locale=C --no-sync";

/** Where an image may carry such a cluster, made when it was built; the rest of the path is the server's major version. */
export const SCRATCH_PREPARED = "/usr/share/ptah-scratch";

/**
 * Starts an empty PostgreSQL on a Unix socket and nothing else. Durability is off: the server lives as long as the Pod.
 * A restarted container begins anew, because half an initdb is no cluster. A cluster that the image carries is copied in a tenth
 * of the processor time that making one takes.
 */
export const SCRATCH_SCRIPT = [
  "set -eu",
  `PATH="/usr/lib/postgresql/$PTAH_SCRATCH_MAJOR/bin:/usr/local/bin:$PATH"`,
  "umask 077",
  "rm -rf /scratch/data /scratch/.s.PGSQL.*",
  `prepared="${SCRATCH_PREPARED}/$PTAH_SCRATCH_MAJOR"`,
  'if [ -f "$prepared/PG_VERSION" ]; then cp -R "$prepared" /scratch/data',
  `else ${SCRATCH_INITDB} --pgdata=/scratch/data >/dev/null; fi`,
  "exec postgres -D /scratch/data -c listen_addresses= -c unix_socket_directories=/scratch -c fsync=off" +
    " -c full_page_writes=off -c synchronous_commit=off -c autovacuum=off -c max_connections=20" +
    " -c shared_buffers=32MB -c wal_level=minimal -c max_wal_senders=0 -c max_wal_size=64MB -c log_min_messages=fatal",
].join("\n");

/** Where planner and reader find the scratch server: its socket, a role without a password. */
export const SCRATCH_URL = `postgres://ptah@localhost/postgres?host=${PATHS.scratch}`;

/** The throwaway server of the target's engine and major, as a native sidecar without any secret. */
export function scratchServer(spec: OperationSpec<Work>, scratch: Extract<Scratch, { kind: "Server" }>): Container {
  return container(spec, {
    name: "scratch",
    image: scratch.image,
    command: ["/bin/sh", "-c", SCRATCH_SCRIPT],
    env: [{ name: "PTAH_SCRATCH_MAJOR", value: String(scratch.major) }],
    mounts: [{ name: VOLUME.scratch, mountPath: PATHS.scratch }],
    uid: scratch.uid,
    sidecar: true,
  });
}

/** The container that runs the runner and, below it, the executor. The only one that may hold a database URL. */
export function operationContainer(
  spec: OperationSpec<Work>,
  env: readonly EnvVar[],
  mounts: readonly VolumeMount[],
): Container {
  const installed = usesOwnExecutorImage(spec);
  const limit = String(PLAN_SIZE_BYTES_MAX);
  return container(spec, {
    name: OPERATION_CONTAINER,
    image: spec.binding.executorImage,
    command: [installed ? PATHS.installedRunner : PATHS.ptah],
    args: [
      "runner",
      "--ptah-binary",
      PATHS.ptah,
      "--max-result-bytes",
      limit,
      "--max-plan-bytes",
      limit,
      "--operation",
      wireOperation(spec.work),
    ],
    env,
    mounts,
    workingDir: PATHS.work,
  });
}

/** Whether the executor comes from another image than the runner, so that the runner has to be copied in. */
export function usesOwnExecutorImage(spec: OperationSpec<Work>): boolean {
  return spec.binding.executorImage !== spec.manager.runnerImage;
}
