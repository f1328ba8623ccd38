/** A small API server and a terminal of the tests' own. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SchemaStatus } from "../crds/index.ts";
import { serve } from "../kube/testing.bun.ts";
import { json, refusal, type SeenRequest, type Served } from "../kube/testing.ts";
import { chunk, contentDigest, encodePlan, type PlanDocument } from "../sql/index.ts";
import type { Io } from "./io.ts";
import { main } from "./main.ts";

export const digest = (c: string): string => `sha256:${c.repeat(64)}`;
export const EPOCH = `v1-${"3".repeat(32)}`;
export const IMAGE = `registry.example/ptah@${digest("8")}`;
const NAMESPACE = "shop";
const EVERYWHERE = "/apis/operator.ptah.run/v1alpha1/";
const API = `${EVERYWHERE}namespaces/${NAMESPACE}/`;
const CORE = `/api/v1/namespaces/${NAMESPACE}/`;

export interface Stored {
  readonly metadata: { name: string; uid: string; annotations?: Record<string, string>; [more: string]: unknown };
  readonly [more: string]: unknown;
}

export function planDocument(statements: readonly Partial<PlanDocument["statements"][number]>[]): PlanDocument {
  return {
    format_version: 1,
    name: "orders",
    dialect: "postgres",
    from_fingerprint: digest("5"),
    to_fingerprint: digest("6"),
    destructive: statements.some((statement) => statement.severity === "destructive"),
    statements: statements.map((statement) => ({
      sql: "CREATE TABLE t (id int)",
      severity: "safe" as const,
      reason: "",
      transaction: "joined" as const,
      commitAfter: false,
      class: { destructive: statement.severity === "destructive", privilegeChanges: [] },
      ...statement,
    })),
  };
}

const CREATE_ORDERS = { sql: 'CREATE TABLE "orders" (id bigint)', reason: "the table is new" };

/** What a plan binds, as `status.plan` and the plan's spec repeat it. */
function bindings(bytes: Uint8Array, document: PlanDocument): Record<string, unknown> {
  return {
    serial: 1,
    fingerprint: digest("a"),
    contentDigest: contentDigest(bytes),
    source: { kind: "ConfigMap", identity: "cm-uid", contentDigest: digest("2") },
    coordinationDigest: digest("3"),
    targetIdentityDigest: digest("4"),
    serverMajor: 15,
    actualStateFingerprint: digest("5"),
    desiredStateFingerprint: digest("6"),
    policyFingerprint: digest("7"),
    executionBindingID: EPOCH,
    controllerImage: IMAGE,
    controllerRevision: "abc",
    controllerStateVersion: 1,
    ptahVersion: "0.1.0",
    executorImage: IMAGE,
    runnerImage: IMAGE,
    runnerProtocolVersion: 1,
    destructive: document.destructive,
    statementCount: document.statements.length,
  };
}

export const condition = (type: string, status: string, reason: string, message = "so it is") => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: "2026-01-01T00:00:00Z",
});

export const owner = (kind: string, of: string, uid: string) => [
  { apiVersion: "operator.ptah.run/v1alpha1", kind, name: of, uid, controller: true, blockOwnerDeletion: true },
];

