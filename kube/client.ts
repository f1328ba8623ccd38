import * as v from "valibot";
import { errorOfThrown, isKubeError, KubeError } from "./errors.ts";
import { type At, apiVersionOf, type Kind, kinds, pathOf } from "./kinds.ts";
import { limits } from "./limits.ts";
import { tailOf } from "./lines.ts";
import type { ObjectMeta, Stored } from "./objects.ts";
import { StoredShape } from "./objects.ts";
import type { Call, Transport } from "./transport.ts";

export interface CallOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface Selection {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface ListOptions extends CallOptions {
  readonly pageItems?: number;
  /** Refuses with TooLarge beyond this many objects. */
  readonly itemsMax?: number;
  /** "0" lets the API server answer from its watch cache; absent is a consistent read. */
  readonly resourceVersion?: "0";
}

export interface List<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

/** A change to one object. A precondition is written into the patch, so that the API server itself holds it. */
export interface Patch {
  readonly type: "merge" | "json" | "strategic";
  readonly body: unknown;
  /** The write happens only on this version of the object (merge and strategic only; a json patch carries `test`s). */
  readonly resourceVersion?: string;
  /** The write happens only on this very object (merge and strategic only). */
  readonly uid?: string;
}

export interface WriteOptions extends CallOptions {
  readonly subresource?: "status";
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  readonly ownConnection?: boolean;
}

export interface DeleteOptions extends CallOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagation?: "Background" | "Foreground" | "Orphan";
  readonly gracePeriodSeconds?: number;
}

export interface LogOptions extends CallOptions {
  readonly container: string;
  /** How many of the last bytes are kept. */
  readonly tailBytes: number;
  /** The whole read must end within this. */
  readonly timeoutMs: number;
}

/** An object's metadata alone, as the API server itself cuts it down. */
export interface MetadataOnly extends Stored {
  readonly metadata: ObjectMeta;
}

const PATCH_TYPES = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
} as const;

const METADATA_ONE = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
const METADATA_MANY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

const ListShape = v.looseObject({
  metadata: v.optional(v.looseObject({ resourceVersion: v.optional(v.string()), continue: v.optional(v.string()) })),
  items: v.nullish(v.array(v.unknown())),
});

/** A kind read as metadata only; used where an object's content decides nothing and would cost memory. */
export function metadataOf(kind: Omit<Kind<Stored>, "parse">): Kind<MetadataOnly> & { readonly metadataOnly: true } {
  const check = (raw: unknown): MetadataOnly => {
    if (v.is(StoredShape, raw)) return raw as MetadataOnly;
    throw new KubeError({ code: "Malformed", committed: "no" }, `metadata of a ${kind.kind} is not as expected`);
  };
  return { ...kind, parse: check, metadataOnly: true };
}

export function isMetadataOnly(kind: object): boolean {
  return "metadataOnly" in kind && kind.metadataOnly === true;
}

export function selectionQuery(selection: Selection): URLSearchParams {
  const query = new URLSearchParams();
  if (selection.labelSelector !== undefined) query.set("labelSelector", selection.labelSelector);
  if (selection.fieldSelector !== undefined) query.set("fieldSelector", selection.fieldSelector);
  return query;
}

/** What metadata-only lists and watches ask the server to send. */
export function acceptOf(kind: object, many: boolean): string | undefined {
  if (!isMetadataOnly(kind)) return undefined;
  return many ? METADATA_MANY : METADATA_ONE;
}

/** Typed reads and writes on one API server. Every method's errors are KubeError values with a code and `committed`. */
export class KubeClient {
  readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  /** Reads one object, uncached and consistent. */
  async get<T extends Stored>(kind: Kind<T>, at: At, options: CallOptions = {}): Promise<T> {
    return kind.parse(
      await this.#json({ method: "GET", path: pathOf(kind, at), accept: acceptOf(kind, false), ...callOf(options) }),
    );
  }

