/** People, and everybody else who writes objects the lifecycle reads: edits, approvals, marks, restores, the contender. */
import { attemptOfClaim, attemptOfRecord, mayStillWrite } from "../attempt.ts";
import { broken, numberedAnew, onStart } from "./ghost.ts";
import { collect, freshLeaseUID, uidInUse } from "./perform.ts";
import { playedIn } from "./played.ts";
import { isGarbled } from "./seen.ts";
import { OTHER_HOLDER, OTHER_JOB } from "./seen-realm.ts";
import { CONTENDER_DURATION_SECONDS, DEADLINE_SECONDS, LATER_MAJORS, SKEW_MS, type SpecInputs } from "./values.ts";
import {
  type Acknowledgment,
  type Approval,
  type Budget,
  type Job,
  leftOf,
  type Plan,
  type Resource,
  recordOf,
  type Step,
  spend,
  unused,
  type World,
} from "./world.ts";

type Add = (budget: Budget | undefined, say: string, next: World) => void;

/** The first request is an instant, the second is none. */
const REQUESTS = ["2026-01-01T00:00:01Z", "soon"] as const;

/** What people may do in this world; a step without a budget undoes one that had. */
export function peopleSteps(world: World): Step[] {
  const steps: Step[] = [];
  const add: Add = (budget, say, next) => {
    if (budget !== undefined && leftOf(world, budget) <= 0) return;
    steps.push({ say, next: budget === undefined ? next : spend(next, budget), unfair: true });
  };
  const { resource } = world;
  if (resource === null) return steps;
  approvals(world, resource, add);
  edits(world, resource, add);
  marks(world, resource, add);
  surroundings(world, add);
  return steps;
}

/** What fairness promises to end: a source that went missing comes back, and so on. Only where a budget took it away. */
export function recoveries(world: World): Step[] {
  const steps: Step[] = [];
  const { resource } = world;
  const add = (say: string, next: World): void => {
    steps.push({ say, next, unfair: true });
  };
  if (world.source.missing) add("the source is there again", { ...world, source: { ...world.source, missing: false } });
  if (!world.envelope.resolves) {
    add("the admission envelope resolves again", { ...world, envelope: { ...world.envelope, resolves: true } });
  }
  if (world.other.conflicting) {
    add("the other claimant is gone", { ...world, other: { ...world.other, conflicting: false } });
  }
  const binding = resource?.status.executionBinding;
  if (binding !== undefined && binding.controllerStateVersion > world.knows) {
    const executionBinding = { ...binding, controllerStateVersion: world.knows };
    add(
      "the newer contract's state is put back",
      changed(world, { status: { ...resource?.status, executionBinding } }),
    );
  }
  if (resource === null) return steps;
  for (const [at, { state }] of world.databases.entries()) {
    for (const [say, repaired] of playedIn(world).repairs(state)) add(say, changedDatabase(world, at, repaired));
  }
  if (isGarbled(resource, world.knows) && world.ghost.unsettled.length === 0) {
    add("ann removes the annotation nobody can read", changed(world, { mirror: undefined }));
  }
  if (resource.inputs.suspend) add("ann resumes the resource", edited(world, resource, { suspend: false }));
  if (resource.inputs.engine !== "PostgreSQL") {
    add("ann names a supported engine again", edited(world, resource, { engine: "PostgreSQL" }));
  }
  return steps;
}

function changed(world: World, change: Partial<Resource>): World {
  const { resource } = world;
  return resource === null ? world : { ...world, resource: { ...resource, ...change, version: resource.version + 1 } };
}

const edited = (world: World, resource: Resource, inputs: Partial<SpecInputs>): World =>
  changed(world, { inputs: { ...resource.inputs, ...inputs }, generation: resource.generation + 1 });

function approvedBy(world: World, resource: Resource, plan: Plan): World {
  const uid = unused("approval", (name) => world.approvals.some((a) => a.uid === name));
  const approval: Approval = {
    name: uid,
    uid,
    version: 1,
    resourceUID: resource.uid,
    planName: plan.name,
    planUID: plan.uid,
    planFingerprint: plan.spec.fingerprint,
    approvedAt: world.now,
    status: {},
  };
  return { ...world, approvals: [...world.approvals, approval] };
}

/** The world with an approval of the plan that stands. */
export function approved(world: World): World {
  const { resource } = world;
  const plan = world.plans.find((p) => p.uid === resource?.status.plan?.uid);
  return resource === null || plan === undefined ? world : approvedBy(world, resource, plan);
}

function approvals(world: World, resource: Resource, add: Add): void {
  const standing = resource.status.plan;
  for (const plan of world.plans) {
    if (plan.owner !== resource.uid) continue;
    const stands = standing?.uid === plan.uid && standing.dispatched !== true;
    add(
      stands ? "approve" : "approveStale",
      `ann approves ${stands ? "the standing plan" : "a plan that does not stand"}`,
      approvedBy(world, resource, plan),
    );
  }
}