/** The stored objects of a world in which a plan waits for a person. */
export function waitingWorld(document: PlanDocument = planDocument([CREATE_ORDERS])): World {
  const encoded = encodePlan(document);
  if ("error" in encoded) throw new Error(encoded.error.message);
  const pieces = chunk(encoded.bytes);
  if ("error" in pieces) throw new Error(pieces.error.message);
  const bound = bindings(encoded.bytes, document);
  const name = `ptah-plan-${"a".repeat(24)}`;
  const world = new World();
  world.put("ptahschemas", {
    metadata: { name: "orders", uid: "schema-uid", generation: 2 },
    spec: {
      target: { engine: "PostgreSQL", coordinationKey: "orders", urlFrom: { name: "db", key: "url" } },
      desired: { configMap: { name: "orders" } },
    },
    status: {
      observedGeneration: 2,
      phase: "AwaitingApproval",
      plan: { name, uid: "plan-uid", ...bound, createdAt: "2026-01-01T00:00:00Z" },
      cycle: { startedAt: "2026-01-01T00:00:00Z", generation: 2, endedAt: "2026-01-01T00:01:00Z" },
      conditions: [
        condition("Ready", "False", "AwaitingApproval", "a plan waits"),
        condition("ApprovalRequired", "True", "Waiting"),
      ],
    },
  });
  const names = pieces.chunks.map((_, index) => `${name}-${String(index).padStart(3, "0")}`);
  world.put("ptahschemaplans", {
    metadata: {
      name,
      uid: "plan-uid",
      creationTimestamp: "2026-01-01T00:00:00Z",
      ownerReferences: owner("PtahSchema", "orders", "schema-uid"),
    },
    spec: {
      contractVersion: 2,
      schemaRef: { name: "orders", uid: "schema-uid" },
      ...bound,
      dialect: "postgresql",
      size: encoded.bytes.byteLength,
      chunks: pieces.chunks.map((piece, index) => ({
        name: names[index],
        index,
        digest: piece.digest,
        size: piece.bytes.byteLength,
      })),
    },
    status: {
      publishedChunks: names.map((chunkName, index) => ({ name: chunkName, uid: `chunk-${index}`, index })),
      conditions: [condition("Ready", "True", "Published")],
    },
  });
  for (const [index, piece] of pieces.chunks.entries()) {
    world.put("ptahschemaplanchunks", {
      metadata: {
        name: names[index] ?? "",
        uid: `chunk-${index}`,
        ownerReferences: owner("PtahSchemaPlan", name, "plan-uid"),
      },
      spec: { data: Buffer.from(piece.bytes).toString("base64") },
    });
  }
  return world;
}

/** The objects of one namespace, and what may happen to them between two requests. */
export class World {
  readonly #objects = new Map<string, Stored>();
  /** Called with every request, before it is answered. */
  before: (request: SeenRequest) => Response | undefined = () => undefined;

  put(plural: string, object: Stored): void {
    const metadata = { namespace: NAMESPACE, resourceVersion: "1", ...object.metadata };
    this.#objects.set(`${plural}/${object.metadata.name}`, { ...object, metadata });
  }

  get(plural: string, name: string): Stored {
    const found = this.#objects.get(`${plural}/${name}`);
    if (found === undefined) throw new Error(`the world has no ${plural}/${name}`);
    return found;
  }

  drop(plural: string, name: string): void {
    this.#objects.delete(`${plural}/${name}`);
  }

  all(plural: string): Stored[] {
    return [...this.#objects].filter(([key]) => key.startsWith(`${plural}/`)).map(([, object]) => object);
  }

  /** Replaces parts of a schema's status. */
  status(change: Partial<SchemaStatus> | Record<string, unknown>, plural = "ptahschemas"): void {
    const found = this.get(plural, "orders");
    this.put(plural, { ...found, status: { ...(found["status"] as object), ...change } });
  }

  answer(request: SeenRequest): Response {
    const forced = this.before(request);
    if (forced !== undefined) return forced;
    if (request.path === CORE.slice(0, -1)) return json({ metadata: { name: NAMESPACE, uid: "namespace-uid" } });
    const group = [API, CORE, EVERYWHERE].find((prefix) => request.path.startsWith(prefix));
    if (group === undefined) return refusal(404, "NotFound");
    const [plural = "", name] = request.path.slice(group.length).split("/");
    if (request.method === "POST") return this.#create(plural, JSON.parse(request.body));
    if (name === undefined) return json({ metadata: { resourceVersion: "1" }, items: this.all(plural) });
    const found = this.#objects.get(`${plural}/${name}`);
    if (found === undefined) return refusal(404, "NotFound");
    return request.method === "PATCH" ? this.#merge(plural, found, JSON.parse(request.body)) : json(found);
  }

  /** As admission does, what a person says is stamped. */
  #create(plural: string, object: Stored & { spec: object }): Response {
    const [by, at] = plural.endsWith("acknowledgments")
      ? (["acknowledgedBy", "acknowledgedAt"] as const)
      : (["approver", "approvedAt"] as const);
    const spec = { ...object.spec, [by]: { username: "jo" }, [at]: "2026-01-01T00:02:00Z", mutationRequestUID: "r" };
    this.put(plural, { ...object, metadata: { ...object.metadata, uid: `uid-${object.metadata.name}` }, spec });
    return json(this.get(plural, object.metadata.name), 201);
  }

