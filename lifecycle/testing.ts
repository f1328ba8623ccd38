/**
 * A small, honest world for unit tests: one resource, one database that says what it is told to, and every effect a Move can
 * have, performed at once. No faults; those are the explorer's.
 */

import * as v from "valibot";
import { sha256Digest } from "../crds/canonical.ts";
import { PtahMigrationPlanSpec, PtahMigrationSpec } from "../crds/migrationspec.ts";
import { chunkName } from "../crds/names.ts";
import { PtahSchemaPlanSpec, PtahSchemaSpec } from "../crds/spec.ts";
import { templateDigest } from "../workload/digest.ts";
import { buildTemplate } from "../workload/job.ts";
import type { OperationSpec, Work } from "../workload/operation.ts";
import type { OperationResult } from "../workload/result.ts";
import { decide } from "./decide.ts";
import { KINDS } from "./families/kinds.ts";
import type { FamilyName, Spec, Status } from "./families/types.ts";
import type { LookItem, Move } from "./move.ts";
import { leaseRecordKey } from "./obligations/realm.ts";
import {
  baseResult,
  CONFIGURATION,
  ENVELOPE,
  type Lease,
  leaseAfter,
  marksOf,
  podOf,
  sourceOf,
  storedStatus,
} from "./testing-facts.ts";
import type { Tools } from "./tools.ts";
import type {
  AcknowledgmentFacts,
  ApprovalFacts,
  CensusFacts,
  ClaimantFacts,
  Configuration,
  EnvelopeFacts,
  JobFacts,
  OwnedPlanFacts,
  PlanFacts,
  PodFacts,
  ProjectionFacts,
  ResourceFacts,
  ResultFacts,
  SnapshotFacts,
  SourceFacts,
  View,
} from "./view.ts";

type Answer = (job: OperationSpec<Work>) => Partial<OperationResult>;

export interface TestPlan {
  facts: PlanFacts;
  projections: ProjectionFacts[];
}

const specOf = (family: FamilyName, spec: Record<string, unknown>): Spec =>
  v.parse(family === "schema" ? PtahSchemaSpec : PtahMigrationSpec, spec);

/** A world in which tests change fields freely between steps. */
export class TestWorld {
  wallMs = Date.parse("2026-01-01T00:00:00Z");
  uid = "schema-uid";
  generation = 1;
  version = 1;
  deleting = false;
  finalizer = false;
  annotations: Record<string, string> = {};
  status: Status = {};
  spec: Spec;
  source: SourceFacts;
  others: ClaimantFacts[] = [];
  realm: CensusFacts["realm"];
  approvals: ApprovalFacts[] = [];
  acknowledgments: AcknowledgmentFacts[] = [];
  snapshots: SnapshotFacts[] = [];
  plans = new Map<string, TestPlan>();
  lease: Lease | null = null;
  jobs = new Map<string, { job: JobFacts; pods: PodFacts[]; spec: OperationSpec<Work> }>();
  results = new Map<string, ResultFacts>();
  envelope: EnvelopeFacts;
  memory: View["memory"] = {};
  configuration: Configuration;
  /** What the next Job's frame says; Jobs end at once, an Apply's once its gate is open and unless `holdJobs` or `holdApply`. */
  answer: Answer;
  holdJobs = false;
  holdApply = false;
  /** Whether a pass begins with the claim's Pods from the cache, as the shell's does. */
  seesPods = false;
  readonly moves: Move[] = [];
  #draws = 0;

  constructor(
    readonly tools: Tools,
    spec: Record<string, unknown>,
    answer: Answer,
    readonly family: FamilyName = "schema",
  ) {
    this.spec = specOf(family, spec);
    this.answer = answer;
    this.source = sourceOf("one");
    this.configuration = CONFIGURATION;
    this.envelope = ENVELOPE;
  }

  resource(): ResourceFacts {
    return {
      apiVersion: "operator.ptah.run/v1alpha1",
      kind: KINDS[this.family],
      namespace: "application",
      name: "orders",
      uid: this.uid,
      resourceVersion: String(this.version),
      generation: this.generation,
      deleting: this.deleting,
      finalizer: this.finalizer,
      marks: marksOf(this.annotations),
      spec: this.spec,
      status: this.status,
    };
  }

