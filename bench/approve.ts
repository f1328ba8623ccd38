/** From a person's approval of a plan of one statement to the proof that the database is as declared. */
import type { KubeObject, Lab } from "../e2e/lab/lab.ts";
import { approvalObject } from "../e2e/lab/subject.ts";
import { custom, type Job, type KubeClient, type RawCustom } from "../kube/index.ts";
import { operationOf, operationsOf, runInTurn, type Work } from "./bare-job.ts";
import type { Measure } from "./bench.ts";
import { median, number } from "./figure.ts";
import { limits } from "./limits.ts";
import { secondsOf } from "./process.ts";
import { type Declared, declaration, type Ground, prepareGround, removeGround, stands, statusOf } from "./subject.ts";

const NAMESPACE = "bench-approve";
const SCHEMA = "orders";

interface Approved {
  readonly seconds: number;
  /** When the approval was sent; milliseconds since the epoch. */
  readonly sentMs: number;
  /** The operator's Jobs between the two instants, in their order. */
  readonly jobs: readonly Job[];
}

export const approve: Measure = async (bench) => {
  const { lab, client } = await bench.lab();
  const ground = await prepareGround(lab, client, NAMESPACE);
  try {
    const changes: Approved[] = [];
    const bare: number[] = [];
    const working: number[] = [];
    for (let columns = 0; columns < limits.approvedChanges; columns += 1) {
      const change = await bench.progress.step(`change ${columns + 1}, approved and proved`, () =>
        approvedChange(lab, client, ground, columns),
      );
      changes.push(change);
      const control = (work: Work) =>
        bench.progress.step(`its Jobs bare, work: ${work}`, () =>
          secondsOf(() => runInTurn(client, ground.jobs, change.jobs, `bare-${work}-${columns}`, work)),
        );
      bare.push(await control("none"));
      working.push(await control("readings"));
    }
    const shapes = changes[0]?.jobs ?? [];
    return [
      {
        name: "approve",
        what: `approval of a plan of one statement to InSync, median of ${changes.length}`,
        unit: "s",
        value: median(changes.map(({ seconds }) => seconds)),
        controls: [
          { what: `its ${shapes.length} Jobs bare, one after another, the same images`, value: median(bare) },
          { what: "the same with the work of its Observe and its Plan in them", value: median(working) },
        ],
        targets: [
          { of: "value", atMost: 30 },
          { of: "ratio", atMost: 1.6 },
        ],
        notes: [
          ...changes.map(timeline),
          `each: ${changes.map(({ seconds }) => number(seconds)).join(", ")} s; bare ${bare.map(number).join(", ")} s`,
        ],
      },
    ];
  } finally {
    await removeGround(lab, ground);
  }
};

async function approvedChange(lab: Lab, client: KubeClient, ground: Ground, columns: number): Promise<Approved> {
  const { namespace, jobs, schemas, server } = ground;
  const declared: Declared = { namespace, name: SCHEMA, secret: server.secret, table: SCHEMA, apply: "OnApproval" };
  const before = statusOf(schemas.seen.get(SCHEMA)).plan?.fingerprint;
  await lab.apply(...declaration(declared, columns));
  const waiting = await schemas.until("a plan that waits", limits.convergenceMsMax, () => {
    const schema = schemas.seen.get(SCHEMA);
    const another = statusOf(schema).plan?.fingerprint !== before;
    return another && stands(schema, "AwaitingApproval") ? schema : undefined;
  });
  const known = new Set(jobs.seen.keys());
  const approval = approvalObject(asKubeObject(waiting), `approval-${columns}`);
  const sentMs = Date.now();
  const began = performance.now();
  await client.create(custom.PtahSchemaApproval.raw, namespace, approval);
  const fingerprint = statusOf(waiting).plan?.fingerprint;
  await schemas.until("InSync", limits.convergenceMsMax, () => {
    const schema = schemas.seen.get(SCHEMA);
    return stands(schema, "InSync") && statusOf(schema).applied?.planFingerprint === fingerprint ? true : undefined;
  });
  const seconds = (performance.now() - began) / 1000;
  const made = operationsOf(jobs.seen.values(), SCHEMA).filter((job) => !known.has(job.metadata.name));
  return { seconds, sentMs, jobs: made };
}

function asKubeObject({ metadata, spec, status }: RawCustom): KubeObject {
  return { metadata, spec, status };
}

/** When each Job was made and complete, in seconds after the approval: what lies between two is the operator's own time. */
function timeline({ sentMs, jobs }: Approved): string {
  const after = (at: string | undefined) => Math.round((Date.parse(at ?? "") - sentMs) / 1000);
  const spans = jobs.map((job) => {
    const { creationTimestamp } = job.metadata;
    return `${operationOf(job)} ${after(creationTimestamp)} to ${after(job.status?.completionTime)} s`;
  });
  return `after the approval: ${spans.join(", ")}`;
}
