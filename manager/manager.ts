import { type Connected, isKubeError } from "../kube/index.ts";
import type { Move } from "../lifecycle/move.ts";
import type { Configuration, View } from "../lifecycle/view.ts";
import type { AdmissionFlags } from "../workload/envelope.ts";
import type { OperationResult } from "../workload/result.ts";
import { Caches } from "./caches.ts";
import { STATE_VERSION } from "./contract.ts";
import { Election } from "./election.ts";
import { Events } from "./events.ts";
import { familyOf, ofKey } from "./families.ts";
import { type Answer, collectGarbage, type Listening, listen } from "./http.bun.ts";
import { limits } from "./limits.ts";
import { errorFields, type Log } from "./log.ts";
import { Memories } from "./memory.ts";
import { Metrics } from "./metrics.ts";
import { pass } from "./pass.ts";
import { type Effect, perform } from "./perform/perform.ts";
import type { World } from "./ports.ts";
import { Queue } from "./queue.ts";
import { Results } from "./results.ts";
import { sweepWhileBusy } from "./sweep.ts";
import { turnAfterMs } from "./turns.ts";
import { Reader, type Reading } from "./view/reader.ts";

export interface ManagerOptions {
  readonly kube: Connected;
  readonly world: World;
  readonly log: Log;
  readonly configuration: Configuration;
  readonly admission: AdmissionFlags;
  readonly coordinationNamespace: string;
  readonly namespace: string | undefined;
  readonly leaderElect: boolean;
  readonly identity: string;
  readonly concurrency: number;
  readonly operationsMax: number;
  readonly metricsBindAddress: string;
  readonly healthProbeBindAddress: string;
  decide(view: View): Move;
  /** Loads what a decision about this result needs beyond the view (the SQL grammar, for a plan). */
  prepare(result: OperationResult): Promise<void>;
}

/** Why the manager ended: it was asked to, another leads, or it must not act on what is stored. */
export type Ended = "stopped" | "leadership_lost" | "newer_state" | "not_synced";

/** One manager process: everything is made here, once, and started and stopped in one order. */
export class Manager {
  readonly #options: ManagerOptions;
  readonly #metrics = new Metrics();
  readonly #caches: Caches;
  readonly #queue: Queue;
  readonly #results: Results;
  readonly #events: Events;
  readonly #election: Election;
  readonly #listening: Listening[] = [];
  #ready = false;
  #eventsDropped = 0;
  #passes = 0;

