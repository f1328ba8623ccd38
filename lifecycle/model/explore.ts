/** Breadth-first over canonical worlds until nothing new is found; shortest traces come with it. */
import { Coverage } from "./coverage.ts";
import { type Decider, type Decision, Disagreement, EndlessLooks } from "./decision.ts";
import { Encoder } from "./encode.ts";
import { hashWords } from "./hash.ts";
import { type Decided, partsOf, type Successors, seenBy, successors } from "./joint.ts";
import { FLAG, type Graph, judgeProgress } from "./progress.ts";
import { excuse, leaked, stateViolation, type Violation, verdictTrue } from "./properties.ts";
import { withLog } from "./steps.ts";
import { Numbers, SeenTable } from "./table.ts";
import { hash16 } from "./tools.ts";
import type { World } from "./world.ts";

export interface Run {
  readonly name: string;
  readonly states: number;
  readonly transitions: number;
  readonly depth: number;
  readonly seconds: number;
  readonly memoryMB: number;
  /** The run ended before everything was seen. */
  readonly cut: boolean;
  /** One of each kind, the first with the shortest trace. */
  readonly violations: readonly Broken[];
  readonly coverage: ReturnType<Coverage["toJSON"]>;
}

export interface Broken extends Violation {
  readonly trace: readonly string[];
}

export interface Limits {
  readonly states: number;
  readonly memoryMB: number;
  readonly seconds: number;
}

export interface Question {
  readonly name: string;
  readonly start: World;
  readonly decider: Decider;
  readonly limits: Limits;
  /** What people read is written too, and tells two worlds apart. */
  readonly narrated?: boolean | undefined;
  /** Stop at the first violation; otherwise one of each kind is kept. */
  readonly firstOnly?: boolean | undefined;
  /** Memory of this process now, in MB. */
  readonly memoryMB: () => number;
  /** Monotonic milliseconds. */
  readonly clockMs: () => number;
  /** Milliseconds of processor that this process has used; the limit counts these, so that a busy machine cuts nothing. */
  readonly usedMs: () => number;
  readonly progress?: ((line: string) => void) | undefined;
}

/** Of the worlds found again, one in this many is decided again. */
const MERGES_CHECKED = 8;
const REPORT_EVERY = 50_000;
const CHECK_EVERY = 2_000;
/** After this many kinds of violation nobody reads further. */
const VIOLATIONS_MAX = 12;

/** Explores everything reachable from a start, or up to its limits, or up to the first violation. */
export function explore(question: Question): Run {
  return new Exploration(question).run();
}

/** Rule, kind and waiting time of every resource's decision as one number. */
function decisionKey(decided: readonly Decided[]): number {
  const words = decided.map(({ world, decision }) => {
    if (decision === undefined) return "nothing";
    const { move } = decision;
    const until = move.kind === "wait" || move.kind === "rest" ? (move.untilMs ?? world.now) - world.now : 0;
    return `${move.kind} ${move.rule} ${until}`;
  });
  return Number.parseInt(hash16(words.join()).slice(0, 7), 16) + 2;
}

/** What the last statement was that each resource's Applies executed. */
const executedIn = (world: World): string =>
  partsOf(world)
    .map((part) => part.ghost.executed.join())
    .join(" ");

const sayDecision = (decision: Decision | undefined): string =>
  decision === undefined ? "nothing" : `rule ${decision.move.rule} ${decision.move.kind}`;

const INSTANTS = /\d{4}-\d\d-\d\dT[0-9:.]+Z/g;
const NAMES = /[0-9a-f]{16,}/g;

/** What people read in a world, without instants and names, as a number. */
function narration(world: World): number {
  const { phase, conditions } = world.resource?.status ?? {};
  const text = JSON.stringify([phase, conditions, world.approvals.map((a) => a.status.conditions)]);
  return Number.parseInt(hash16(text.replace(INSTANTS, "").replace(NAMES, "")).slice(0, 7), 16);
}

