/**
 * The canonical form: two worlds that nothing can tell apart are the same words. Ids become the order of their first
 * appearance; serials and generations their rank; instants what remains of them; what nobody decides by is left out.
 */
import { FRAME_WAIT_MS, SNAPSHOT_KEPT_MS } from "../limits.ts";
import { leaseRecordKey } from "../obligations/realm.ts";
import { type Frame, runKey } from "./frames.ts";
import { mirrorMark } from "./seen.ts";
import { OTHER_HOLDER } from "./seen-realm.ts";
import { intern, seconds, statusTokens, TOKEN, tokensOf } from "./tokens.ts";
import { contentDigestOf } from "./values.ts";
import type { Job, Manager, Pod, Resource, Work, World } from "./world.ts";

/** Absolute deadlines keep this much of the past: what "grace and skew after" still depends on. */
const PAST_SECONDS = 120;
/** Ages beyond this are one: every interval of the explored world has passed. */
const AGE_SECONDS = 600;
/** A frame is waited for this long after the Job's end. */
const FRAME_SECONDS = FRAME_WAIT_MS / 1000;
/** From this age on an unused snapshot is deleted. */
const SNAPSHOT_SECONDS = SNAPSHOT_KEPT_MS / 1000;
/** After this a reading is overdue, whatever its Job does. */
const LAPSE_SECONDS = 240;
/** The retry delay of the explored spec. */
const RECENT_SECONDS = 30;
/** A clean-up further away than this is far away: a Job that goes earlier is a fault of its own. */
const FAR_SECONDS = 330;

/** Writes one world; reused, because a run writes millions. */
export class Encoder {
  private words = new Int32Array(4096);
  private length = 0;
  private now = 0;
  private stamp = 0;
  private nextId = 0;
  private seenAt = new Int32Array(1024);
  private seenAs = new Int32Array(1024);
  private readonly ranked: { at: number; kind: number }[] = [];

  /** The canonical words of a world; valid until the next call. */
  encode(world: World): Int32Array {
    this.length = 0;
    this.part(world);
    for (const peer of world.peers) this.part(peer);
    for (const n of world.left) this.put(n);
    return this.words.subarray(0, this.length);
  }

  /** One resource's own world: its names and ranks are of no other. */
  private part(world: World): void {
    this.now = seconds(world.now);
    this.stamp += 1;
    this.nextId = 0;
    this.ranked.length = 0;
    this.resource(world.resource, world);
    this.surroundings(world);
    this.objects(world);
    for (const manager of world.managers) this.manager(manager, world);
    this.ghost(world);
    this.rank(TOKEN.generation);
    this.rank(TOKEN.serial);
  }

  /** The canonical words of a status alone, for comparing two decisions about one world. */
  encodeStatus(status: object, nowMs: number): Int32Array {
    this.length = 0;
    this.now = seconds(nowMs);
    this.stamp += 1;
    this.nextId = 0;
    this.ranked.length = 0;
    this.tokens(statusTokens(status));
    return this.words.slice(0, this.length);
  }

  private put(word: number): void {
    if (this.length === this.words.length) {
      const larger = new Int32Array(this.words.length * 2);
      larger.set(this.words);
      this.words = larger;
    }
    this.words[this.length] = word;
    this.length += 1;
  }

  private flag(...flags: (boolean | undefined)[]): void {
    let word = 0;
    for (const flag of flags) word = word * 2 + (flag === true ? 1 : 0);
    this.put(word);
  }

  private id(text: string | undefined): void {
    this.put(text === undefined ? -1 : this.idOf(intern(text)));
  }

