import { Command, CommanderError, InvalidArgumentError } from "commander";
import { connect, realPorts } from "../kube/index.ts";
import { jsonLog, type Log } from "../kube/log.ts";
import { admissionApp, healthApp, metricsApp } from "./app.ts";
import { DEFAULTS, type WebhookConfig } from "./config.ts";
import { limits } from "./limits.ts";
import { type Address, servePlain, TlsListener } from "./listener.bun.ts";
import { WebhookMetrics } from "./metrics.ts";
import { readsFrom } from "./reads.ts";
import { CertificateKeeper } from "./server.ts";

interface Flags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly bindAddress: string;
  readonly port: number;
  readonly certDir: string;
  readonly metricsBindAddress: Address;
  readonly healthProbeBindAddress: Address;
  readonly manager: string;
  readonly jobController: readonly string[];
  readonly garbageCollector: readonly string[];
  readonly alwaysGroup: readonly string[];
  readonly requireDistinctApprover: boolean;
}

const PORT_MAX = 65_535;

function port(text: string): number {
  const value = Number(text);
  if (!/^\d{1,5}$/.test(text) || value > PORT_MAX) throw new InvalidArgumentError("expected a port from 0 to 65535");
  return value;
}

/** `:8080` or `127.0.0.1:8080`, as Go programs take it. */
function address(text: string): Address {
  const match = /^(.*):(\d{1,5})$/.exec(text);
  if (match === null) throw new InvalidArgumentError("expected [host]:port");
  return { hostname: (match[1] ?? "").replace(/^\[|\]$/g, "") || "0.0.0.0", port: port(match[2] ?? "") };
}

/** The first value given replaces the defaults, further ones add to it. */
function listed(defaults: readonly string[]): (value: string, before: readonly string[]) => readonly string[] {
  return (value, before) => (before === defaults ? [value] : [...before, value]);
}

function commandLine(): Command {
  const { jobControllers, garbageCollectors, alwaysGroups } = DEFAULTS;
  return new Command("ptah webhook")
    .description("serve the operator's admission webhooks")
    .option(
      "--kubeconfig <file>",
      "the cluster to read from; default: KUBECONFIG, ~/.kube/config, then the Pod's own account",
    )
    .option("--context <name>", "the kubeconfig's context")
    .option("--bind-address <ip>", "address of the admission listener", "0.0.0.0")
    .option("--port <port>", "port of the admission listener", port, 9443)
    .option("--cert-dir <directory>", "directory with tls.crt and tls.key, read again as they change", "/tls")
    .option("--metrics-bind-address <address>", "where /metrics is served", address, address(":8080"))
    .option("--health-probe-bind-address <address>", "where /healthz and /readyz are served", address, address(":8081"))
    .requiredOption("--manager <user>", "user name of the manager's ServiceAccount")
    .option(
      "--job-controller <user>",
      "user name of the Job controller; may be repeated",
      listed(jobControllers),
      jobControllers,
    )
    .option(
      "--garbage-collector <user>",
      "user name of the garbage collector; may be repeated",
      listed(garbageCollectors),
      garbageCollectors,
    )
    .option(
      "--always-group <group>",
      "group that may enter apply: Always; may be repeated",
      listed(alwaysGroups),
      alwaysGroups,
    )
    .option("--require-distinct-approver", "who last wrote a schema's spec may not approve its plans", false)
    .exitOverride();
}

function configOf(flags: Flags): WebhookConfig {
  return {
    manager: flags.manager,
    jobControllers: flags.jobController,
    garbageCollectors: flags.garbageCollector,
    alwaysGroups: flags.alwaysGroup,
    requireDistinctApprover: flags.requireDistinctApprover,
    stateVersion: DEFAULTS.stateVersion,
  };
}

/** Everybody authenticated is no selection; the option exists to be one. */
function refusal(flags: Flags): string | undefined {
  const open = ["system:authenticated", "system:unauthenticated", "system:serviceaccounts"];
  const wrong = flags.alwaysGroup.find((group) => open.includes(group));
  return wrong === undefined ? undefined : `--always-group ${wrong} would let everybody enter apply: Always`;
}

/**
 * `ptah webhook`: serves admission until it is told to stop.
 * @returns 0 after a clean end, 1 where it cannot start, 2 for wrong usage
 */
export async function main(argv: readonly string[]): Promise<number> {
  const command = commandLine();
  try {
    command.parse(argv, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
  const flags = command.opts<Flags>();
  const wrong = refusal(flags);
  if (wrong !== undefined) {
    process.stderr.write(`error: ${wrong}\n`);
    return 2;
  }
  const log = jsonLog();
  const stop = new AbortController();
  const end = (): void => stop.abort();
  process.once("SIGTERM", end);
  process.once("SIGINT", end);
  try {
    await serve(flags, log, stop.signal);
    return 0;
  } catch (error) {
    log.error({ err: error instanceof Error ? error.message : String(error) }, "the webhook cannot start");
    return 1;
  } finally {
    process.off("SIGTERM", end);
    process.off("SIGINT", end);
  }
}

async function serve(flags: Flags, log: Log, stop: AbortSignal): Promise<void> {
  const { client } = await connect(flags, process.env, "ptah-webhook");
  const ports = realPorts();
  const metrics = new WebhookMetrics();
  const app = admissionApp({
    reads: readsFrom(client),
    config: configOf(flags),
    now: () => new Date(),
    monotonicMs: ports.monotonicMs,
    reviewed: (rule, outcome, seconds) => metrics.reviewed(rule, outcome, seconds),
    failed: (rule, message) => log.error({ rule, err: message }, "a review failed and the request was refused"),
  });
  const listener = new TlsListener({ hostname: flags.bindAddress, port: flags.port }, (request) => app.fetch(request));
  const keeper = keeperOf(flags, listener, metrics, log);
  const health = {
    notReady: () => (stop.aborted ? "stopping" : keeper.notReady()),
    metrics: () => metrics.registry.metrics(),
  };
  const probes = servePlain(flags.healthProbeBindAddress, healthApp(health).fetch);
  const scrapes = servePlain(flags.metricsBindAddress, metricsApp(health).fetch);
  await keeper.follow(stop);
  // Requests go on arriving until every API server has seen that this replica is no longer ready.
  log.info({}, "stopping");
  listener.leave();
  await ports.sleep(limits.lameDuckMs);
  await listener.stop();
  await Promise.all([probes.stop(), scrapes.stop()]);
}

function keeperOf(flags: Flags, listener: TlsListener, metrics: WebhookMetrics, log: Log): CertificateKeeper {
  let said = "";
  return new CertificateKeeper({
    directory: flags.certDir,
    listener,
    nowMs: () => Date.now(),
    sleep: (ms, signal) => realPorts().sleep(ms, signal),
    serving: (notAfterMs) => {
      metrics.serving(notAfterMs);
      said = "";
      log.info({ port: listener.port, notAfter: new Date(notAfterMs).toISOString() }, "serving admission");
    },
    problem: (sentence) => {
      metrics.certificateProblem();
      if (sentence !== said) log.warn({ problem: sentence }, "the serving certificate cannot be used");
      said = sentence;
    },
  });
}