  /** The view a pass begins with. */
  view(): View {
    const cached = <T>(value: T) => ({ how: "cached" as const, value });
    this.#draws += 1;
    const hex = this.#draws.toString(16).padStart(32, "0");
    const claim = this.status.activeOperation;
    const pod = claim === undefined ? undefined : this.jobs.get(claim.jobName)?.pods[0];
    const result = pod === undefined ? undefined : this.results.get(pod.uid);
    return {
      family: this.family,
      now: { wallMs: this.wallMs, monotonicMs: this.wallMs },
      fresh: { nonce: hex, epoch: `v1-${hex}`, fraction: 0.5 },
      configuration: this.configuration,
      resource: cached(this.resource()),
      approvals: cached(this.approvals),
      acknowledgments: cached(this.acknowledgments),
      plans: cached(this.ownedPlans()),
      source: cached(this.source),
      snapshots: cached(this.snapshots),
      census: cached(this.census()),
      ownedJobs: cached([...this.jobs.values()].map((j) => j.job).filter((j) => j.terminal !== undefined)),
      memory: this.memory,
      ...(result === undefined ? {} : { result }),
      ...(this.seesPods && claim !== undefined
        ? { pods: cached({ jobName: claim.jobName, pods: this.jobs.get(claim.jobName)?.pods ?? [] }) }
        : {}),
    };
  }

  private census(): CensusFacts {
    return {
      coordinationDigest: this.tools.coordinationDigest("application", this.spec) ?? "",
      others: this.others,
      ...(this.realm === undefined ? {} : { realm: this.realm }),
    };
  }

  private ownedPlans(): OwnedPlanFacts[] {
    return [...this.plans.values()].flatMap(({ facts }) => {
      const { object } = facts;
      if (object === null) return [];
      const { serial, fingerprint, contentDigest, executionBindingID, controllerStateVersion } = object.spec;
      const { uid, resourceVersion, deleting } = object;
      const bound = { serial, fingerprint, contentDigest, executionBindingID, controllerStateVersion };
      return [{ name: facts.name, uid, resourceVersion, deleting, ...bound }];
    });
  }

  private look(view: View, item: LookItem): View {
    const fresh = <T>(value: T) => ({ how: "fresh" as const, value });
    switch (item.piece) {
      case "resource":
        return { ...view, resource: fresh(this.resource()) };
      case "plans":
        return { ...view, plans: fresh(this.ownedPlans()) };
      case "approvals":
        return { ...view, approvals: fresh(this.approvals) };
      case "acknowledgments":
        return { ...view, acknowledgments: fresh(this.acknowledgments) };
      case "source":
        return { ...view, source: fresh(this.source) };
      case "snapshots":
        return { ...view, snapshots: fresh(this.snapshots) };
      case "census":
        return { ...view, census: fresh(this.census()) };
      case "envelope":
        return { ...view, envelope: fresh(this.envelope) };
      case "plan":
        return {
          ...view,
          plan: fresh(this.plans.get(item.name)?.facts ?? { name: item.name, object: null, chunks: [] }),
        };
      case "projections":
        return { ...view, projections: fresh(this.plans.get(item.planName)?.projections ?? []) };
      case "job":
      case "recordJob":
        return { ...view, [item.piece]: fresh({ name: item.name, job: this.jobs.get(item.name)?.job ?? null }) };
      case "pods":
      case "recordPods":
        return {
          ...view,
          [item.piece]: fresh({ jobName: item.jobName, pods: this.jobs.get(item.jobName)?.pods ?? [] }),
        };
      case "lease":
        return { ...view, memory: this.remember(), lease: fresh({ digest: item.digest, lease: this.lease }) };
      case "foreignHolder":
        return { ...view, foreignHolder: fresh({ holder: item.holder, attempt: null, job: null, pods: [] }) };
    }
  }

  /** Since when the Lease is unchanged, as the shell remembers it. */
  private remember(): View["memory"] {
    const record = this.lease === null ? undefined : leaseRecordKey(this.lease);
    if (record !== undefined && this.memory.leaseUnchanged?.record !== record) {
      this.memory = { ...this.memory, leaseUnchanged: { record, sinceMonotonicMs: this.wallMs } };
    }
    return this.memory;
  }

  /** One decision with its looks; nothing is performed. */
  decide(): Move {
    let view = this.view();
    for (let looks = 0; looks < 16; looks += 1) {
      const move = decide(view, this.tools);
      if (move.kind !== "look") return move;
      for (const item of move.what) view = this.look(view, item);
    }
    throw new Error("a decision asked for more than 16 looks");
  }

