/** Latency of approval admission as it is installed, beside bare uncached reads of the same run. */
import { approvalObject } from "../e2e/lab/subject.ts";
import { custom, type KubeClient, kinds, pathOf, type RawCustom } from "../kube/index.ts";
import type { Measure } from "./bench.ts";
import { type Figure, median, number, quantile } from "./figure.ts";
import { limits } from "./limits.ts";
import { declaration, prepareGround, removeGround, stands, statusOf } from "./subject.ts";

const NAMESPACE = "bench-admission";
const SCHEMA = "orders";

type Call = () => Promise<void>;

interface Calls {
  /** A whole create with both reviews, as a dry run: admission runs in full and nothing is stored. */
  readonly approve: Call;
  /** One uncached read of what an approval is judged by, in turns: plan, schema, source. */
  readonly read: Call;
  /** How many uncached reads one accepted approval needs. */
  readonly readsEach: number;
}

export const admission: Measure = async (bench) => {
  const { lab, client } = await bench.lab();
  const ground = await prepareGround(lab, client, NAMESPACE);
  const { namespace, schemas, server } = ground;
  try {
    const declared = { namespace, name: SCHEMA, secret: server.secret, table: SCHEMA, apply: "OnApproval" as const };
    await lab.apply(...declaration(declared, 1));
    const waiting = await schemas.until("a plan that waits", limits.convergenceMsMax, () => {
      const schema = schemas.seen.get(SCHEMA);
      return stands(schema, "AwaitingApproval") ? schema : undefined;
    });
    return await measured(callsOf(client, waiting));
  } finally {
    await removeGround(lab, ground);
  }
};

function callsOf(client: KubeClient, { metadata, spec, status }: RawCustom): Calls {
  const namespace = metadata.namespace;
  const body = JSON.stringify(approvalObject({ metadata, spec, status }, "measured"));
  // What a dry run answers was never stored and has no version, so it is not read as a stored object.
  const path = `${pathOf(custom.PtahSchemaApproval.raw, { namespace })}?dryRun=All`;
  const plan = statusOf({ metadata, status }).plan?.name ?? "";
  const reads: readonly (() => Promise<unknown>)[] = [
    () => client.get(custom.PtahSchemaPlan.raw, { namespace, name: plan }),
    () => client.get(custom.PtahSchema.raw, { namespace, name: metadata.name }),
    () => client.get(kinds.ConfigMap, { namespace, name: `${metadata.name}-sql` }),
  ];
  let turn = 0;
  return {
    approve: async () => void (await client.transport.text({ method: "POST", path, body })),
    read: async () => {
      turn += 1;
      await reads[turn % reads.length]?.();
    },
    readsEach: reads.length,
  };
}

async function measured({ approve, read, readsEach }: Calls): Promise<readonly Figure[]> {
  const count = limits.admissionSideBySideCount;
  await sideBySide(approve, limits.admissionWarmCount);
  await sideBySide(read, limits.admissionWarmCount);
  const rated = await atRate(approve);
  const ratedRead = await atRate(read);
  // In turns: what else the machine does changes from second to second, and then disturbs both alike.
  const rounds: { readonly seconds: number; readonly sameReads: number; readonly oneRead: number }[] = [];
  for (let round = 0; round < limits.admissionSideBySideRounds; round += 1) {
    rounds.push({
      seconds: await sideBySide(approve, count),
      sameReads: await sideBySide(read, count * readsEach),
      oneRead: await sideBySide(read, count),
    });
  }
  const ratios = rounds.map(({ seconds, sameReads }) => number(seconds / sameReads));
  const rate = `${limits.admissionRatePerSecond} a second`;
  return [
    {
      name: "admission-rated",
      what: `p99 of an approval's create with both reviews at ${rate}, ${rated.length} of them`,
      unit: "ms",
      value: quantile(rated, 0.99),
      controls: [{ what: "p99 of one uncached GET at that rate", value: quantile(ratedRead, 0.99) }],
      targets: [{ of: "value", atMost: 100 }],
      notes: [`p50 ${quantile(rated, 0.5).toFixed(1)} ms; of the GET ${quantile(ratedRead, 0.5).toFixed(1)} ms`],
    },
    {
      name: "admission-side-by-side",
      what: `${count} approvals, ${limits.admissionSideBySide} at a time, median of ${rounds.length}`,
      unit: "s",
      value: median(rounds.map(({ seconds }) => seconds)),
      controls: [
        {
          what: `the ${count * readsEach} bare uncached GETs that their reviews make, as many at a time`,
          value: median(rounds.map(({ sameReads }) => sameReads)),
        },
        {
          what: `${count} bare uncached GETs, as many at a time`,
          value: median(rounds.map(({ oneRead }) => oneRead)),
        },
      ],
      targets: [{ of: "ratio", atMost: 1.5 }],
      notes: [`the ratio of each round: ${ratios.join(", ")}`],
    },
  ];
}

/** Starts one call every 1/rate second whether the ones before have ended or not; milliseconds of each. */
async function atRate(call: Call): Promise<readonly number[]> {
  const began = performance.now();
  const calls: Promise<number>[] = [];
  for (let index = 0; index < limits.admissionRatedCount; index += 1) {
    const waitMs = began + (index * 1000) / limits.admissionRatePerSecond - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const at = performance.now();
    calls.push(call().then(() => performance.now() - at));
  }
  return await Promise.all(calls);
}

/** @returns seconds for so many calls, a fixed number of them under way */
async function sideBySide(call: Call, count: number): Promise<number> {
  const began = performance.now();
  let left = count;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await call();
    }
  };
  await Promise.all(Array.from({ length: limits.admissionSideBySide }, worker));
  return (performance.now() - began) / 1000;
}