  private idOf(number: number): number {
    if (number >= this.seenAt.length) {
      const grow = (old: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> => {
        const larger = new Int32Array(Math.max(number + 1, old.length * 2));
        larger.set(old);
        return larger;
      };
      this.seenAt = grow(this.seenAt);
      this.seenAs = grow(this.seenAs);
    }
    if (this.seenAt[number] !== this.stamp) {
      this.seenAt[number] = this.stamp;
      this.seenAs[number] = this.nextId;
      this.nextId += 1;
    }
    return this.seenAs[number] ?? 0;
  }

  private text(text: string | undefined): void {
    this.put(text === undefined ? -1 : intern(text));
  }

  private instant(sec: number): void {
    this.put(Math.max(-PAST_SECONDS, sec - this.now));
  }

  private age(sec: number, cap = AGE_SECONDS): void {
    this.put(Math.min(cap, this.now - sec));
  }

  private rankedWord(value: number, kind: number): void {
    this.ranked.push({ at: this.length, kind });
    this.put(value);
  }

  private rank(kind: number): void {
    const places = this.ranked.filter((r) => r.kind === kind).map((r) => r.at);
    const values = [...new Set(places.map((at) => this.words[at] ?? 0))].sort((a, b) => a - b);
    for (const at of places) this.words[at] = values.indexOf(this.words[at] ?? 0);
  }

  private tokens(tokens: readonly number[]): void {
    for (let i = 0; i < tokens.length; i += 2) {
      const value = tokens[i + 1] ?? 0;
      switch (tokens[i]) {
        case TOKEN.id:
          this.put(this.idOf(value));
          break;
        case TOKEN.instant:
          this.instant(value);
          break;
        case TOKEN.passing:
          this.put(Math.max(0, value - this.now));
          break;
        case TOKEN.lapse:
          this.age(value, LAPSE_SECONDS);
          break;
        case TOKEN.recent:
          this.age(value, RECENT_SECONDS);
          break;
        case TOKEN.age:
          this.age(value);
          break;
        case TOKEN.generation:
        case TOKEN.serial:
          this.rankedWord(value, tokens[i] ?? 0);
          break;
        default:
          this.put(value);
      }
    }
  }

  private resource(resource: Resource | null | undefined, world: World): void {
    if (resource === null || resource === undefined) {
      this.put(-1);
      return;
    }
    const { inputs } = resource;
    this.flag(
      resource.deleting,
      resource.finalizer,
      inputs.suspend,
      inputs.exclude,
      inputs.shared,
      inputs.engine === "Oracle",
    );
    this.text(inputs.apply);
    this.rankedWord(resource.generation, TOKEN.generation);
    this.id(resource.uid);
    this.tokens(statusTokens(resource.status));
    if (resource.mirror === undefined) this.put(-1);
    else this.tokens(tokensOf(mirrorMark(resource.mirror, world.knows)));
    this.id(resource.settled);
    this.text(resource.readRequest);
  }

  private surroundings(world: World): void {
    const { source, envelope, other, lease } = world;
    this.flag(source.missing, envelope.resolves, other.conflicting, source.content === "A", world.secret === 1);
    this.put(envelope.version * 100 + world.release * 10 + world.knows);
    this.put(world.major * 10 + world.rollout);
    for (const database of world.databases) this.text(database.state);
    this.text(other.state);
    if (other.state !== "none" && other.state !== "idle") this.instant(seconds(other.writesUntil));
    if (lease === null) {
      this.put(-1);
      return;
    }
    this.put(lease.holder === "" ? 0 : lease.holder === OTHER_HOLDER ? 1 : 2);
    this.id(lease.epoch);
    if (lease.holder === "") return;
    this.id(lease.holder);
    this.put(lease.durationSeconds);
    // When it was taken matters until an Apply has its deadlines from it.
    const claim = world.resource?.status.activeOperation;
    if (claim?.type === "Apply" && claim.executionNotAfter === undefined) {
      this.age(seconds(lease.acquiredAt), lease.durationSeconds);
    }
    this.age(seconds(lease.renewedAt), lease.durationSeconds);
    if (lease.owner === undefined) this.put(-1);
    else this.tokens(tokensOf(lease.owner));
  }

  private objects(world: World): void {
    for (const plan of world.plans) {
      this.id(plan.uid);
      this.id(plan.owner);
      this.flag(plan.ready);
      this.tokens(tokensOf(plan.spec));
      this.put(plan.chunks.length);
      for (const chunk of plan.chunks) this.text(chunk.digest);
    }
    this.put(-2);
    for (const projection of world.projections) {
      this.id(projection.planUID);
      this.text(projection.digest);
    }
    this.put(-2);
    for (const approval of world.approvals) {
      this.id(approval.uid);
      this.id(approval.resourceUID);
      this.id(approval.planUID);
      this.id(approval.planFingerprint);
      this.tokens(tokensOf(approval.status));
    }
    this.put(-2);
    for (const word of world.words) {
      this.id(word.uid);
      this.id(word.resourceUID);
      this.id(word.operationID);
      this.tokens(tokensOf(word.status));
    }
    this.put(-2);
    for (const snapshot of world.snapshots) {
      this.id(snapshot.name);
      this.id(snapshot.owner);
      this.text(snapshot.digest);
      // The age of one that is in use is only told apart by whether it is old enough to go.
      const inUse = snapshot.digest === contentDigestOf(world.source.content);
      const age = this.now - seconds(snapshot.createdAt);
      this.put(inUse ? (age >= SNAPSHOT_SECONDS ? 1 : 0) : Math.min(age, SNAPSHOT_SECONDS));
    }
    this.put(-2);
    for (const job of world.jobs) this.job(job);
    this.put(-2);
    for (const pod of world.pods) this.pod(pod);
    this.put(-2);
    for (const creating of world.creating) {
      this.flag(creating.kind === "job", creating.admitted);
      this.job(creating.job);
    }
    this.put(-2);
  }

  private job(job: Job): void {
    this.id(job.name);
    this.id(job.uid);
    this.id(job.owner);
    this.id(job.operationID);
    this.id(job.epoch);
    this.id(job.templateDigest);
    this.work(job.work);
    this.flag(job.podRefused, job.made > 0, job.made > 1);
    if (job.terminal === undefined) {
      this.put(0);
      this.instant(seconds(job.deadlineAt));
      this.put(job.ttlSeconds === undefined ? 0 : 1);
      return;
    }
    this.put(job.terminal === "Complete" ? 1 : 2);
    this.age(seconds(job.finishedAt ?? 0), FRAME_SECONDS);
    if (job.ttlSeconds === undefined) this.put(-1);
    else
      this.put(Math.min(FAR_SECONDS, Math.max(0, seconds((job.finishedAt ?? 0) + job.ttlSeconds * 1000) - this.now)));
  }

  private work(work: Work): void {
    this.text(work.type);
    this.text(work.content);
    this.flag(work.exclude);
    this.put(work.major);
    if (work.type !== "Apply") return;
    this.text(work.plan);
    this.id(work.fingerprint);
    this.text(work.target);
    this.instant(seconds(work.dispatchNotAfter));
    this.instant(seconds(work.executionNotAfter));
  }

  private pod(pod: Pod): void {
    this.id(pod.uid);
    this.id(pod.jobUID);
    this.id(pod.operationID);
    this.work(pod.work);
    this.flag(pod.gated, pod.terminated, pod.silent);
    this.text(pod.object);
    this.text(pod.process);
    this.text(pod.log);
    this.put(pod.ran ?? 0);
    this.frame(pod.frame);
  }

  private frame(frame: Frame | undefined): void {
    if (frame === undefined) {
      this.put(-1);
      return;
    }
    this.text(frame.outcome);
    this.put(frame.major);
    this.text(frame.state);
    this.text(frame.desired);
    this.flag(frame.database === 1, frame.exclude, frame.dirty, frame.type === "Plan", frame.type === "Apply");
    this.text(runKey(frame));
  }

  private manager(manager: Manager, world: World): void {
    const { createFailed, leaseUnchanged, result, old, held } = manager;
    const { lease } = world;
    this.id(createFailed?.jobName);
    if (lease !== null && leaseUnchanged !== undefined && leaseUnchanged.record === leaseRecordOf(world)) {
      this.age(seconds(leaseUnchanged.sinceMonotonicMs), lease.durationSeconds);
    } else this.put(-1);
    if (result === undefined) this.put(-1);
    else {
      this.id(result.podUID);
      this.id(result.jobName);
      this.text(result.state);
      if (result.state !== "frame") this.age(seconds(result.readAt), FRAME_SECONDS);
      this.frame(result.frame);
    }
    this.resource(old, world);
    if (held === undefined) this.put(-1);
    else {
      this.flag(heldHolds(world, held));
      this.tokens(
        tokensOf({ ...held, resourceVersion: undefined, over: undefined, status: undefined, job: undefined }),
      );
    }
  }

  private ghost(world: World): void {
    const { ghost } = world;
    for (const id of ghost.unsettled) this.id(id);
    this.put(-2);
    this.rankedWord(ghost.dispatchedSerial, TOKEN.serial);
    this.rankedWord(ghost.executed[0], TOKEN.serial);
    this.put(ghost.executed[1]);
    for (const id of ghost.spent) this.id(id);
    this.put(-2);
    for (const id of ghost.created) this.id(id);
  }
}

/** What the manager remembers of the Lease as it is now. */
export function leaseRecordOf(world: World): string {
  const { lease } = world;
  if (lease === null) return "";
  return leaseRecordKey({
    uid: lease.uid,
    resourceVersion: "",
    holder: lease.holder,
    epoch: lease.epoch,
    durationSeconds: lease.durationSeconds,
    acquiredAtMs: lease.acquiredAt,
    renewedAtMs: lease.renewedAt,
    transitions: lease.transitions,
  });
}

/** Whether the precondition of a decided effect still holds. */
function heldHolds(world: World, held: NonNullable<Manager["held"]>): boolean {
  switch (held.kind) {
    case "markApproval":
    case "consumeApproval":
      return world.approvals.some((a) => a.uid === held.uid && String(a.version) === held.resourceVersion);
    case "markAcknowledgment":
      return world.words.some((w) => w.uid === held.uid && String(w.version) === held.resourceVersion);
    case "markPlanReady":
    case "deletePlan":
      return world.plans.some((p) => p.uid === held.uid && String(p.version) === held.resourceVersion);
    case "patchStatus":
    case "patchMetadata":
    case "claim":
    case "dispatch":
      return String(world.resource?.version) === held.resourceVersion;
    case "writeLease":
      return held.over === undefined
        ? world.lease === null
        : world.lease?.uid === held.over.uid && String(world.lease.version) === held.over.resourceVersion;
    case "openGate":
      return world.pods.some((p) => p.uid === held.podUID && String(p.version) === held.resourceVersion);
    default:
      return true;
  }
}
