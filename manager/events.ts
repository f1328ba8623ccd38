import { createHash } from "node:crypto";
import { API_VERSION } from "../crds/common.ts";
import { isKubeError, type KubeClient, kinds } from "../kube/index.ts";
import type { EventIntent } from "../lifecycle/move.ts";
import type { ResourceFacts } from "../lifecycle/view.ts";
import { familyOf } from "./families.ts";
import { limits } from "./limits.ts";
import { errorFields, type Log } from "./log.ts";
import type { Clock } from "./ports.ts";
import { microTime } from "./view/objects.ts";

const CONTROLLER = "operator.ptah.run/manager";

interface Series {
  readonly name: string;
  readonly namespace: string;
  count: number;
  lastMs: number;
}

interface Queued {
  readonly resource: ResourceFacts;
  readonly intent: EventIntent;
  readonly atMs: number;
}

/**
 * Events, as people read them with `kubectl describe`. Best effort: a bounded queue that never holds a pass up, the same
 * Event counted instead of repeated, and every loss counted.
 */
export class Events {
  readonly #client: Pick<KubeClient, "create" | "patch">;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #instance: string;
  readonly #queue: Queued[] = [];
  readonly #series = new Map<string, Series>();
  #sending: Promise<void> | undefined;
  dropped = 0;

  constructor(client: Pick<KubeClient, "create" | "patch">, clock: Clock, log: Log, instance: string) {
    this.#client = client;
    this.#clock = clock;
    this.#log = log;
    this.#instance = instance;
  }

  /** Takes an Event to be sent when there is time. */
  emit(resource: ResourceFacts, intent: EventIntent): void {
    if (this.#queue.length >= limits.eventsQueuedMax) {
      this.#queue.shift();
      this.dropped += 1;
    }
    this.#queue.push({ resource, intent, atMs: this.#clock.wallMs() });
    this.#sending ??= this.#drain().finally(() => {
      this.#sending = undefined;
    });
  }

  /** Ends once what was taken is sent, or failed. */
  async flush(): Promise<void> {
    while (this.#sending !== undefined) await this.#sending;
  }

  async #drain(): Promise<void> {
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      try {
        await this.#send(next);
      } catch (error) {
        this.dropped += 1;
        this.#log.debug({ reason: next.intent.reason, ...errorFields(error) }, "an Event could not be written");
      }
    }
  }

  async #send({ resource, intent, atMs }: Queued): Promise<void> {
    const regarding = regardingOf(resource, intent);
    const note = bounded(intent.note);
    const key = createHash("sha256")
      .update(JSON.stringify([regarding.uid, intent.type, intent.reason, note]))
      .digest("hex");
    const held = this.#series.get(key);
    if (held !== undefined && atMs - held.lastMs < limits.eventSeriesMs && (await this.#repeat(held, atMs))) return;
    const name = `${resource.name.slice(0, 200)}.${key.slice(0, 8)}${Math.floor(atMs).toString(16)}`;
    await this.#client.create(kinds.Event, resource.namespace, {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name, namespace: resource.namespace },
      eventTime: microTime(atMs),
      type: intent.type,
      reason: intent.reason,
      action: "Reconcile",
      note,
      regarding,
      reportingController: CONTROLLER,
      reportingInstance: this.#instance.slice(0, 128),
    });
    this.#remember(key, { name, namespace: resource.namespace, count: 1, lastMs: atMs });
  }

  /** Counts a repetition on the Event that is there. False when it is gone. */
  async #repeat(series: Series, atMs: number): Promise<boolean> {
    series.count += 1;
    series.lastMs = atMs;
    const body = { series: { count: series.count, lastObservedTime: microTime(atMs) } };
    try {
      await this.#client.patch(kinds.Event, series, { type: "merge", body });
      return true;
    } catch (error) {
      if (isKubeError(error, "NotFound")) return false;
      throw error;
    }
  }

  #remember(key: string, series: Series): void {
    this.#series.delete(key);
    this.#series.set(key, series);
    for (const oldest of this.#series.keys()) {
      if (this.#series.size <= limits.eventSeriesMax) break;
      this.#series.delete(oldest);
    }
  }
}

function regardingOf(resource: ResourceFacts, { approval }: EventIntent) {
  const { apiVersion, kind, namespace, name, uid } = resource;
  return approval === undefined
    ? { apiVersion, kind, namespace, name, uid }
    : {
        apiVersion: API_VERSION,
        kind: familyOf(resource).approval.raw.kind,
        namespace,
        name: approval.name,
        uid: approval.uid,
      };
}

/** The API server refuses a longer note. */
function bounded(note: string): string {
  const bytes = Buffer.from(note, "utf8");
  return bytes.byteLength <= limits.eventNoteBytesMax
    ? note
    : `${new TextDecoder().decode(bytes.subarray(0, limits.eventNoteBytesMax - 4)).replace(/\uFFFD$/, "")}…`;
}
