import { Command, CommanderError, InvalidArgumentError } from "commander";
import { connect, type KubeClient, realPorts } from "../kube/index.ts";
import { jsonLog, type Log } from "../kube/log.ts";
import { limits } from "./limits.ts";
import { type Rotation, runPass } from "./pass.ts";

interface Flags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly tlsSecret: string;
  readonly authoritySecret: string;
  readonly configuration: string;
  readonly service: string;
  readonly dnsName: readonly string[];
  readonly interval: number;
  readonly servingValidity: number;
  readonly servingRenewBefore: number;
  readonly caValidity: number;
  readonly switchDelay: number;
  readonly retireDelay: number;
  readonly once: boolean;
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Reads a duration of Go's simple forms (`90s`, `15m`, `6h`) within its bounds. */
function duration(minMs: number, maxMs: number): (text: string) => number {
  return (text) => {
    const match = /^(\d{1,9})([smh])$/.exec(text);
    const ms = Number(match?.[1]) * (UNITS[match?.[2] ?? ""] ?? Number.NaN);
    if (!(ms >= minMs && ms <= maxMs)) {
      throw new InvalidArgumentError(
        `expected a duration such as 90s, 15m or 6h, from ${minMs / 1000}s to ${maxMs / 1000}s`,
      );
    }
    return ms;
  };
}

function collect(value: string, before: readonly string[]): string[] {
  if (before.length >= limits.dnsNamesMax) throw new InvalidArgumentError(`at most ${limits.dnsNamesMax} names`);
  return [...before, value];
}

function commandLine(): Command {
  const { delayMinMs, intervalMaxMs } = limits;
  return new Command("ptah certs")
    .description("bootstrap and renew the admission webhook's serving certificate and the authority that signs it")
    .option(
      "--kubeconfig <file>",
      "the cluster to work on; default: KUBECONFIG, ~/.kube/config, then the Pod's own account",
    )
    .option("--context <name>", "the kubeconfig's context")
    .option("--namespace <name>", "namespace of the Secrets and the Service; default: the connection's own")
    .option("--tls-secret <name>", "Secret that holds the serving certificate", "ptah-operator-webhook-tls")
    .option("--authority-secret <name>", "Secret that holds the authority", "ptah-operator-webhook-ca")
    .option("--configuration <name>", "name of both admission configurations", "ptah-operator-admission")
    .option("--service <name>", "Service whose entries are kept trusted", "ptah-operator-webhook")
    .option("--dns-name <name>", "a further name or address of the certificate; may be repeated", collect, [])
    .option(
      "--interval <duration>",
      "how often everything is checked",
      duration(limits.intervalMinMs, intervalMaxMs),
      limits.intervalMs,
    )
    .option(
      "--serving-validity <duration>",
      "how long a serving certificate is good for",
      duration(limits.servingValidityMinMs, limits.servingValidityMaxMs),
      limits.servingValidityMs,
    )
    .option(
      "--serving-renew-before <duration>",
      "renew when this much is left",
      duration(delayMinMs, limits.servingValidityMaxMs),
      limits.servingRenewBeforeMs,
    )
    .option(
      "--ca-validity <duration>",
      "how long an authority is good for",
      duration(limits.servingValidityMinMs, limits.caValidityMaxMs),
      limits.caValidityMs,
    )
    .option(
      "--switch-delay <duration>",
      "from trusting a new authority to using it",
      duration(delayMinMs, intervalMaxMs),
      limits.switchDelayMs,
    )
    .option(
      "--retire-delay <duration>",
      "from using a new authority to distrusting the old one",
      duration(delayMinMs, intervalMaxMs),
      limits.retireDelayMs,
    )
    .option("--once", "one pass, then end", false)
    .exitOverride();
}

/** The names the API server dials a Service by. */
function namesFor(service: string, namespace: string, more: readonly string[]): string[] {
  return [...new Set([`${service}.${namespace}.svc`, `${service}.${namespace}.svc.cluster.local`, ...more])];
}