  /** Decides and performs until nothing is left to do at this instant. @returns the wait or rest it ended in */
  settle(maxMoves = 200): Move {
    for (let moved = 0; moved < maxMoves; moved += 1) {
      const move = this.decide();
      this.moves.push(move);
      if (move.kind === "wait" && move.read !== undefined && !this.results.has(move.read.podUID)) {
        this.results.set(move.read.podUID, this.readResult(move.read.podUID));
        continue;
      }
      if (move.kind === "wait" || move.kind === "rest") return move;
      this.perform(move);
    }
    throw new Error(`no end after ${maxMoves} moves: ${this.rules().slice(-12).join(" ")}`);
  }

  /** Settles, moves the clock to the instant the wait names, and so on until `done`. */
  run(done: (w: TestWorld) => boolean, maxWaits = 50): void {
    for (let waits = 0; waits < maxWaits; waits += 1) {
      const move = this.settle();
      if (done(this)) return;
      if ((move.kind !== "wait" && move.kind !== "rest") || move.untilMs === undefined) break;
      this.wallMs = Math.max(this.wallMs + 1, move.untilMs);
    }
    throw new Error(`never done; last moves: ${this.rules().slice(-12).join(" ")}`);
  }

  /** Performs move by move, at this instant, until `done` after one of them. */
  stepTo(done: (w: TestWorld) => boolean, maxMoves = 200): void {
    for (let moved = 0; moved < maxMoves; moved += 1) {
      const move = this.decide();
      this.moves.push(move);
      if (move.kind === "wait" && move.read !== undefined) {
        this.results.set(move.read.podUID, this.readResult(move.read.podUID));
      } else if (move.kind === "wait" || move.kind === "rest") {
        break;
      } else {
        this.perform(move);
      }
      if (done(this)) return;
    }
    throw new Error(`never there; last moves: ${this.rules().slice(-12).join(" ")}`);
  }

  rules(): string[] {
    return this.moves.map((move) => move.rule);
  }

  perform(move: Move): void {
    switch (move.kind) {
      case "patchStatus":
        this.write(move.status);
        return;
      case "claim":
        this.finalizer = true;
        this.write(move.status);
        return;
      case "dispatch":
        this.write(move.status);
        this.createJob(move.job);
        return;
      case "patchMetadata":
        this.version += 1;
        if (move.finalizer !== undefined) this.finalizer = move.finalizer === "add";
        for (const [key, value] of Object.entries(move.annotations ?? {})) {
          if (value === null) delete this.annotations[key];
          else this.annotations[key] = value;
        }
        return;
      case "writeLease":
        this.lease = leaseAfter(move, this.lease);
        return;
      case "createSnapshot":
        this.snapshots = [
          ...this.snapshots,
          {
            name: move.name,
            uid: `uid-${move.name}`,
            resourceVersion: "1",
            contentDigest: move.contentDigest,
            createdAtMs: this.wallMs,
            deleting: false,
            intact: true,
          },
        ];
        return;
      case "openGate":
        this.eachPod((pod) => (pod.uid === move.podUID ? { ...pod, gated: false } : pod));
        if (!this.holdJobs && !this.holdApply) this.endJobs();
        return;
      case "scheduleTtl": {
        const held = this.jobs.get(move.jobName);
        if (held !== undefined) held.job = { ...held.job, ttlSeconds: move.ttlSeconds };
        return;
      }
      default:
        this.performOnPlans(move);
    }
  }

