import { beforeAll, expect, test } from "bun:test";
import { loadParser } from "../sql/index.ts";
import type { OperationSpec, Work } from "../workload/operation.ts";
import type { OperationResult } from "../workload/result.ts";
import { TestWorld } from "./testing.ts";
import { ENVELOPE, sourceOf, TARGET } from "./testing-facts.ts";
import { directory, ended, RUN_SPEC } from "./testing-history.ts";
import { CREATE, planOf, SPEC } from "./testing-plans.ts";
import { realTools, type Tools } from "./tools.ts";
import type { AcknowledgmentFacts } from "./view.ts";

let tools: Tools;
beforeAll(async () => {
  const parser = await loadParser();
  if ("error" in parser) throw new Error("no parser");
  tools = realTools(parser);
});

/** mulberry32: small, seeded, the same everywhere. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const wordFor = (w: TestWorld, operationID: string): AcknowledgmentFacts => ({
  name: `ack-${w.version}`,
  uid: `uid-ack-${w.version}`,
  resourceVersion: "1",
  generation: 1,
  deleting: false,
  resourceName: "orders",
  resourceUID: w.uid,
  operationID,
  by: { username: "dora" },
  acknowledgedAt: new Date(w.wallMs).toISOString(),
  stamped: true,
  status: {},
});

interface Play {
  readonly w: TestWorld;
  readonly random: () => number;
  failing: boolean;
  away: boolean;
  readonly repaired?: () => void;
}

const SCENES: readonly ((p: Play) => void)[] = [
  ({ w }) => {
    if (w.status.plan !== undefined && w.approvals.length < 9) w.approve(`approval-${w.approvals.length}`);
  },
  ({ w, random }) => {
    w.source = sourceOf(random() < 0.5 ? "one" : "two");
  },
  ({ w }) => {
    w.source = { state: "refused", reason: "SourceNotFound", sentence: "Gone." };
  },
  ({ w }) => w.edit((spec) => ({ ...spec, suspend: spec["suspend"] !== true })),
  ({ w, random }) => w.edit((spec) => ({ ...spec, policy: { apply: random() < 0.5 ? "Always" : "OnApproval" } })),
  ({ w }) => {
    w.jobs.clear();
  },
  ({ w }) => {
    w.lease = null;
  },
  ({ w }) => {
    if (w.lease !== null) w.lease = { ...w.lease, holder: "ptah-h-foreign", epoch: `v1-${"f".repeat(32)}` };
  },
  (p) => {
    p.failing = !p.failing;
  },
  (p) => {
    p.away = !p.away;
  },
  ({ w }) => {
    w.status = {};
    w.finalizer = false;
  },
  ({ w, random }) => {
    const { components } = w.configuration;
    w.configuration = {
      ...w.configuration,
      components: { ...components, ptahVersion: random() < 0.5 ? "0.1.0" : "0.2.0" },
    };
  },
  ({ w, random }) => {
    const other = {
      family: "schema",
      namespace: "application",
      name: "other",
      uid: "other",
      sharedRealm: false,
    } as const;
    w.others =
      random() < 0.5 ? [] : [{ ...other, suspended: false, deleting: false, engineSupported: true, owes: false }];
  },
  ({ w }) => {
    w.annotations["operator.ptah.run/read-requested-at"] = new Date(w.wallMs).toISOString();
  },
  ({ w }) => {
    w.plans.clear();
  },
  ({ w }) => {
    w.approvals = w.approvals.slice(1);
  },
  ({ w }) => {
    const claim = w.status.activeOperation;
    if (claim !== undefined) w.memory = { createFailed: { jobName: claim.jobName, code: "Timeout" } };
  },
  ({ w, random }) => {
    w.holdJobs = random() < 0.5;
    if (!w.holdJobs) w.endJobs();
  },
  ({ w }) => {
    w.envelope = { state: "unresolved", sentence: "No ServiceAccount." };
  },
  ({ w }) => {
    const record = w.status.pendingObservation ?? w.status.unresolvedRun;
    if (record === undefined) return;
    w.acknowledgments = [...w.acknowledgments.slice(-3), wordFor(w, record.operationID)];
    w.annotations["operator.ptah.run/settled-apply"] = record.operationID;
    w.annotations["operator.ptah.run/settled-apply-by"] = "bob";
  },
  ({ w }) => {
    for (const held of w.jobs.values()) {
      const first = held.pods[0];
      if (first !== undefined && held.pods.length === 1)
        held.pods.push({ ...first, uid: `${first.uid}-b`, terminated: false });
    }
  },
  ({ w }) => {
    for (const held of w.jobs.values()) held.pods = [];
  },
  ({ w, random }) => {
    w.holdApply = random() < 0.5;
    if (!w.holdApply) w.endJobs();
  },
  ({ w }) => {
    const { manager } = w.configuration;
    w.configuration = {
      ...w.configuration,
      manager: { ...manager, controllerRevision: `${manager.controllerRevision}+` },
    };
  },
];

/** A directory of migrations; a run brings the database up to date, or stops half-way and leaves its row behind. */
function playRuns(seed: number): Play {
  const random = randomOf(seed);
  const dir = directory([1, 2]);
  const p: Play = { w: undefined as never, random, failing: false, away: false };
  const spec = random() < 0.3 ? RUN_SPEC : { ...RUN_SPEC, policy: { apply: "Always" } };
  const answer = (job: OperationSpec<Work>): Partial<OperationResult> => {
    if (!p.failing) {
      dir.state.run = undefined;
      if (job.work.type === "Apply") dir.state.odd = {};
      return dir.answer(job);
    }
    if (job.work.type === "History" && random() < 0.5) {
      return { error: { code: "connection_failed", message: "No route." }, childExitCode: 1 };
    }
    const outcome = (["failed", "partial", "unknown"] as const)[Math.floor(random() * 3)] ?? "failed";
    if (outcome !== "failed") dir.state.odd = { dirtyRevision: { version: 2, applied: 1, total: 2 } };
    dir.state.run = ended(outcome, random() < 0.5 ? [1, 2] : []);
    return dir.answer(job);
  };
  const w = new TestWorld(
    tools,
    spec,
    (job) => ({ ...answer(job), targetIdentityDigest: p.away ? `sha256:${"e".repeat(64)}` : TARGET }),
    "migration",
  );
  // Somebody repairs the database and completes by hand what a run left.
  const repaired = () => {
    dir.state.odd = {};
    const record = w.status.unresolvedRun;
    if (record === undefined) return;
    dir.state.applied = dir.state.versions.length;
    // What ran on a database that is not declared any more only a person can settle.
    if (record.targetIdentityDigest !== TARGET) w.acknowledgments = [wordFor(w, record.operationID)];
  };
  return Object.assign(p, { w, repaired });
}