class Exploration {
  private readonly encoder = new Encoder();
  private readonly seen = new SeenTable();
  private readonly key = new Int32Array(2);
  private readonly parents = new Numbers();
  private readonly indexes = new Numbers();
  private readonly graph: Graph = { fair: new Numbers(), flags: new Numbers() };
  private readonly coverage = new Coverage();
  /** What was decided in each state, as a number that is never 0. */
  private readonly decided = new Numbers();
  private readonly broken = new Map<string, Broken>();
  private transitions = 0;
  private depth = 0;
  private readonly began: number;
  private readonly usedBefore: number;

  constructor(private readonly question: Question) {
    this.began = question.clockMs();
    this.usedBefore = question.usedMs();
  }

  run(): Run {
    this.number(this.question.start, -1, -1);
    let level: World[] = [this.question.start];
    let firstId = 0;
    while (level.length > 0) {
      const next: World[] = [];
      for (const [i, world] of level.entries()) {
        const id = firstId + i;
        const found = this.expand(world, id, next);
        if (found !== undefined && this.note(found, () => this.traceTo(id))) return this.report(false);
        if (id % CHECK_EVERY === 0 && this.over(id)) return this.report(true);
      }
      firstId += level.length;
      level = next;
      if (level.length > 0) this.depth += 1;
    }
    const stuck = judgeProgress(this.graph, this.seen.size);
    if (stuck !== undefined) {
      this.note({ property: 11, sentence: stuck.sentence }, () => [
        ...this.traceTo(stuck.state),
        "and from there, with no further fault:",
        ...this.fairTrace(stuck.state, stuck.steps),
      ]);
    }
    return this.report(false);
  }

  /** Keeps a violation of a new kind; true when the exploration is to end with it. */
  private note(found: Violation, trace: () => readonly string[]): boolean {
    const key = `${found.property} ${found.sentence}`;
    if (!this.broken.has(key)) this.broken.set(key, { ...found, trace: trace() });
    return this.question.firstOnly === true || this.broken.size >= VIOLATIONS_MAX;
  }

  private over(id: number): boolean {
    const { limits, memoryMB, usedMs, progress } = this.question;
    const seconds = (usedMs() - this.usedBefore) / 1000;
    if (id % REPORT_EVERY === 0 && id > 0)
      progress?.(
        `${this.question.name}: ${id} of ${this.seen.size} states, depth ${this.depth}, ${Math.round(seconds)} s of processor`,
      );
    return this.seen.size > limits.states || memoryMB() > limits.memoryMB || seconds > limits.seconds;
  }

  /** The number of a world; a new one is remembered with the step that led to it. */
  private number(world: World, parent: number, index: number): { id: number; added: boolean } {
    hashWords(this.encoder.encode(world), this.key);
    if (this.question.narrated === true) this.key[0] = (this.key[0] ?? 0) ^ narration(world);
    const found = this.seen.add(this.key[0] ?? 0, this.key[1] ?? 0);
    if (found.added) {
      this.parents.push(parent);
      this.indexes.push(index);
      this.graph.fair.push(-1);
      this.graph.flags.push(0);
      this.decided.push(0);
    }
    return found;
  }

  /** Two worlds of one canonical form have to be decided alike; checked for some of the worlds that are found again. */
  private wrongMerge(world: World, id: number): Violation | undefined {
    const known = this.decided.get(id);
    if (known === 0) return undefined;
    const parts = partsOf(world);
    const decided = parts.map((_, at) => {
      const own = seenBy(parts, at);
      return { world: own, decision: withLog(own, this.question.decider).decision };
    });
    if (decisionKey(decided) === known) return undefined;
    const rule = decided.map(({ decision }) => sayDecision(decision)).join(", ");
    return { property: 0, sentence: `the model merges two worlds that are decided differently (rule ${rule})` };
  }

  private expand(world: World, id: number, next: World[]): Violation | undefined {
    const all = this.stepsFrom(world);
    if ("sentence" in all) return all;
    for (const { world: own, decision } of all.decided) {
      this.cover(own, decision);
      const violation = stateViolation(own, decision, this.question.decider, this.question.narrated === true);
      if (violation !== undefined) {
        this.graph.flags.set(id, FLAG.excused);
        return violation;
      }
    }
    this.decided.set(id, decisionKey(all.decided));
    let fair: number | undefined;
    let fairRunsSql = false;
    const executed = executedIn(world);
    for (const [index, step] of all.steps.entries()) {
      this.transitions += 1;
      const { id: to, added } = this.number(step.next, id, index);
      if (added) next.push(step.next);
      else if ((to + index) % MERGES_CHECKED === 0) {
        const wrong = this.wrongMerge(step.next, to);
        if (wrong !== undefined) return wrong;
      }
      if (fair === undefined && step.unfair !== true) {
        fair = to;
        fairRunsSql = executedIn(step.next) !== executed;
      }
    }
    this.graph.fair.set(id, fair ?? -1);
    this.graph.flags.set(id, this.flagsOf(all, fairRunsSql));
    return undefined;
  }

