import type { Database } from "../e2e/lab/database.ts";
import type { KubeObject, Lab } from "../e2e/lab/lab.ts";
import { type Check, condition, type Step } from "./step.ts";

const CONVERGENCE_MS = 180_000;
const SCHEMA = "storefront";

/**
 * Retire a used approval: a plan waits, is approved by name, runs once and is proved; the approval is spent and stale, and
 * the next change waits for a decision of its own (seed 004).
 */
export function story(lab: Lab, database: Database): Step[] {
  const namespace = database.namespace;
  const schema = () => lab.get("ptahschema", SCHEMA, namespace);
  const phaseIs = (phase: string): Check => ({
    claim: `ptahschema/${SCHEMA} is ${phase} at its newest generation`,
    holds: async () => {
      const s = await schema();
      return s?.status?.phase === phase && s.status.observedGeneration === s.metadata.generation;
    },
  });
  let firstFingerprint = "";
  const remember: Check = {
    claim: "the plan is named by its fingerprint",
    holds: async () => {
      firstFingerprint = (await schema())?.status?.plan?.fingerprint ?? "";
      return firstFingerprint.startsWith("sha256:");
    },
  };
  const planMoved: Check = {
    claim: "another plan waits, and it is not the one that was approved",
    holds: async () => {
      const s = await schema();
      const fingerprint = s?.status?.plan?.fingerprint;
      return s?.status?.phase === "AwaitingApproval" && fingerprint !== undefined && fingerprint !== firstFingerprint;
    },
  };
  const approval = (type: string, reason: string) =>
    condition(lab, "ptahschemaapproval", "storefront-v1", namespace, type, reason);
  return [
    {
      note: "Declare a schema: SQL in a ConfigMap, and a PtahSchema that names it and the database.",
      run: "kubectl apply -n $NAMESPACE -f demo/storefront-v1.yaml",
      prints: ["ptahschema.operator.ptah.run/storefront"],
      checks: [phaseIs("AwaitingApproval"), remember],
      withinMs: CONVERGENCE_MS,
    },
    {
      note: "A plan is waiting for a decision, and it is named by its fingerprint.",
      run: `kubectl get ptahschema ${SCHEMA} -n $NAMESPACE -o jsonpath='{.status.phase}{"\\n"}{.status.plan.fingerprint}{"\\n"}'`,
      prints: ["AwaitingApproval", "sha256:"],
      checks: [condition(lab, "ptahschema", SCHEMA, namespace, "ApprovalRequired", "PlanReady")],
    },
    {
      note: "This is what would run, statement by statement.",
      run: `kubectl ptah plan ${SCHEMA} -n $NAMESPACE`,
      prints: ["CREATE TABLE"],
      checks: [{ claim: "nothing has run yet", holds: async () => (await tables(database)) === "" }],
    },
    {
      note: "Approve it, bound to that schema, that plan and that fingerprint.",
      run: [
        `kubectl get ptahschema ${SCHEMA} -n $NAMESPACE -o json > build/demo-schema.json`,
        "node -e '",
        'const s = JSON.parse(require("fs").readFileSync("build/demo-schema.json", "utf8")), p = s.status.plan;',
        'console.log(JSON.stringify({ apiVersion: s.apiVersion, kind: "PtahSchemaApproval", metadata: { name: "storefront-v1" },',
        "  spec: { schemaRef: { name: s.metadata.name, uid: s.metadata.uid },",
        "          planRef: { name: p.name, uid: p.uid }, planFingerprint: p.fingerprint } }))",
        "' | kubectl create -n $NAMESPACE -f -",
      ].join("\n"),
      prints: ["storefront-v1 created"],
    },
    {
      note: "It converges: proved by a fresh read of the database, not by the Job's exit.",
      run: `kubectl ptah wait schema/${SCHEMA} -n $NAMESPACE`,
      checks: [
        condition(lab, "ptahschema", SCHEMA, namespace, "InSync", "ScopedConverged"),
        approval("Consumed", "DispatchCommitted"),
        approval("Stale", "PlanNoLongerCurrent"),
        { claim: "the table exists", holds: async () => (await tables(database)) === "customers" },
      ],
      withinMs: CONVERGENCE_MS,
    },
    {
      note: "The approval records that it was the one dispatched, and that it is already stale.",
      run: `kubectl get ptahschemaapproval storefront-v1 -n $NAMESPACE -o jsonpath='{range .status.conditions[*]}{.type}{"\\t"}{.status}{"\\t"}{.reason}{"\\n"}{end}'`,
      prints: ["Consumed", "DispatchCommitted", "PlanNoLongerCurrent"],
    },
    {
      note: "It cannot authorize a second time. Change the desired schema and see.",
      run: "kubectl apply -n $NAMESPACE -f demo/storefront-v2.yaml",
      prints: ["storefront"],
      checks: [planMoved, condition(lab, "ptahschema", SCHEMA, namespace, "ApprovalRequired", "PlanReady")],
      withinMs: CONVERGENCE_MS,
    },
    {
      note: "A new plan, and the operator waits again. Nothing carries over.",
      run: `kubectl ptah plan ${SCHEMA} -n $NAMESPACE -o sql`,
      prints: ["signed_up_at"],
    },
    {
      note: "And the change nobody approved has not run.",
      run: "kubectl exec -i -n $NAMESPACE postgres -- psql -h /data/run -U postgres -d app -c '\\d customers'",
      prints: ["email"],
      neverPrints: ["signed_up_at"],
      checks: [
        {
          claim: "one Apply Job was dispatched in the whole story",
          holds: async () => {
            const s: KubeObject | undefined = await schema();
            const entries = (s?.status?.journal?.entries ?? []) as { type: string }[];
            return entries.filter((e) => e.type === "ApplyFinished").length === 1;
          },
        },
      ],
    },
    {
      note: "The journal says what happened, after every Job and Event is gone.",
      run: `kubectl ptah journal ${SCHEMA} -n $NAMESPACE`,
      prints: ["PlanPublished", "ApprovalAccepted", "ApplyFinished", "Verified"],
    },
  ];
}

async function tables(database: Database): Promise<string> {
  const rows = await database.sql(
    "select relname from pg_class where relkind='r' and relnamespace='public'::regnamespace",
  );
  return rows.trim();
}
