/** Broken variants that only a migration can show: its words, its histories, its runs and its Lease. */
import type { Status } from "../families/types.ts";
import type { Move } from "../move.ts";
import type { View } from "../view.ts";
import { type Canary, onResource, statusOf, withResource } from "./canaries.ts";

const withStatus = (view: View, status: Status): View => withResource(view, { status });

/** The move with its status changed, where it writes one. */
function rewritten(move: Move, change: (status: Status) => Status): Move {
  switch (move.kind) {
    case "patchStatus":
    case "claim":
    case "dispatch":
      return { ...move, status: change(move.status) };
    default:
      return move;
  }
}

export const MIGRATION_CANARIES: readonly Canary[] = [
  {
    name: "words",
    property: 5,
    family: "migration",
    breaks: "an acknowledgment of another run settles the run that stands",
    from: "AwaitingApproval",
    budgets: { approve: 1, runFails: 1, acknowledgeOther: 1 },
    bend: (decide) => (view) => {
      const record = statusOf(view).unresolvedRun;
      if (record === undefined || view.acknowledgments === undefined) return decide(view);
      const value = view.acknowledgments.value.map((word) => ({ ...word, operationID: record.operationID }));
      return decide({ ...view, acknowledgments: { ...view.acknowledgments, value } });
    },
  },
  {
    name: "elsewhere",
    property: 5,
    family: "migration",
    breaks: "a History of another database settles a run",
    from: "AwaitingApproval",
    databases: 2,
    budgets: { approve: 1, runFails: 1, retarget: 1 },
    bend: (decide) => (view) => {
      const identity = statusOf(view).unresolvedRun?.targetIdentityDigest;
      if (view.result?.state !== "frame" || identity === undefined) return decide(view);
      const result = { ...view.result.result, targetIdentityDigest: identity };
      return decide({ ...view, result: { ...view.result, result } });
    },
  },
  {
    name: "pending",
    property: 5,
    family: "migration",
    breaks: "a History with versions pending settles a run",
    from: "AwaitingApproval",
    budgets: { approve: 1, runFails: 1 },
    bend: (decide) => (view) => {
      const read = view.result?.state === "frame" ? view.result.result.migrationHistory : undefined;
      if (view.result?.state !== "frame" || read === undefined || statusOf(view).unresolvedRun === undefined) {
        return decide(view);
      }
      const { dirtyRevision: _row, ...clean } = read;
      const migrations = read.migrations.map((record) => ({ ...record, state: "applied" as const }));
      const migrationHistory = { ...clean, migrations, hasPendingChanges: false, pendingMigrations: [] };
      return decide({ ...view, result: { ...view.result, result: { ...view.result.result, migrationHistory } } });
    },
  },
  {
    name: "replay",
    property: 2,
    family: "migration",
    breaks: "a run past its selection that ended uncertain is forgotten, and its plan runs again",
    from: "AwaitingApproval",
    budgets: { approve: 2, runFails: 1 },
    bend: (decide) => (view) => {
      const status = statusOf(view);
      const record = status.unresolvedRun;
      if (record === undefined) return decide(view);
      const { mirror, ...others } = view.resource.value.marks;
      const ofRun = mirror?.state === "read" && mirror.mirror.operationID === record.operationID;
      const marks = mirror === undefined || ofRun ? others : { ...others, mirror };
      const move = decide(withResource(view, { status: { ...status, unresolvedRun: undefined }, marks }));
      return rewritten(move, (written) => ({ ...written, unresolvedRun: record }));
    },
  },
  {
    name: "account",
    property: 5,
    family: "migration",
    breaks: "a run whose answer was lost is taken for applied",
    from: "AwaitingApproval",
    budgets: { approve: 1, runFails: 1 },
    bend: (decide) => (view) => {
      const run = view.result?.state === "frame" ? view.result.result.migrationRun : undefined;
      if (view.result?.state !== "frame" || run?.outcome !== "unknown") return decide(view);
      const { error: _error, uncertain: _uncertain, ...rest } = view.result.result;
      const migrationRun = { ...run, outcome: "applied" as const, applied: run.planned };
      return decide({ ...view, result: { ...view.result, result: { ...rest, childExitCode: 0, migrationRun } } });
    },
  },
  {
    name: "history",
    property: 1,
    family: "migration",
    breaks: "a plan that was approved under an older history runs",
    from: "AwaitingApproval",
    budgets: { approve: 1, foreign: 1 },
    bend: (decide) => (view) => {
      const status = statusOf(view);
      const { plan, history } = status;
      if (plan === undefined || history === undefined || !("historyFingerprint" in plan)) return decide(view);
      const lied = { ...history, fingerprint: plan.historyFingerprint };
      const move = decide(withStatus(view, { ...status, history: lied }));
      return rewritten(move, (written) => {
        const read = written.history === lied ? history : written.history;
        const replaced = written.plan !== undefined && written.plan.uid !== plan.uid;
        return { ...written, history: read, ...(replaced ? { plan } : {}) };
      });
    },
  },
  {
    name: "lease",
    property: 7,
    family: "migration",
    breaks: "a run's Lease is given back while its Pod may still write",
    from: "AwaitingApproval",
    budgets: { approve: 1, jobDeleted: 1, evict: 1 },
    bend: (decide) => (view) => {
      const move = decide(view);
      const status = statusOf(view);
      const record = status.unresolvedRun;
      const { lease } = record ?? {};
      if (record === undefined || lease === undefined || move.kind !== "wait" || move.rule !== "8/holding") return move;
      return {
        kind: "patchStatus",
        rule: "8/release",
        ...onResource(view),
        status: {
          ...status,
          unresolvedRun: { ...record, lease: undefined },
          pendingLockRelease: {
            coordinationDigest: lease.digest,
            operationID: record.operationID,
            holder: lease.holder,
            leaseEpoch: lease.epoch,
            leaseDurationSeconds: lease.durationSeconds,
          },
        },
      };
    },
  },
  {
    name: "neighbour",
    property: 7,
    family: "migration",
    breaks: "a Lease that another resource's Apply holds is taken as if nobody held it",
    inputs: { shared: true },
    beside: [{ family: "schema" }],
    approved: true,
    from: "AwaitingApproval",
    budgets: {},
    bend: (decide) => (view) => {
      const lease = view.lease?.value.lease;
      const own = view.resource.value.uid;
      if (view.lease === undefined || !lease || lease.owner === undefined || lease.owner.uid === own)
        return decide(view);
      const value = { ...view.lease.value, lease: { ...lease, holder: "" } };
      return decide({ ...view, lease: { ...view.lease, value } });
    },
  },
  {
    name: "deleted",
    property: 4,
    family: "migration",
    breaks: "a deleted migration lets its finalizer go while a run is not accounted for",
    from: "AwaitingApproval",
    budgets: { approve: 1, runFails: 1, delete: 1 },
    bend: (decide) => (view) => {
      const { deleting, finalizer, status } = view.resource.value;
      if (!deleting || !finalizer || status.unresolvedRun === undefined) return decide(view);
      return { kind: "patchMetadata", rule: "9", ...onResource(view), finalizer: "remove" };
    },
  },
  {
    name: "annotation",
    property: 5,
    family: "migration",
    breaks: "the annotation settles a run of a resource that is not being deleted",
    from: "AwaitingApproval",
    budgets: { approve: 1, runFails: 1, settle: 1 },
    bend: (decide) => (view) => {
      const { status, marks } = view.resource.value;
      const named = status.unresolvedRun?.operationID === marks.settledApply?.operationID;
      if (status.unresolvedRun === undefined || !named) return decide(view);
      const move = decide(withResource(view, { deleting: true }));
      return move.rule === "5" ? move : decide(view);
    },
  },
];