  private performOnPlans(move: Move): void {
    switch (move.kind) {
      case "createPlan":
        v.parse(this.family === "schema" ? PtahSchemaPlanSpec : PtahMigrationPlanSpec, move.spec);
        this.plans.set(move.name, {
          projections: [],
          facts: {
            name: move.name,
            chunks: [],
            object: {
              uid: `uid-${move.name}`,
              resourceVersion: "1",
              deleting: false,
              ownedByUs: true,
              spec: move.spec,
              ready: false,
              createdAt: new Date(this.wallMs).toISOString(),
            },
          },
        });
        return;
      case "createChunk": {
        const plan = this.plan(move.planName);
        const digest = sha256Digest(move.bytes);
        const chunk = {
          index: move.index,
          name: move.name,
          uid: `uid-${move.name}`,
          digest,
          sizeBytes: move.bytes.byteLength,
        };
        plan.facts = {
          ...plan.facts,
          chunks: [...plan.facts.chunks, { ...chunk, ownerUID: move.planUID, deleting: false }],
        };
        return;
      }
      case "markPlanReady": {
        const plan = this.plan(move.name);
        if (plan.facts.object !== null) plan.facts = { ...plan.facts, object: { ...plan.facts.object, ready: true } };
        return;
      }
      case "createProjection":
        this.plan(move.planName).projections.push({
          name: chunkName(move.planName, move.index),
          uid: `uid-projection-${move.index}`,
          planUID: move.planUID,
          digest: move.digest,
          immutable: true,
          deleting: false,
        });
        return;
      case "markApproval":
      case "consumeApproval":
        this.approvals = this.approvals.map((a) => (a.uid === move.uid ? { ...a, status: move.status } : a));
        return;
      case "markAcknowledgment":
        this.acknowledgments = this.acknowledgments.map((a) =>
          a.uid === move.uid ? { ...a, status: move.status } : a,
        );
        return;
      case "deletePlan":
        this.plans.delete(move.name);
        return;
      case "deleteSnapshot":
        this.snapshots = this.snapshots.filter((s) => s.uid !== move.uid);
        return;
      default:
        throw new Error(`the test world cannot perform ${move.kind}`);
    }
  }

  private plan(name: string): TestPlan {
    const plan = this.plans.get(name);
    if (plan === undefined) throw new Error(`no plan ${name}`);
    return plan;
  }

  private write(status: Status): void {
    this.version += 1;
    this.status = storedStatus(this.family, status);
  }

  createJob(spec: OperationSpec<Work>): void {
    const job: JobFacts = {
      name: spec.jobName,
      uid: `uid-${spec.jobName}`,
      resourceVersion: "1",
      deleting: false,
      ownerUID: spec.resource.uid,
      operationID: spec.operationID,
      executionBindingID: spec.binding.epoch,
      templateDigest: templateDigest(buildTemplate(spec)),
      oneShot: true,
    };
    this.jobs.set(spec.jobName, { job, pods: [podOf(spec, job, 0)], spec });
    if (!this.holdJobs && spec.work.type !== "Apply") this.endJobs();
  }

  private eachPod(change: (pod: PodFacts) => PodFacts): void {
    for (const held of this.jobs.values()) held.pods = held.pods.map(change);
  }

  /** Every Job that is still running ends, except behind a closed gate. */
  endJobs(): void {
    for (const held of this.jobs.values()) {
      if (held.job.terminal !== undefined || held.pods.some((pod) => pod.gated)) continue;
      held.pods = held.pods.map((pod) => ({ ...pod, terminated: true }));
      held.job = { ...held.job, terminal: "Complete", finishedAtMs: this.wallMs };
    }
  }

  private readResult(podUID: string): ResultFacts {
    for (const { spec, pods } of this.jobs.values()) {
      if (!pods.some((pod) => pod.uid === podUID)) continue;
      const result = { ...baseResult(spec), ...this.answer(spec) } as OperationResult;
      return { podUID, state: "frame", result };
    }
    return { podUID, state: "none", readAtMs: this.wallMs };
  }

  /** A person approves the plan that stands. */
  approve(name = "approval"): void {
    const plan = this.status.plan;
    if (plan === undefined) throw new Error("no plan stands");
    this.approvals = [
      ...this.approvals,
      {
        name,
        uid: `uid-${name}`,
        resourceVersion: "1",
        generation: 1,
        deleting: false,
        resourceName: "orders",
        resourceUID: this.uid,
        planName: plan.name,
        planUID: plan.uid,
        planFingerprint: plan.fingerprint,
        approver: { username: "alice" },
        approvedAt: new Date(this.wallMs).toISOString(),
        stamped: true,
        status: {},
      },
    ];
  }

  /** An edit of the spec moves the generation. */
  edit(change: (spec: Record<string, unknown>) => Record<string, unknown>): void {
    this.spec = specOf(this.family, change(JSON.parse(JSON.stringify(this.spec))));
    this.generation += 1;
    this.version += 1;
  }

  condition(type: string): string | undefined {
    const found = this.status.conditions?.find((condition) => condition.type === type);
    return found === undefined ? undefined : `${found.status} ${found.reason}`;
  }
}
