import { Command, InvalidArgumentError, Option } from "commander";
import * as v from "valibot";
import { PinnedImage, Revision } from "../crds/common.ts";
import type { ConnectionFlags } from "../kube/index.ts";
import type { ScratchImage } from "../lifecycle/view.ts";
import { type AdmissionFlags, DEFAULT_ADMISSION_FLAGS } from "../workload/envelope.ts";
import { limits } from "./limits.ts";
import { LOG_LEVELS, type LogLevel } from "./log.ts";

/** What the manager was started with, checked. */
export interface Settings {
  readonly executorImage: string;
  readonly runnerImage: string;
  readonly controllerImage: string;
  readonly controllerRevision: string;
  /** Absent: asked of the executor. */
  readonly ptahVersion: string | undefined;
  readonly scratchImages: Readonly<Record<string, ScratchImage>>;
  readonly coordinationNamespace: string | undefined;
  readonly leaderElect: boolean;
  readonly metricsBindAddress: string;
  readonly healthProbeBindAddress: string;
  readonly concurrency: number;
  readonly maxActiveOperations: number;
  readonly admission: AdmissionFlags;
  readonly connection: ConnectionFlags;
  readonly namespace: string | undefined;
  readonly logLevel: LogLevel;
}

const ENV_PREFIX = "PTAH_MANAGER_";
const SCRATCH = /^([a-z][a-z0-9]*-[0-9]{1,3})=([^\s,=]+)(?:,uid=([0-9]{1,6}))?$/;
/** The uid of `postgres` in Debian's packages. */
const SCRATCH_UID_DEFAULT = 999;

function pinned(value: string): string {
  if (v.is(PinnedImage, value)) return value;
  throw new InvalidArgumentError("an image must be pinned by digest: name@sha256:<64 hex digits>");
}

function revision(value: string): string {
  if (v.is(Revision, value)) return value;
  throw new InvalidArgumentError("a revision is one line of at most 128 characters");
}

function wholeNumber(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`a whole number from ${min} to ${max} is needed`);
  };
}

function yesOrNo(value: string): boolean {
  if (value === "true" || value === "false") return value === "true";
  throw new InvalidArgumentError("true or false is needed");
}

function address(value: string): string {
  if (/^(\S*):\d{1,5}$/.test(value)) return value;
  throw new InvalidArgumentError("an address is [host]:port");
}

function scratchImages(value: string, before: Record<string, ScratchImage>): Record<string, ScratchImage> {
  const images = { ...before };
  for (const one of value.split(/\s+/).filter((part) => part !== "")) {
    const [, name = "", image = "", uid] = SCRATCH.exec(one) ?? [];
    if (name === "" || !v.is(PinnedImage, image)) {
      throw new InvalidArgumentError(
        "a scratch image is engine-major=image@sha256:…[,uid=N], for example postgresql-17=…",
      );
    }
    images[name] = { image, uid: uid === undefined ? SCRATCH_UID_DEFAULT : Number(uid) };
  }
  return images;
}

function option(flags: string, description: string): Option {
  const made = new Option(flags, description);
  return made.env(ENV_PREFIX + (made.long ?? "").replace(/^--/, "").replaceAll("-", "_").toUpperCase());
}

