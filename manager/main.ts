import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { promisify } from "node:util";
import { CommanderError } from "commander";
import * as v from "valibot";
import { connect } from "../kube/index.ts";
import { decide } from "../lifecycle/decide.ts";
import { realTools } from "../lifecycle/tools.ts";
import type { Configuration } from "../lifecycle/view.ts";
import { RUNNER_PROTOCOL_VERSION } from "../workload/limits.ts";
import { STATE_VERSION } from "./contract.ts";
import { LazyParser } from "./lazy-parser.ts";
import { jsonLog } from "./log.ts";
import { type Ended, Manager, sentenceOf } from "./manager.ts";
import { realWorld } from "./ports.ts";
import { type Settings, settingsFrom } from "./settings.ts";

const EXIT: Readonly<Record<Ended, number>> = { stopped: 0, leadership_lost: 1, not_synced: 1, newer_state: 3 };
const USAGE_ERROR = 2;
const VERSION_TIMEOUT_MS = 10_000;
const VersionReport = v.object({ version: v.pipe(v.string(), v.minLength(1), v.maxLength(128)) });

/** `ptah manager`: runs until it is told to stop. Gives the exit status: 0 stopped, 1 failed, 2 usage, 3 newer state stored. */
export async function main(argv: readonly string[]): Promise<number> {
  let settings: Settings;
  try {
    settings = settingsFrom(argv);
  } catch (error) {
    // Commander has printed its own message.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_ERROR;
    throw error;
  }
  try {
    return EXIT[await run(settings)];
  } catch (error) {
    process.stderr.write(`error: ${sentenceOf(error)}\n`);
    return 1;
  }
}

async function run(settings: Settings): Promise<Ended> {
  const world = realWorld();
  const log = jsonLog(settings.logLevel);
  const [kube, ptahVersion] = await Promise.all([
    connect(settings.connection, process.env, `ptah-operator/${settings.controllerRevision}`, world),
    settings.ptahVersion ?? askExecutor(settings),
  ]);
  const configuration: Configuration = {
    components: {
      controllerStateVersion: STATE_VERSION,
      ptahVersion,
      executorImage: settings.executorImage,
      runnerProtocolVersion: RUNNER_PROTOCOL_VERSION,
    },
    manager: {
      controllerImage: settings.controllerImage,
      controllerRevision: settings.controllerRevision,
      runnerImage: settings.runnerImage,
    },
    scratchImages: settings.scratchImages,
  };
  const parser = new LazyParser();
  const tools = realTools(parser);
  const manager = new Manager({
    kube,
    world,
    log,
    configuration,
    decide: (view) => decide(view, tools),
    prepare: async (result) => {
      if (result.operation === "plan" && result.planOutcome === "Changes") await parser.load();
    },
    admission: settings.admission,
    coordinationNamespace: settings.coordinationNamespace ?? kube.connection.namespace,
    namespace: settings.namespace,
    leaderElect: settings.leaderElect,
    identity: `${hostname()}_${randomBytes(8).toString("hex")}`,
    concurrency: settings.concurrency,
    operationsMax: settings.maxActiveOperations,
    metricsBindAddress: settings.metricsBindAddress,
    healthProbeBindAddress: settings.healthProbeBindAddress,
  });
  const stopper = new AbortController();
  const stop = (signal: string) => (): void => {
    log.info({ signal }, "stopping");
    stopper.abort();
  };
  process.once("SIGTERM", stop("SIGTERM"));
  process.once("SIGINT", stop("SIGINT"));
  const { components } = configuration;
  log.info({ ...components, revision: settings.controllerRevision }, "starting");
  return await manager.run(stopper.signal);
}

/** Where a compiled executable finds its own modules. */
const COMPILED_ROOT = "/$bunfs/";

/** The executor's version, asked of the executor itself; only possible where this very executable is the executor. */
async function askExecutor(settings: Settings): Promise<string> {
  if (settings.executorImage !== settings.controllerImage) {
    throw new Error(
      "--executor-image is not this manager's own image, so --ptah-version must say which version it holds",
    );
  }
  // Compiled, the executable is the program (its first argument lives in a file system of its own); else the runtime is,
  // and the program is its first argument.
  const entry = process.argv[1] ?? COMPILED_ROOT;
  const program = entry.startsWith(COMPILED_ROOT) ? [] : [entry];
  const { stdout } = await promisify(execFile)(process.execPath, [...program, "version", "--json"], {
    timeout: VERSION_TIMEOUT_MS,
  });
  const version = v.parse(VersionReport, JSON.parse(stdout)).version;
  return version;
}