  #merge(plural: string, found: Stored, patch: { metadata: Stored["metadata"] }): Response {
    const { annotations, uid, resourceVersion } = patch.metadata;
    const stale = resourceVersion !== undefined && resourceVersion !== found.metadata["resourceVersion"];
    if (stale || (uid !== undefined && uid !== found.metadata.uid)) return refusal(409, "Conflict");
    const merged = { ...found.metadata, annotations: { ...found.metadata.annotations, ...annotations } };
    this.put(plural, { ...found, metadata: merged });
    return json(this.get(plural, found.metadata.name));
  }
}

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly requests: readonly SeenRequest[];
  readonly questions: readonly string[];
}

export interface Terminal {
  readonly outputIsTerminal?: boolean;
  readonly env?: Record<string, string>;
  /** Answers to questions, in order; absent: nobody can be asked. */
  readonly answers?: readonly string[];
  /** Why nothing that is printed gets out. */
  readonly unwritable?: string;
  /** Called at every sleep, which lasts no time but moves the monotonic clock. */
  readonly onSleep?: (sleeps: number) => void;
  /** Whether a call that begins now takes so long that its silence is told. */
  readonly quiet?: () => boolean;
}

/** Runs one command against the world. */
export async function run(world: World, argv: readonly string[], terminal: Terminal = {}): Promise<Ran> {
  const served: Served = serve((request) => world.answer(request));
  const directory = mkdtempSync(join(tmpdir(), "kubectl-ptah-"));
  const kubeconfig = join(directory, "config");
  const contexts = [{ name: "c", context: { cluster: "c", user: "u", namespace: NAMESPACE } }];
  const clusters = [{ name: "c", cluster: { server: served.url } }];
  const users = [{ name: "u", user: {} }];
  writeFileSync(kubeconfig, JSON.stringify({ "current-context": "c", contexts, clusters, users }));
  const written = { stdout: "", stderr: "", clock: 0, sleeps: 0 };
  const answers = [...(terminal.answers ?? [])];
  const questions: string[] = [];
  const io: Io = {
    env: { KUBECONFIG: kubeconfig, ...terminal.env },
    outputIsTerminal: terminal.outputIsTerminal === true,
    canAsk: terminal.answers !== undefined,
    stdout: (text) => {
      written.stdout += text;
    },
    stderr: (text) => {
      written.stderr += text;
    },
    written: async () => terminal.unwritable,
    ask: async (question) => {
      questions.push(question);
      return answers.shift() ?? "";
    },
    nowMs: () => Date.parse("2026-01-01T00:10:00Z"),
    monotonicMs: () => written.clock,
    random: () => 0.5,
    sleep: async (ms) => {
      written.clock += ms;
      written.sleeps += 1;
      terminal.onSleep?.(written.sleeps);
    },
    later: (_, act) => {
      if (terminal.quiet?.() === true) act();
      return () => undefined;
    },
  };
  try {
    const code = await main(argv, io);
    return { code, stdout: written.stdout, stderr: written.stderr, requests: served.requests, questions };
  } finally {
    await served.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}