function rotationOf(flags: Flags, client: KubeClient, namespace: string, did: Rotation["did"]): Rotation {
  return {
    client,
    places: {
      namespace,
      tlsSecret: flags.tlsSecret,
      authoritySecret: flags.authoritySecret,
      configuration: flags.configuration,
      service: flags.service,
    },
    policy: {
      names: namesFor(flags.service, namespace, flags.dnsName),
      renewBeforeMs: flags.servingRenewBefore,
      // An authority is replaced while a whole serving certificate still fits into its life.
      authorityRenewBeforeMs: flags.servingValidity + flags.switchDelay,
      switchDelayMs: flags.switchDelay,
      retireDelayMs: flags.retireDelay,
      servingValidityMs: flags.servingValidity,
      authorityValidityMs: flags.caValidity,
    },
    nowMs: () => Date.now(),
    did,
  };
}

function refusal(flags: Flags): string | undefined {
  if (flags.servingRenewBefore >= flags.servingValidity)
    return "--serving-renew-before must be shorter than --serving-validity";
  if (flags.caValidity < 2 * flags.servingValidity + flags.switchDelay) {
    return "--ca-validity must be at least twice --serving-validity and --switch-delay";
  }
  return undefined;
}

/**
 * `ptah certs`: keeps the webhook's serving certificate, its authority and the admission entries' bundles right.
 * @returns 0 after a clean end, 1 where a single pass failed, 2 for wrong usage.
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
    const { client, connection } = await connect(flags, process.env, "ptah-certs");
    const rotation = rotationOf(flags, client, flags.namespace ?? connection.namespace, (step) =>
      log.info({ step: step.kind, ...("why" in step ? { why: step.why } : {}) }, "certificate rotation took a step"),
    );
    return flags.once
      ? await onePass(rotation, log, stop.signal)
      : await keepGoing(rotation, flags.interval, log, stop.signal);
  } catch (error) {
    log.error({ err: messageOf(error) }, "certificate rotation cannot start");
    return 1;
  } finally {
    process.off("SIGTERM", end);
    process.off("SIGINT", end);
  }
}

async function onePass(rotation: Rotation, log: Log, stop: AbortSignal): Promise<number> {
  try {
    const untilMs = await runPass(rotation, AbortSignal.any([stop, AbortSignal.timeout(limits.passTimeoutMs)]));
    log.info({ nextStep: dateOf(untilMs) }, "certificates are in order");
    return 0;
  } catch (error) {
    log.error({ err: messageOf(error) }, "a pass of certificate rotation failed");
    return 1;
  }
}

async function keepGoing(rotation: Rotation, intervalMs: number, log: Log, stop: AbortSignal): Promise<number> {
  const ports = realPorts();
  let failures = 0;
  while (!stop.aborted) {
    let waitMs: number;
    try {
      const untilMs = await runPass(rotation, AbortSignal.any([stop, AbortSignal.timeout(limits.passTimeoutMs)]));
      if (failures > 0) log.info({}, "certificates are in order again");
      failures = 0;
      waitMs = Math.min(intervalMs, Math.max(limits.intervalMinMs, untilMs - rotation.nowMs()));
    } catch (error) {
      if (stop.aborted) break;
      waitMs = Math.min(limits.backoffMaxMs, limits.backoffMinMs * 2 ** Math.min(failures, 16));
      failures += 1;
      log.error({ err: messageOf(error), retryInMs: waitMs }, "a pass of certificate rotation failed");
    }
    await ports.sleep(waitMs * (1 + limits.jitter * (2 * ports.random() - 1)), stop);
  }
  return 0;
}

const dateOf = (ms: number): string => (Number.isFinite(ms) ? new Date(ms).toISOString() : "never");

/** Never the error object itself: what a failed write carried may hold a key. */
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