/** The manager's command line; each flag is also an environment variable PTAH_MANAGER_<FLAG>. */
export function managerCommand(): Command {
  const flags = DEFAULT_ADMISSION_FLAGS;
  const seconds = wholeNumber(0, 86_400);
  const required = (flag: string, text: string, parse: (value: string) => string): Option =>
    option(flag, text).argParser(parse).makeOptionMandatory();
  const bool = (flag: string, text: string, value: boolean): Option =>
    option(`${flag} [true|false]`, text).argParser(yesOrNo).preset("true").default(value);
  return new Command("ptah manager")
    .description("Plans, holds to policy and approval, runs once and proves the changes that resources declare.")
    .exitOverride()
    .addOption(required("--executor-image <image>", "image that holds the executor, pinned by digest", pinned))
    .addOption(required("--runner-image <image>", "image the runner is taken from, pinned by digest", pinned))
    .addOption(required("--controller-image <image>", "image of this manager, pinned by digest; recorded only", pinned))
    .addOption(
      option("--controller-revision <revision>", "build revision of this manager; recorded only")
        .argParser(revision)
        .default(process.env.PTAH_BUILD_COMMIT ?? "development"),
    )
    .addOption(
      option("--ptah-version <version>", "the executor's version; asked of the executor where it is this executable"),
    )
    .addOption(
      option(
        "--scratch-image <engine-major=image[,uid=N]...>",
        "server image to normalise declared content with (repeatable)",
      )
        .argParser(scratchImages)
        .default({}, "none"),
    )
    .addOption(option("--coordination-namespace <namespace>", "namespace of the Leases (default: the manager's own)"))
    .addOption(bool("--leader-elect", "let one of several managers decide", true))
    .addOption(option("--metrics-bind-address <address>", "address of /metrics").argParser(address).default(":8080"))
    .addOption(
      option("--health-probe-bind-address <address>", "address of /healthz and /readyz")
        .argParser(address)
        .default(":8081"),
    )
    .addOption(
      option("--concurrency <n>", "resources decided about at the same time")
        .argParser(wholeNumber(1, limits.concurrencyMax))
        .default(limits.concurrencyDefault),
    )
    .addOption(
      option("--max-active-operations <n>", "operations under way before another ordinary reading waits for its turn")
        .argParser(wholeNumber(1, limits.operationsMax))
        .default(limits.operationsDefault),
    )
    .addOption(
      bool(
        "--admission-default-tolerations-enabled",
        "the API server adds its two default tolerations",
        flags.defaultTolerationsEnabled,
      ),
    )
    .addOption(
      option("--admission-default-not-ready-toleration-seconds <n>", "as the API server's flag of that name")
        .argParser(seconds)
        .default(flags.defaultNotReadyTolerationSeconds),
    )
    .addOption(
      option("--admission-default-unreachable-toleration-seconds <n>", "as the API server's flag of that name")
        .argParser(seconds)
        .default(flags.defaultUnreachableTolerationSeconds),
    )
    .addOption(
      bool(
        "--admission-extended-resource-toleration-enabled",
        "the API server tolerates extended resources",
        flags.extendedResourceTolerationEnabled,
      ),
    )
    .addOption(
      bool(
        "--admission-always-pull-images-enabled",
        "the API server always pulls images",
        flags.alwaysPullImagesEnabled,
      ),
    )
    .addOption(
      option("--kubeconfig <file>", "kubeconfig to use (default: KUBECONFIG, ~/.kube/config, the Pod's account)"),
    )
    .addOption(option("--context <name>", "context of the kubeconfig"))
    .addOption(option("--namespace <namespace>", "act on resources of this namespace only"))
    .addOption(option("--log-level <level>", "what is logged").choices(LOG_LEVELS).default("info"));
}

interface RawOptions {
  readonly executorImage: string;
  readonly runnerImage: string;
  readonly controllerImage: string;
  readonly controllerRevision: string;
  readonly ptahVersion?: string;
  readonly scratchImage: Record<string, ScratchImage>;
  readonly coordinationNamespace?: string;
  readonly leaderElect: boolean;
  readonly metricsBindAddress: string;
  readonly healthProbeBindAddress: string;
  readonly concurrency: number;
  readonly maxActiveOperations: number;
  readonly admissionDefaultTolerationsEnabled: boolean;
  readonly admissionDefaultNotReadyTolerationSeconds: number;
  readonly admissionDefaultUnreachableTolerationSeconds: number;
  readonly admissionExtendedResourceTolerationEnabled: boolean;
  readonly admissionAlwaysPullImagesEnabled: boolean;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly logLevel: LogLevel;
}

/** Parses the arguments after `manager`. Errors: CommanderError, whose message was printed already. */
export function settingsFrom(argv: readonly string[]): Settings {
  const raw = managerCommand()
    .parse([...argv], { from: "user" })
    .opts<RawOptions>();
  return {
    executorImage: raw.executorImage,
    runnerImage: raw.runnerImage,
    controllerImage: raw.controllerImage,
    controllerRevision: raw.controllerRevision,
    ptahVersion: raw.ptahVersion,
    scratchImages: raw.scratchImage,
    coordinationNamespace: raw.coordinationNamespace,
    leaderElect: raw.leaderElect,
    metricsBindAddress: raw.metricsBindAddress,
    healthProbeBindAddress: raw.healthProbeBindAddress,
    concurrency: raw.concurrency,
    maxActiveOperations: raw.maxActiveOperations,
    admission: {
      defaultTolerationsEnabled: raw.admissionDefaultTolerationsEnabled,
      defaultNotReadyTolerationSeconds: raw.admissionDefaultNotReadyTolerationSeconds,
      defaultUnreachableTolerationSeconds: raw.admissionDefaultUnreachableTolerationSeconds,
      extendedResourceTolerationEnabled: raw.admissionExtendedResourceTolerationEnabled,
      alwaysPullImagesEnabled: raw.admissionAlwaysPullImagesEnabled,
    },
    connection: { kubeconfig: raw.kubeconfig, context: raw.context },
    namespace: raw.namespace,
    logLevel: raw.logLevel,
  };
}