function edits(world: World, resource: Resource, add: Add): void {
  const { source } = world;
  const other = source.content === "A" ? "B" : "A";
  add("edit", `ann changes the source to ${other}`, {
    ...world,
    source: { ...source, content: other, version: source.version + 1 },
  });
  add("policy", "ann changes what the policy excludes", edited(world, resource, { exclude: !resource.inputs.exclude }));
  const apply = resource.inputs.apply === "Never" ? "OnApproval" : "Never";
  add("policy", `ann sets apply: ${apply}`, edited(world, resource, { apply }));
  if (!resource.inputs.suspend) add("suspend", "ann suspends the resource", edited(world, resource, { suspend: true }));
  if (resource.inputs.engine === "PostgreSQL")
    add("engine", "ann names an unsupported engine", edited(world, resource, { engine: "Oracle" }));
  if (!resource.deleting) {
    const next = resource.finalizer
      ? changed(world, { deleting: true, generation: resource.generation + 1 })
      : collect({ ...world, resource: null });
    add("delete", "ann deletes the resource", next);
  }
}

function marks(world: World, resource: Resource, add: Add): void {
  const record = recordOf(resource.status);
  if (record !== undefined && resource.settled !== record.operationID) {
    add("settle", "ann settles the record", changed(world, { settled: record.operationID }));
  }
  if (resource.family === "migration") acknowledgments(world, resource, add);
  const request = resource.readRequest === undefined ? REQUESTS[0] : REQUESTS[1];
  if (resource.readRequest !== request)
    add("request", `ann asks for a read (${request})`, changed(world, { readRequest: request }));
  if (resource.finalizer && !resource.deleting) {
    add("unhold", "somebody removes the finalizer", changed(world, { finalizer: false }));
  }
  if (resource.mirror !== undefined && !isGarbled(resource, world.knows)) {
    add("garble", "a restore leaves a mirror nobody can read", changed(world, { mirror: "{}" }));
  }
  add("restore", "a restore loses the status", changed(world, { status: { observedGeneration: -1 } }));
  if (!resource.deleting) add("recreate", "a restore creates the resource anew", recreated(world, resource));
}

/** Words of a person about the run that stands, one that is under way, or one that nobody waits for. */
function acknowledgments(world: World, resource: Resource, add: Add): void {
  const said = (operationID: string): World => {
    const uid = unused("word", (name) => world.words.some((w) => w.uid === name));
    const word: Acknowledgment = {
      name: uid,
      uid,
      version: 1,
      resourceUID: resource.uid,
      operationID,
      acknowledgedAt: world.now,
      status: {},
    };
    return { ...world, words: [...world.words, word] };
  };
  const { activeOperation: claim, lastRun, resolvedRun } = resource.status;
  const record = recordOf(resource.status);
  if (record !== undefined) add("acknowledge", "ann acknowledges the run", said(record.operationID));
  if (claim?.type === "Apply") add("acknowledgeEarly", "ann acknowledges a run under way", said(claim.id));
  const past = resolvedRun?.operationID ?? lastRun?.operationID ?? "another run";
  if (past !== record?.operationID) add("acknowledgeOther", "ann acknowledges another run", said(past));
  else add("acknowledgeOther", "ann acknowledges another run", said("another run"));
}

/** A restore into an empty place: another UID, no status, annotations as they were; admission adds the finalizer to a mirror. */
function recreated(world: World, resource: Resource): World {
  const uid = unused(resource.family, (name) => name === resource.uid || world.jobs.some((j) => j.owner === name));
  const next: Resource = {
    ...resource,
    uid,
    version: resource.version + 1,
    generation: 1,
    deleting: false,
    finalizer: resource.mirror !== undefined,
    status: { observedGeneration: -1 },
  };
  return numberedAnew(collect({ ...world, resource: next }));
}

const changedDatabase = (world: World, at: number, state: string): World => ({
  ...world,
  databases: world.databases.map((d, i) => (i === at ? { state } : d)),
});

function surroundings(world: World, add: Add): void {
  const at = world.secret;
  for (const [say, state] of playedIn(world).foreign(world.databases[at]?.state ?? "", world.source.content)) {
    add("foreign", say, changedDatabase(world, at, state));
  }
  if (world.databases.length > 1) add("retarget", "the Secret names another database", { ...world, secret: 1 - at });
  if (!world.source.missing)
    add("refuseSource", "the source goes missing", { ...world, source: { ...world.source, missing: true } });
  add("upgrade", "another release of the manager runs", { ...world, release: 1 - world.release });
  add("rollout", "another image of the manager runs", { ...world, rollout: 1 - world.rollout });
  for (const major of LATER_MAJORS) {
    if (major > world.major) add("serverUpgrade", `the server is upgraded to ${major}`, { ...world, major });
  }
  if (world.lease !== null) add("leaseDeleted", "somebody deletes the Lease", { ...world, lease: null });
  squat(world, add);
  const binding = world.resource?.status.executionBinding;
  if (binding !== undefined && binding.controllerStateVersion === world.knows) {
    const executionBinding = { ...binding, controllerStateVersion: world.knows + 1 };
    const status = { ...world.resource?.status, executionBinding };
    add("newer", "a newer contract wrote the state, and was rolled back", changed(world, { status }));
  }
  if (world.envelope.resolves) {
    add("envelope", "the admission envelope does not resolve", {
      ...world,
      envelope: { ...world.envelope, resolves: false },
    });
    add("envelope", "the admission envelope changes", {
      ...world,
      envelope: { resolves: true, version: 3 - world.envelope.version },
    });
  }
  if (!world.other.conflicting) {
    add("conflict", "another resource claims the realm for itself", {
      ...world,
      other: { ...world.other, conflicting: true },
    });
  }
}

