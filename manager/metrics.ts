import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { MetricTransition, Move } from "../lifecycle/move.ts";
import type { ResourceFacts } from "../lifecycle/view.ts";
import type { Caches } from "./caches.ts";
import type { Family } from "./families.ts";
import type { FamilyCaches } from "./family-caches.ts";
import type { Clock } from "./ports.ts";

const PREFIX = "ptah_operator_";

/** Seconds of an operation: from a short read to the longest deadline a resource may set. */
const DURATION_BUCKETS = [0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 86_400];

/**
 * The metrics, under the reference's names. Counters move on transitions that moves carry, never per pass; gauges are
 * rebuilt from the caches at each scrape, by the leader alone. Labels are closed words: there is no series per object.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #reconciliations = this.#counter("reconciliations_total", "Passes by how they ended.", ["family", "result"]);
  readonly #drift = this.#counter("drift_observations_total", "Readings that found drift, or none.", [
    "engine",
    "outcome",
  ]);
  readonly #plans = this.#counter("plans_total", "Plans published.", ["family", "engine", "destructive"]);
  readonly #approvals = this.#counter("approvals_total", "Approvals required, accepted and gone stale.", [
    "family",
    "outcome",
  ]);
  readonly #applies = this.#counter("applies_total", "Applies by how far they came.", ["family", "outcome"]);
  readonly #failures = this.#counter("failures_total", "Failures by stage and category.", [
    "family",
    "stage",
    "category",
  ]);
  readonly #duration = new Histogram({
    name: `${PREFIX}operation_duration_seconds`,
    help: "Seconds from an operation's claim to its outcome.",
    labelNames: ["family", "operation", "outcome"],
    buckets: DURATION_BUCKETS,
    registers: [this.registry],
  });
  readonly #eventsDropped = this.#counter("events_dropped_total", "Events that were lost.", []);
  readonly #synced = this.#gauge(
    "unresolved_view_synced",
    "1 while the caches hold everything and this manager leads.",
    [],
  );
  readonly #readFailures = this.#counter("unresolved_view_read_failures_total", "Lists and watches that failed.", []);
  readonly #gauges = {
    unresolved: this.#gauge("unresolved_attempts", "Dispatched Applies nobody has proved yet.", ["family"]),
    owed: this.#gauge("unresolved_owed_seconds", "Age of the oldest unresolved attempt.", ["family"]),
    resources: this.#gauge("resources", "Resources by phase.", ["family", "phase"]),
    unreadable: this.#gauge("unreadable_resources", "Resources this version cannot read, or may not.", ["family"]),
    overdue: this.#gauge("overdue_resources", "Resources whose next reading is overdue.", ["family"]),
    overdueSeconds: this.#gauge("overdue_seconds", "Seconds by which the most overdue resource is late.", ["family"]),
    active: this.#gauge("active_operations", "Operations under way.", ["family", "operation"]),
    activeSeconds: this.#gauge("active_operation_seconds", "Age of the oldest operation under way.", [
      "family",
      "operation",
    ]),
    releases: this.#gauge("pending_lock_releases", "Leases owed back.", ["family"]),
    plans: this.#gauge("stored_plans", "Plans stored.", ["family"]),
    planBytes: this.#gauge("stored_plan_bytes", "Bytes of the plans stored.", []),
  };

  /** Counts what a move carries. */
  count(move: Move, family: Family, engine: string): void {
    for (const transition of move.metrics ?? []) this.#one(transition, family, engine);
  }

  passEnded({ name: family }: Family, result: string): void {
    this.#reconciliations.inc({ family, result });
    if (result === "error") this.#failures.inc({ family, stage: "controller", category: "infrastructure" });
  }

  viewReadFailed(): void {
    this.#readFailures.inc();
  }

  eventsDropped(count: number): void {
    this.#eventsDropped.inc(count);
  }

  /** Rebuilds the gauges and gives the exposition text. */
  async scrape(caches: Caches, clock: Clock, leads: boolean): Promise<string> {
    for (const gauge of Object.values(this.#gauges)) gauge.reset();
    const synced = leads && caches.all.every(({ store }) => store.isReady);
    this.#synced.set(synced ? 1 : 0);
    // While the view is not whole the counts are absent: a wrong zero would silence an alert.
    if (synced) for (const family of caches.families) this.#rebuild(family, clock.wallMs());
    // A gauge with labels has no series after its reset; this one has none to begin with, and would say 0.
    else this.#gauges.planBytes.remove();
    return await this.registry.metrics();
  }

  #rebuild(caches: FamilyCaches, nowMs: number): void {
    const { name: family, lifecycle } = caches.family;
    const g = this.#gauges;
    for (const gauge of [g.unresolved, g.overdue, g.releases, g.unreadable]) gauge.set({ family }, 0);
    let oldestRecordMs = nowMs;
    let mostOverdueMs = 0;
    const oldestClaimMs = new Map<string, number>();
    for (const entry of caches.resources.values()) {
      if (entry.state === "unreadable" || entry.newerVersions.length > 0) {
        g.unreadable.inc({ family });
        continue;
      }
      const { status, spec } = entry.facts;
      g.resources.inc({ family, phase: status.phase ?? "Unset" });
      const record = lifecycle.record(status);
      if (record !== undefined) {
        g.unresolved.inc({ family });
        oldestRecordMs = Math.min(oldestRecordMs, Date.parse(record.recordedAt));
      }
      if (status.pendingLockRelease !== undefined) g.releases.inc({ family });
      const claim = status.activeOperation;
      if (claim !== undefined) {
        g.active.inc({ family, operation: claim.type.toLowerCase() });
        const since = Date.parse(claim.startedAt);
        oldestClaimMs.set(claim.type, Math.min(oldestClaimMs.get(claim.type) ?? since, since));
      }
      const overdueMs = overdueBy(status, spec.suspend, nowMs);
      if (overdueMs > 0) g.overdue.inc({ family });
      mostOverdueMs = Math.max(mostOverdueMs, overdueMs);
    }
    g.owed.set({ family }, seconds(nowMs - oldestRecordMs));
    g.overdueSeconds.set({ family }, seconds(mostOverdueMs));
    for (const [type, since] of oldestClaimMs) {
      g.activeSeconds.set({ family, operation: type.toLowerCase() }, seconds(nowMs - since));
    }
    this.#rebuildPlans(caches);
  }

  #rebuildPlans(caches: FamilyCaches): void {
    let plans = 0;
    for (const plan of caches.plans.values()) {
      if (plan === undefined) continue;
      plans += 1;
      // One series for all plans: it was set to nothing before this scrape.
      this.#gauges.planBytes.inc(plan.sizeBytes);
    }
    this.#gauges.plans.set({ family: caches.family.name }, plans);
  }

  #one(transition: MetricTransition, { name: family, destructive }: Family, engine: string): void {
    switch (transition.metric) {
      case "drift_observations_total":
        this.#drift.inc({ engine, outcome: transition.outcome });
        break;
      case "plans_total":
        this.#plans.inc({ family, engine, destructive: destructive(transition) });
        break;
      case "approvals_total":
        this.#approvals.inc({ family, outcome: transition.outcome });
        break;
      case "applies_total":
        this.#applies.inc({ family, outcome: transition.outcome });
        break;
      case "operation_duration_seconds": {
        const operation = transition.operation.toLowerCase();
        this.#duration.observe({ family, operation, outcome: transition.outcome }, transition.seconds);
        break;
      }
      case "failures_total":
        this.#failures.inc({ family, stage: transition.stage.toLowerCase(), category: transition.category });
        break;
    }
  }

  #counter<const L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> {
    return new Counter({ name: PREFIX + name, help, labelNames: [...labelNames], registers: [this.registry] });
  }

  #gauge<const L extends string>(name: string, help: string, labelNames: readonly L[]): Gauge<L> {
    return new Gauge({ name: PREFIX + name, help, labelNames: [...labelNames], registers: [this.registry] });
  }
}

const seconds = (ms: number): number => Math.max(0, Math.round(ms) / 1_000);

/** By how long the reading that status announces is late; nothing is due while something runs, is suspended, or is retried. */
function overdueBy(status: ResourceFacts["status"], suspended: boolean, nowMs: number): number {
  const due = status.nextReconciliationTime;
  if (suspended || due === undefined || status.activeOperation !== undefined) return 0;
  return Math.max(0, nowMs - Date.parse(due));
}