  constructor(options: ManagerOptions) {
    this.#options = options;
    const { kube, world, log } = options;
    const { client } = kube;
    const memories = new Memories();
    const wake = (key: string): void => this.#queue.wake(key);
    this.#caches = new Caches({
      namespace: options.namespace,
      stateVersion: STATE_VERSION,
      wake,
      onError: (kind, error, waitMs) => {
        this.#metrics.viewReadFailed();
        log.warn({ kind, waitMs, ...errorFields(error) }, "following a kind failed and is tried again");
      },
      onUnreadable: (kind, key, message) =>
        log.error({ kind, key, detail: message }, "an object cannot be read by this version"),
    });
    this.#results = new Results(
      client,
      wake,
      () => world.wallMs(),
      (result) => options.prepare(result),
    );
    this.#events = new Events(client, world, log, options.identity);
    this.#election = new Election({
      client,
      world,
      log,
      namespace: options.coordinationNamespace,
      identity: options.identity,
    });
    const reader = new Reader({
      client,
      caches: this.#caches,
      memories,
      results: this.#results,
      clock: world,
      configuration: options.configuration,
      admission: options.admission,
      coordinationNamespace: options.coordinationNamespace,
      fresh: () => world.fresh(),
    });
    const performing = {
      client,
      caches: this.#caches,
      memories,
      clock: world,
      log,
      coordinationNamespace: options.coordinationNamespace,
    };
    const passDeps = {
      reader,
      results: this.#results,
      log,
      decide: options.decide,
      perform: (reading: Reading, move: Effect) => perform(performing, reading, move),
      heldUntilMs: (reading: Reading, move: Effect) => this.#heldUntilMs(reading, move),
      tell: (reading: Reading, move: Move) => this.#tell(reading, move),
      ended: (key: string, result: string) => {
        this.#passes += 1;
        this.#metrics.passEnded(ofKey(key).family, result);
      },
    };
    this.#queue = new Queue((key) => pass(passDeps, key), options.concurrency, world);
  }

  /** Ports the listeners took, for whoever asked for port 0. */
  get ports(): readonly number[] {
    return this.#listening.map((listening) => listening.port);
  }

  /**
   * Runs until the signal fires or the manager must not go on. The order matters:
   * 1. Probes listen first, so that a slow API server shows as "not ready" and not as a crash.
   * 2. Caches fill before anything is decided: an empty cache would look like a world without other claimants.
   * 3. What is stored is checked for a newer contract before leadership: a manager that may not act must not keep
   *    one that may from acting.
   * 4. Ready is said before leadership, because every replica is as good as the leader for a rollout.
   * 5. Leadership before the first decision. Losing it ends the process: what it remembers is worth nothing then.
   * On stop the order is reversed: no new passes, those in flight end their effect, then Events, then the Lease is given
   * back, and only then the probes close.
   */
  async run(stop: AbortSignal): Promise<Ended> {
    const options = this.#options;
    const { kube, world, log } = options;
    const ender = new AbortController();
    const onStop = (): void => ender.abort();
    stop.addEventListener("abort", onStop, { once: true });
    if (stop.aborted) ender.abort();
    const following = new AbortController();
    try {
      this.#listen();
      const sweeping = { world, everyMs: limits.sweepMs, done: () => this.#passes, collect: collectGarbage };
      const followed = Promise.all([
        this.#caches.run(kube.client, following.signal, world),
        sweepWhileBusy(sweeping, following.signal),
      ]);
      if (!(await this.#synced(ender.signal))) return stop.aborted ? "stopped" : "not_synced";
      if (this.#newerStateFound()) return "newer_state";
      this.#ready = true;
      log.info({ resources: [...this.#caches.resources()].length }, "the caches are filled");
      const leads = !options.leaderElect || (await this.#election.acquire(ender.signal));
      if (!leads) return "stopped";
      if (!options.leaderElect) this.#election.isLeader = true;
      for (const entry of this.#caches.resources()) this.#queue.wake(entry.key);
      this.#queue.start();
      const held = options.leaderElect ? await this.#election.hold(ender.signal) : await fired(ender.signal);
      await this.#drain(held);
      following.abort();
      await followed;
      return held ? "stopped" : "leadership_lost";
    } finally {
      stop.removeEventListener("abort", onStop);
      following.abort();
      this.#ready = false;
      await Promise.all(this.#listening.map((listening) => listening.stop()));
    }
  }

  async #drain(held: boolean): Promise<void> {
    const { world, leaderElect } = this.#options;
    this.#ready = false;
    this.#results.stop();
    await within(world, limits.stopMsMax, this.#queue.stop());
    await within(world, limits.leaderRetryMs, this.#events.flush());
    if (held && leaderElect) await this.#election.release();
  }

  async #synced(signal: AbortSignal): Promise<boolean> {
    const { world, log } = this.#options;
    const over = new AbortController();
    const all = Promise.all(this.#caches.all.map(({ store }) => store.ready)).then(() => "synced" as const);
    const late = world.sleep(limits.cacheSyncMsMax, AbortSignal.any([signal, over.signal])).then(() => "late" as const);
    const first = await Promise.race([all, late]);
    over.abort();
    if (first === "synced") return true;
    const missing = this.#caches.all.filter(({ store }) => !store.isReady).map(({ name }) => name);
    if (!signal.aborted) {
      log.error(
        { missing },
        "the API server did not list these kinds; check that the CRDs are installed and the RBAC allows it",
      );
    }
    return false;
  }

  /** Rule 1 over every stored kind: a state that a newer contract wrote is refused, never interpreted. */
  #newerStateFound(): boolean {
    const newer: string[] = [];
    for (const entry of this.#caches.resources()) if (entry.newerVersions.length > 0) newer.push(entry.key);
    for (const { family, plans } of this.#caches.families) {
      for (const entry of plans.values()) {
        if (entry !== undefined && entry.newerVersions.length > 0)
          newer.push(`${family.plan.raw.kind}/${entry.namespace}/${entry.facts.name}`);
      }
    }
    if (newer.length === 0) return false;
    this.#options.log.error(
      { objects: newer.slice(0, 20), count: newer.length, stateVersion: STATE_VERSION },
      "stored objects were written by a newer version of the operator; run that version, this one does not act on them",
    );
    return true;
  }

  #heldUntilMs(reading: Reading, move: Effect): number | undefined {
    const { world, operationsMax } = this.#options;
    const resource = reading.view.resource.value;
    const afterMs = turnAfterMs(move, resource, this.#caches.readable(), operationsMax, world.random());
    return afterMs === undefined ? undefined : world.wallMs() + afterMs;
  }

  #tell(reading: Reading, move: Move): void {
    const resource = reading.view.resource.value;
    for (const intent of move.events ?? []) this.#events.emit(resource, intent);
    if (move.kind !== "wait" && move.kind !== "rest")
      this.#metrics.count(move, familyOf(resource), resource.spec.target.engine);
  }

  #listen(): void {
    const text = (status: number, body: string): Answer => ({
      status,
      type: "text/plain; charset=utf-8",
      body: `${body}\n`,
    });
    const notFound = text(404, "not found");
    this.#listening.push(
      listen(this.#options.healthProbeBindAddress, async (path) => {
        if (path === "/healthz") return text(200, "ok");
        if (path === "/readyz") return this.#ready ? text(200, "ok") : text(503, "the caches are not filled yet");
        return notFound;
      }),
      listen(this.#options.metricsBindAddress, async (path) => {
        if (path !== "/metrics") return notFound;
        this.#metrics.eventsDropped(this.#events.dropped - this.#eventsDropped);
        this.#eventsDropped = this.#events.dropped;
        const body = await this.#metrics.scrape(this.#caches, this.#options.world, this.#election.isLeader);
        return { status: 200, type: this.#metrics.registry.contentType, body };
      }),
    );
  }
}

/** Waits for the work, but no longer than the bound; the bound's timer ends with it, because a timer keeps the process alive. */
async function within(world: Pick<World, "sleep">, ms: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([work, world.sleep(ms, over.signal)]);
  } finally {
    over.abort();
  }
}

function fired(signal: AbortSignal): Promise<true> {
  if (signal.aborted) return Promise.resolve(true);
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(true), { once: true }));
}

/** A sentence for the person who started the program, from whatever ended it. */
export function sentenceOf(error: unknown): string {
  if (isKubeError(error)) return error.message;
  return error instanceof Error ? error.message : String(error);
}
