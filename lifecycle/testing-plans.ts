/** Plans and databases for unit tests. */
import { sha256Digest } from "../crds/canonical.ts";
import { encodePlan, type PlanDocument } from "../sql/index.ts";
import type { OperationSpec, Work } from "../workload/operation.ts";
import type { OperationResult } from "../workload/result.ts";

export const SPEC = {
  target: { engine: "PostgreSQL", coordinationKey: "orders", urlFrom: { name: "db", key: "url" } },
  desired: { configMap: { name: "orders-schema" } },
};

/** A plan of one statement, as the executor would hand it over. */
export function planOf(sql: string, destructive = false, to = "desired"): Partial<OperationResult> {
  const document: PlanDocument = {
    format_version: 1,
    name: "orders",
    dialect: "postgres",
    from_fingerprint: "actual",
    to_fingerprint: to,
    destructive,
    statements: [
      {
        sql,
        severity: destructive ? "destructive" : "safe",
        reason: "declared",
        transaction: "joined",
        commitAfter: false,
        class: { destructive, privilegeChanges: [] },
      },
    ],
  };
  const encoded = encodePlan(document);
  if (!("bytes" in encoded)) throw new Error(encoded.error.message);
  const stdout = Buffer.from(encoded.bytes).toString("utf8");
  return { planOutcome: "Changes", stdout, planContentDigest: sha256Digest(stdout) };
}

/** A database that differs by one table until an Apply ran. */
export function database(change: Partial<OperationResult>) {
  const state = { applied: 0 };
  const answer = (job: OperationSpec<Work>): Partial<OperationResult> => {
    if (job.work.type === "Apply") state.applied += 1;
    return job.work.type === "Plan" && state.applied === 0 ? change : {};
  };
  return { state, answer };
}

export const CREATE = "CREATE TABLE orders (id bigint)";
