import * as v from "valibot";
import { acceptOf, type KubeClient, type Selection, selectionQuery } from "./client.ts";
import { errorOfStatus, isKubeError, KubeError } from "./errors.ts";
import { type Kind, pathOf } from "./kinds.ts";
import { limits } from "./limits.ts";
import { linesOf } from "./lines.ts";
import type { Stored } from "./objects.ts";
import type { Ports } from "./transport.ts";

export type WatchEvent<T> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string };

const EventShape = v.looseObject({
  type: v.picklist(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]),
  object: v.unknown(),
});
const BookmarkShape = v.looseObject({ metadata: v.looseObject({ resourceVersion: v.string() }) });

export interface WatchOptions {
  readonly resourceVersion: string;
  readonly signal: AbortSignal;
  /** After this long without a byte the stream is taken for dead (default `limits.watchIdleMsMax`). */
  readonly idleMsMax?: number;
}

/**
 * One watch request, event by event, until the server ends it. Errors: KubeError; `Gone` when the version is too old
 * (list again), `Timeout` when nothing arrived for too long.
 */
export async function* watchOnce<T extends Stored>(
  client: KubeClient,
  kind: Kind<T>,
  selection: Selection,
  options: WatchOptions,
  ports: Ports,
): AsyncGenerator<WatchEvent<T>> {
  const query = selectionQuery(selection);
  query.set("watch", "true");
  query.set("allowWatchBookmarks", "true");
  query.set("resourceVersion", options.resourceVersion);
  const spread = limits.watchTimeoutSecondsMax - limits.watchTimeoutSecondsMin;
  query.set("timeoutSeconds", String(limits.watchTimeoutSecondsMin + Math.floor(ports.random() * spread)));
  const idle = new IdleTimer(options.idleMsMax ?? limits.watchIdleMsMax);
  const signal = AbortSignal.any([options.signal, idle.signal]);
  try {
    const body = await client.transport.stream({
      method: "GET",
      path: `${pathOf(kind, { namespace: selection.namespace })}?${query}`,
      accept: acceptOf(kind, false),
      timeoutMs: limits.watchStartMsMax,
      signal,
    });
    for await (const line of linesOf(body, limits.watchLineBytesMax, signal, () => idle.restart())) {
      yield eventOf(kind, line);
    }
  } catch (error) {
    if (idle.fired)
      throw new KubeError({ code: "Timeout", committed: "no" }, `the watch of ${kind.plural} was silent for too long`);
    if (error instanceof KubeError) throw error;
    const code = options.signal.aborted ? "Aborted" : "Unavailable";
    throw new KubeError({ code, committed: "no" }, `the watch of ${kind.plural} broke off`, { cause: error });
  } finally {
    idle.stop();
  }
}

function eventOf<T extends Stored>(kind: Kind<T>, line: string): WatchEvent<T> {
  let raw: unknown;
  try {
    raw = JSON.parse(line);
  } catch (error) {
    throw new KubeError({ code: "Malformed", committed: "no" }, `a line of the watch of ${kind.plural} is not JSON`, {
      cause: error,
    });
  }
  if (!v.is(EventShape, raw)) {
    throw new KubeError(
      { code: "Malformed", committed: "no" },
      `an event of the watch of ${kind.plural} is not as expected`,
    );
  }
  if (raw.type === "ERROR") throw errorOfStatus(raw.object);
  if (raw.type !== "BOOKMARK") return { type: raw.type, object: kind.parse(raw.object) };
  if (!v.is(BookmarkShape, raw.object)) {
    throw new KubeError(
      { code: "Malformed", committed: "no" },
      `a bookmark of ${kind.plural} carries no resourceVersion`,
    );
  }
  return { type: "BOOKMARK", resourceVersion: raw.object.metadata.resourceVersion };
}

class IdleTimer {
  readonly #controller = new AbortController();
  readonly #ms: number;
  #timer: ReturnType<typeof setTimeout>;
  fired = false;

  constructor(ms: number) {
    this.#ms = ms;
    this.#timer = this.#start();
  }
  get signal(): AbortSignal {
    return this.#controller.signal;
  }
  #start(): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      this.fired = true;
      this.#controller.abort();
    }, this.#ms);
  }
  restart(): void {
    if (this.fired) return;
    clearTimeout(this.#timer);
    this.#timer = this.#start();
  }
  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** What a followed collection tells its owner. Objects of a list that were not there before arrive as changes, too. */
export interface Follower<T> {
  /** The whole collection as it is now, after the first list and after every later one. */
  onList(items: readonly T[]): void;
  onChange(object: T): void;
  onDelete(object: T): void;
  /** A list or watch failed and will be tried again after `waitMs`. */
  onError?(error: KubeError, waitMs: number): void;
}

/** Doubling waits with jitter between a half and the whole, capped; `reset` after something worked. */
export class Backoff {
  #failures = 0;
  readonly #ports: Pick<Ports, "random">;
  constructor(ports: Pick<Ports, "random">) {
    this.#ports = ports;
  }
  nextMs(): number {
    const ceiling = Math.min(limits.backoffMsMax, limits.backoffMsMin * 2 ** Math.min(this.#failures, 20));
    this.#failures += 1;
    return Math.round(ceiling / 2 + (ceiling / 2) * this.#ports.random());
  }
  reset(): void {
    this.#failures = 0;
  }
}

/**
 * Follows a collection until the signal fires: list, then watch from the list's version; a version that is gone lists
 * again, everything else resumes the watch from the last version seen, with bounded back-off. It never rejects.
 */
export async function follow<T extends Stored>(
  client: KubeClient,
  kind: Kind<T>,
  selection: Selection,
  follower: Follower<T>,
  signal: AbortSignal,
  ports: Ports,
  idleMsMax?: number,
): Promise<void> {
  const backoff = new Backoff(ports);
  let version: string | undefined;
  while (!signal.aborted) {
    try {
      if (version === undefined) {
        const list = await client.list(kind, selection, { signal });
        follower.onList(list.items);
        version = list.resourceVersion;
      }
      for await (const event of watchOnce(
        client,
        kind,
        selection,
        { resourceVersion: version, signal, idleMsMax },
        ports,
      )) {
        backoff.reset();
        version = event.type === "BOOKMARK" ? event.resourceVersion : event.object.metadata.resourceVersion;
        deliver(event, follower);
      }
      // The server ended it in order: resume at once, but never in a tight loop.
      await ports.sleep(backoff.nextMs(), signal);
    } catch (error) {
      if (signal.aborted) return;
      const failure = failureOf(error, kind);
      if (LIST_AGAIN.has(failure.code)) version = undefined;
      const waitMs = Math.max(backoff.nextMs(), Math.min(failure.retryAfterMs ?? 0, limits.backoffMsMax));
      follower.onError?.(failure, waitMs);
      await ports.sleep(waitMs, signal);
    }
  }
}

/** After these the last version seen is of no use: it is too old, or what follows it cannot be read. */
const LIST_AGAIN: ReadonlySet<string> = new Set(["Gone", "Malformed", "TooLarge"]);

function failureOf(error: unknown, kind: { readonly plural: string }): KubeError {
  if (isKubeError(error)) return error;
  return new KubeError({ code: "Unavailable", committed: "no" }, `following ${kind.plural} failed`, { cause: error });
}

function deliver<T>(event: WatchEvent<T>, follower: Follower<T>): void {
  if (event.type === "BOOKMARK") return;
  if (event.type === "DELETED") follower.onDelete(event.object);
  else follower.onChange(event.object);
}
