import type { Progress } from "./progress.ts";

export interface UpOptions {
  /** etcd and the API server alone: enough for tests of the API, ready in seconds. Native only. */
  apiOnly?: boolean;
  /** With `apiOnly`: run the controller manager too (namespace deletion, garbage collection, service accounts). */
  controllers?: boolean;
}

/** One of the cluster's parts as `status` found it. */
export interface PartStatus {
  name: string;
  running: boolean;
  detail: string;
}

export interface ClusterStatus {
  healthy: boolean;
  parts: PartStatus[];
}

/** An OCI image archive and the fully qualified name under which Pods may ask for it. */
export interface ImageArchive {
  archive: string;
  /** `docker.io/local/name:tag` */
  tag: string;
  /** `docker.io/local/name@sha256:…` */
  reference: string;
}

/** A Kubernetes for tests: the one interface behind which the providers stand. */
export interface ClusterProvider {
  readonly name: "native" | "kind";
  /** The administrator's kubeconfig, there after `up`. */
  readonly kubeconfig: string;
  /** The kubectl of the cluster's own version, there after `up`. */
  readonly kubectl: string;
  /** Brings the cluster up, or finds it healthy and returns at once; cleans what a crash left. */
  up(options: UpOptions): Promise<void>;
  /** Ends every process it started and undoes its mounts, devices and packet rules. Safe to repeat. */
  down(): Promise<void>;
  status(): Promise<ClusterStatus>;
  /** Makes images available on the node by tag and by digest, without any registry. */
  loadImages(images: readonly ImageArchive[]): Promise<void>;
  /** Stops or starts the node's kubelet, for scenarios of a node that goes silent. Its containers run on. */
  setKubelet(running: boolean): Promise<void>;
  /** Builds and caches what `up` needs, starting nothing. */
  prepare(): Promise<void>;
}

export interface ProviderContext {
  stateDir: string;
  progress: Progress;
}