  /** Reads a whole collection, page by page. A page token that expired starts the list over once. */
  async list<T extends Stored>(kind: Kind<T>, selection: Selection, options: ListOptions = {}): Promise<List<T>> {
    for (let restarted = false; ; restarted = true) {
      try {
        const items: T[] = [];
        let resourceVersion = "";
        for await (const page of this.pages(kind, selection, options)) {
          items.push(...page.items);
          resourceVersion = page.resourceVersion;
        }
        return { items, resourceVersion };
      } catch (error) {
        if (restarted || !isKubeError(error, "Gone")) throw error;
      }
    }
  }

  /** The pages of a collection, so that a caller may keep less than all of it. */
  async *pages<T extends Stored>(
    kind: Kind<T>,
    selection: Selection,
    options: ListOptions = {},
  ): AsyncGenerator<List<T>> {
    let token: string | undefined;
    let seen = 0;
    for (let page = 0; page < limits.listPagesMax; page++) {
      const query = selectionQuery(selection);
      query.set("limit", String(options.pageItems ?? limits.listPageItems));
      if (token !== undefined) query.set("continue", token);
      else if (options.resourceVersion !== undefined) query.set("resourceVersion", options.resourceVersion);
      const raw = await this.#json({
        method: "GET",
        path: `${pathOf(kind, { namespace: selection.namespace })}?${query}`,
        accept: acceptOf(kind, true),
        ...callOf(options),
        timeoutMs: options.timeoutMs ?? limits.listTimeoutMs,
      });
      if (!v.is(ListShape, raw)) {
        throw new KubeError({ code: "Malformed", committed: "no" }, `a list of ${kind.plural} is not as expected`);
      }
      const apiVersion = apiVersionOf(kind);
      const items = (raw.items ?? []).map((item) => kind.parse(withKind(item, apiVersion, kind.kind)));
      seen += items.length;
      if (options.itemsMax !== undefined && seen > options.itemsMax) {
        throw new KubeError(
          { code: "TooLarge", committed: "no" },
          `more than ${options.itemsMax} ${kind.plural} match`,
        );
      }
      yield { items, resourceVersion: raw.metadata?.resourceVersion ?? "" };
      token = raw.metadata?.continue === "" ? undefined : raw.metadata?.continue;
      if (token === undefined) return;
    }
    throw new KubeError(
      { code: "TooLarge", committed: "no" },
      `a list of ${kind.plural} has more than ${limits.listPagesMax} pages`,
    );
  }

  /** Creates an object and returns what was stored. */
  async create<T extends Stored>(
    kind: Kind<T>,
    namespace: string | undefined,
    body: unknown,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.#write(
      kind,
      { method: "POST", path: `${pathOf(kind, { namespace })}${writeQuery(options)}`, body: JSON.stringify(body) },
      options,
    );
  }

  /** Replaces an object; its `metadata.resourceVersion` is the precondition. */
  async replace<T extends Stored>(kind: Kind<T>, at: At, body: unknown, options: WriteOptions = {}): Promise<T> {
    const path = `${pathOf(kind, at, options.subresource)}${writeQuery(options)}`;
    return this.#write(kind, { method: "PUT", path, body: JSON.stringify(body) }, options);
  }

  /** Changes a part of an object, or of its status, under the preconditions the patch carries. */
  async patch<T extends Stored>(kind: Kind<T>, at: At, patch: Patch, options: WriteOptions = {}): Promise<T> {
    const path = `${pathOf(kind, at, options.subresource)}${writeQuery(options)}`;
    const body = JSON.stringify(patch.type === "json" ? patch.body : conditional(patch));
    try {
      return await this.#write(kind, { method: "PATCH", path, body, contentType: PATCH_TYPES[patch.type] }, options);
    } catch (error) {
      // The API server calls another object's UID an invalid change of an immutable field; it is our precondition that failed.
      if (patch.uid === undefined || !isKubeError(error, "Invalid") || !/metadata\.uid: /.test(error.message))
        throw error;
      throw new KubeError({ ...error, code: "Conflict" }, error.message, { cause: error });
    }
  }

  /** Deletes an object under its preconditions. */
  async delete(kind: Omit<Kind<Stored>, "parse">, at: At, options: DeleteOptions = {}): Promise<void> {
    const body = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      propagationPolicy: options.propagation ?? "Background",
      gracePeriodSeconds: options.gracePeriodSeconds,
      preconditions:
        options.uid === undefined && options.resourceVersion === undefined
          ? undefined
          : { uid: options.uid, resourceVersion: options.resourceVersion },
    };
    await this.transport.text({
      method: "DELETE",
      path: pathOf(kind, at),
      body: JSON.stringify(body),
      ...callOf(options),
    });
  }

  /** The last bytes of one container's log. The read as a whole is bounded in time and in bytes read over. */
  async logTail(at: Required<At>, options: LogOptions): Promise<Uint8Array> {
    const ender = new AbortController();
    const signal = options.signal === undefined ? ender.signal : AbortSignal.any([ender.signal, options.signal]);
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      ender.abort();
    }, options.timeoutMs);
    try {
      const query = new URLSearchParams({ container: options.container });
      const path = `${pathOf(kinds.Pod, at, "log")}?${query}`;
      const body = await this.transport.stream({
        method: "GET",
        path,
        accept: "*/*",
        timeoutMs: options.timeoutMs,
        signal,
      });
      return await tailOf(body, options.tailBytes, limits.logBytesMax, signal);
    } catch (error) {
      if (isKubeError(error) && !timedOut) throw error;
      throw errorOfThrown(
        timedOut ? new Error("log") : error,
        false,
        timedOut,
        options.signal?.aborted === true && !timedOut,
      );
    } finally {
      clearTimeout(timer);
      ender.abort();
    }
  }

  /** A GET of a path that is no object: `/version`, `/readyz`. */
  async raw(path: string, options: CallOptions = {}): Promise<string> {
    return this.transport.text({ method: "GET", path, ...callOf(options) });
  }

  async #write<T extends Stored>(kind: Kind<T>, call: Call, options: WriteOptions): Promise<T> {
    const raw = await this.#json({ ...call, ...callOf(options), ownConnection: options.ownConnection });
    try {
      return kind.parse(raw);
    } catch (error) {
      // The server took the write; only what it answered cannot be read.
      throw new KubeError(
        { code: "Malformed", committed: "maybe" },
        `the answer to a write of a ${kind.kind} could not be read`,
        { cause: error },
      );
    }
  }

  async #json(call: Call): Promise<unknown> {
    const text = await this.transport.text(call);
    try {
      return JSON.parse(text);
    } catch (error) {
      const committed = call.method === "GET" ? "no" : "maybe";
      throw new KubeError({ code: "Malformed", committed }, "an answer of the API server is not JSON", {
        cause: error,
      });
    }
  }
}

function callOf(options: CallOptions): Pick<Call, "timeoutMs" | "signal"> {
  return { timeoutMs: options.timeoutMs, signal: options.signal };
}

function writeQuery(options: WriteOptions): string {
  const query = new URLSearchParams();
  if (options.fieldManager !== undefined) query.set("fieldManager", options.fieldManager);
  if (options.dryRun === true) query.set("dryRun", "All");
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

/** Objects inside a list carry no kind of their own. */
function withKind(item: unknown, apiVersion: string, kind: string): unknown {
  return typeof item === "object" && item !== null ? { apiVersion, kind, ...item } : item;
}

function conditional(patch: Patch): unknown {
  if (patch.resourceVersion === undefined && patch.uid === undefined) return patch.body;
  const body = patch.body as { readonly metadata?: object };
  const metadata: Record<string, unknown> = { ...body.metadata };
  if (patch.resourceVersion !== undefined) metadata["resourceVersion"] = patch.resourceVersion;
  if (patch.uid !== undefined) metadata["uid"] = patch.uid;
  return { ...body, metadata };
}