/** A database whose declared state is the source's content; an Apply brings it there, or fails after it did. */
function play(seed: number): Play {
  const random = randomOf(seed);
  const p: Play = { w: undefined as never, random, failing: false, away: false };
  const contentOf = new Map<string, string>();
  let content = "";
  const answer = (job: OperationSpec<Work>): Partial<OperationResult> => {
    const { work } = job;
    if (work.type === "Apply" && work.family !== "migration") {
      content = contentOf.get(work.plan.contentDigest) ?? content;
      return p.failing ? { uncertain: true } : {};
    }
    if (work.type !== "Plan" || work.desired.source.contentDigest === content) return {};
    const wanted = work.desired.source.contentDigest;
    const plan = planOf(CREATE, false, wanted);
    contentOf.set(plan.planContentDigest ?? "", wanted);
    return plan;
  };
  const spec = random() < 0.3 ? SPEC : { ...SPEC, policy: { apply: "Always" } };
  const w = new TestWorld(tools, spec, (job) => {
    const where = { targetIdentityDigest: p.away ? `sha256:${"e".repeat(64)}` : TARGET };
    const said = { ...answer(job), ...where };
    if (!p.failing) return said;
    const error = { code: "connection_failed", message: "No route." };
    return { ...said, error, childExitCode: 1, planOutcome: undefined, stdout: "", driftReportDigest: undefined };
  });
  return Object.assign(p, { w });
}

/** The first moves of the story, so that trouble also meets an Apply and its proof. */
function undisturbed({ w }: Play, moves: number): void {
  let left = moves;
  try {
    w.stepTo(() => {
      left -= 1;
      return left <= 0;
    });
  } catch {
    // At rest before its moves were up; trouble goes on from there.
  }
}

/** Some moves, then the clock to the instant the world waits for. */
function advance({ w, random }: Play): void {
  const moves = Math.floor(random() * 5);
  for (let i = 0; i < moves; i += 1) {
    const move = w.decide();
    w.moves.push(move);
    if (move.kind === "wait" || move.kind === "rest") break;
    w.perform(move);
  }
  if (random() < 0.3) {
    const move = w.settle();
    if ((move.kind === "wait" || move.kind === "rest") && move.untilMs !== undefined)
      w.wallMs = Math.max(w.wallMs, move.untilMs);
  }
}

function calm(p: Play): void {
  const { w } = p;
  p.failing = false;
  p.away = false;
  p.repaired?.();
  w.memory = {};
  w.others = [];
  w.holdJobs = false;
  w.holdApply = false;
  w.envelope = ENVELOPE;
  w.source = sourceOf("one");
  if (w.lease?.holder === "ptah-h-foreign") w.lease = null;
  if (w.spec.suspend) w.edit((spec) => ({ ...spec, suspend: false }));
  w.endJobs();
}

const PLAYS = 50;
const FAMILIES = [
  ["declared schemas", play],
  ["directories of migrations", playRuns],
] as const;
const TIMEOUT_MS = 60_000;
const VERDICTS = ["InSync", "AwaitingApproval", "ReadyToApply"];

test.each(FAMILIES)(
  "of %s: whatever happens at any move, nothing loops, no plan runs twice, and calm ends in a verdict",
  (_name, begin) => {
    const failures: string[] = [];
    for (let seed = 1; seed <= PLAYS; seed += 1) {
      const p: Play = begin(seed);
      const { w } = p;
      try {
        // A few kinds of trouble per play, again and again, get further than all kinds at once.
        const few = Array.from({ length: 4 }, () => SCENES[Math.floor(p.random() * SCENES.length)]);
        undisturbed(p, Math.floor(p.random() * 90));
        for (let scene = 0; scene < 15; scene += 1) {
          advance(p);
          if (p.random() < 0.4) few[Math.floor(p.random() * few.length)]?.(p);
        }
        calm(p);
        w.run((world) => VERDICTS.includes(world.status.phase ?? "") && world.decide().kind === "rest", 80);
        const applied = w.moves.flatMap((m) =>
          m.kind === "dispatch" && m.job.work.type === "Apply" ? [m.job.work.plan.fingerprint] : [],
        );
        if (new Set(applied).size !== applied.length) throw new Error("a plan was dispatched twice");
      } catch (error) {
        failures.push(`seed ${seed}: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`);
      }
    }
    expect(failures).toEqual([]);
  },
  TIMEOUT_MS,
);