  private cover(world: World, decision: Decision | undefined): void {
    if (decision === undefined || world.resource === null) return;
    this.coverage.playing = world.resource.family;
    this.coverage.rule(decision.move.rule);
    for (const rule of decision.looks) this.coverage.rule(rule);
  }

  private stepsFrom(world: World): Successors | Violation {
    try {
      return successors(world, this.question.decider, this.coverage);
    } catch (error) {
      if (error instanceof EndlessLooks) return { property: 11, sentence: error.message };
      if (error instanceof Disagreement) return { property: 0, sentence: error.message };
      throw error;
    }
  }

  private flagsOf(all: Successors, fairRunsSql: boolean): number {
    let flags = all.fairIsClock ? FLAG.clock : 0;
    if (fairRunsSql) flags |= FLAG.sql;
    const parts = all.decided;
    if (parts.some(({ world }) => excuse(world) !== undefined)) flags |= FLAG.excused;
    if (parts.every(({ world, decision }) => world.resource === null || decision === undefined)) {
      return flags | FLAG.rest | FLAG.gone;
    }
    if (parts.some(({ decision }) => decision !== undefined && decision.move.kind !== "rest")) return flags;
    for (const { world, decision } of parts) {
      if (world.resource === null || decision === undefined) continue;
      if (verdictTrue(world, decision) !== undefined) flags |= FLAG.lies;
      if (leaked(world)) flags |= FLAG.leaks;
    }
    if (all.fairIsClock || all.steps.every((s) => s.unfair === true)) flags |= FLAG.rest;
    return flags;
  }

  private pathTo(id: number): number[] {
    const path: number[] = [];
    for (let at = id; this.parents.get(at) >= 0; at = this.parents.get(at)) path.push(this.indexes.get(at));
    return path.reverse();
  }

  /** The shortest way to a state, step by step, in prose. */
  private traceTo(id: number): string[] {
    const { steps, end } = this.replay(this.pathTo(id));
    if (partsOf(end).every((part) => part.ghost.broken === undefined)) {
      const last = this.lastDecision(end);
      if (last !== undefined) steps.push(last);
    }
    return steps;
  }

  private lastDecision(world: World): string | undefined {
    try {
      const { decided } = successors(world, this.question.decider);
      return `(then the manager decides: ${decided.map(({ decision }) => sayDecision(decision)).join(", ")})`;
    } catch (error) {
      return error instanceof Error ? `(then: ${error.message})` : undefined;
    }
  }

  private replay(path: readonly number[]): { steps: string[]; end: World } {
    let world = this.question.start;
    const steps: string[] = [];
    for (const index of path) {
      const step = successors(world, this.question.decider).steps[index];
      if (step === undefined) break;
      steps.push(`${step.say}`);
      world = step.next;
    }
    return { steps, end: world };
  }

  private fairTrace(id: number, count: number): string[] {
    let { end: world } = this.replay(this.pathTo(id));
    const lines: string[] = [];
    for (let i = 0; i < count; i += 1) {
      const step = successors(world, this.question.decider).steps.find((s) => s.unfair !== true);
      if (step === undefined) break;
      lines.push(step.say);
      world = step.next;
    }
    return lines;
  }

  private report(cut: boolean): Run {
    return {
      name: this.question.name,
      states: this.seen.size,
      transitions: this.transitions,
      depth: this.depth,
      seconds: (this.question.clockMs() - this.began) / 1000,
      memoryMB: Math.round(this.question.memoryMB()),
      cut,
      violations: [...this.broken.values()],
      coverage: this.coverage.toJSON(),
    };
  }
}