/** A Job that carries none of our labels, so that admission lets it be, under the very name a claim is about to use. */
function squat(world: World, add: Add): void {
  const claim = world.resource?.status.activeOperation;
  if (claim === undefined || claim.dispatchStarted === true || world.jobs.some((j) => j.name === claim.jobName)) return;
  const job: Job = {
    name: claim.jobName,
    uid: unused("job", (name) => uidInUse(world, name)),
    owner: "nobody",
    operationID: "foreign",
    epoch: "",
    templateDigest: "",
    work: {
      family: "schema",
      type: "Observe",
      content: "",
      exclude: false,
      major: 0,
      plan: "",
      fingerprint: "",
      target: "",
      dispatchNotAfter: 0,
      executionNotAfter: 0,
    },
    deadlineAt: world.now + DEADLINE_SECONDS * 1000,
    ttlSeconds: 0,
    podRefused: true,
    made: 0,
  };
  add("squat", `somebody creates a Job under the name of the ${claim.type} claim`, {
    ...world,
    jobs: [...world.jobs, job],
  });
}

/** The contender: takes the realm's Lease by the same rules, writes, and gives it back, or dies holding it. */
export function contenderSteps(world: World): Step[] {
  const { other, lease } = world;
  const steps: Step[] = [];
  const held = lease?.holder === OTHER_HOLDER;
  switch (other.state) {
    case "idle":
      if (leftOf(world, "contend") > 0 && mayTake(world)) {
        steps.push({ say: "the contender takes the Lease", next: spend(take(world), "contend"), unfair: true });
      }
      break;
    case "holding":
      steps.push(
        held && world.now <= other.writesUntil - (DEADLINE_SECONDS * 1000) / 2 + SKEW_MS
          ? {
              say: "the contender's Apply starts to write",
              next: onStart({ ...world, other: { ...other, state: "writing" } }, undefined),
            }
          : { say: "the contender gives up", next: { ...world, other: { ...other, state: "done" } } },
      );
      break;
    case "writing":
      steps.push({ say: "the contender's Apply ends", next: { ...world, other: { ...other, state: "done" } } });
      if (leftOf(world, "contend") > 0) {
        steps.push({
          say: "FAULT the contender's manager dies while its Apply writes",
          next: spend({ ...world, other: { ...other, state: "crashed" } }, "contend"),
          unfair: true,
        });
      }
      break;
    case "done":
      steps.push({ say: "the contender releases the Lease", next: letGo(world) });
      break;
    default:
      break;
  }
  return steps;
}

function mayTake(world: World): boolean {
  const { lease } = world;
  if (lease === null || lease.holder === "") return true;
  if (lease.renewedAt + lease.durationSeconds * 1000 > world.now) return false;
  const status = world.resource?.status;
  const claim = status?.activeOperation;
  const record = recordOf(status);
  if (claim !== undefined && claim.type === "Apply" && claim.dispatchStarted === true) {
    return !mayStillWrite(attemptOfClaim(claim), world.now);
  }
  return record === undefined || !mayStillWrite(attemptOfRecord(record), world.now);
}

function take(world: World): World {
  const epoch = world.other.epoch + 1;
  const writesUntil = world.now + DEADLINE_SECONDS * 1000;
  const next: World = {
    ...world,
    other: { ...world.other, state: "holding", epoch, writesUntil },
    lease: {
      uid: world.lease?.uid ?? freshLeaseUID(world),
      version: (world.lease?.version ?? 0) + 1,
      holder: OTHER_HOLDER,
      epoch: `v1-${"f".repeat(30)}${epoch.toString(16).padStart(2, "0")}`,
      durationSeconds: CONTENDER_DURATION_SECONDS,
      acquiredAt: world.now,
      renewedAt: world.now,
      transitions: (world.lease?.transitions ?? 0) + 1,
      owner: {
        kind: "PtahSchema",
        namespace: "other",
        name: "other",
        uid: "other-1",
        jobName: OTHER_JOB,
        executionNotAfter: new Date(writesUntil).toISOString(),
      },
    },
  };
  const alive = world.pods.some((p) => p.work.type === "Apply" && (p.process === "started" || p.process === "half"));
  return alive ? broken(next, 3, "the Lease of a writing Apply could be taken over by another") : next;
}

function letGo(world: World): World {
  const idle: World = { ...world, other: { ...world.other, state: "idle" } };
  if (world.lease?.holder !== OTHER_HOLDER) return idle;
  return { ...idle, lease: { ...world.lease, holder: "", owner: undefined, version: world.lease.version + 1 } };
}
