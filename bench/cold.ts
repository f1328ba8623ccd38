/** Twenty schemas at once from nothing to InSync, and what the manager holds in memory when they rest. */
import type { Database } from "../e2e/lab/database.ts";
import type { Lab } from "../e2e/lab/lab.ts";
import { operationsOf, removeJobs, runInTurn, type Work } from "./bare-job.ts";
import type { Measure } from "./bench.ts";
import type { Figure } from "./figure.ts";
import { limits } from "./limits.ts";
import { leaderPid } from "./node-process.ts";
import { memoryAtRest, memoryOf, secondsOf } from "./process.ts";
import { addDatabases, declaration, type Ground, prepareGround, removeGround, stands } from "./subject.ts";

const NAMESPACE = "bench-cold";
const TABLE = "orders";

export const cold: Measure = async (bench) => {
  const { lab, client } = await bench.lab();
  const ground = await prepareGround(lab, client, NAMESPACE);
  try {
    const count = limits.coldSchemas;
    const names = Array.from({ length: count }, (_, index) => `schema-${index}`);
    const before = memoryOf(await leaderPid(client));
    const databases = await addDatabases(
      lab,
      ground.server,
      names.map((name) => name.replaceAll("-", "_")),
    );
    const seconds = await bench.progress.step(`${count} schemas cold to InSync`, () =>
      converge(lab, ground, names, databases),
    );
    const memory = await memoryAtRest(await leaderPid(client));
    const chains = names.map((name) => operationsOf(ground.jobs.seen.values(), name));
    const jobCount = chains.reduce((sum, chain) => sum + chain.length, 0);
    const control = async (work: Work): Promise<number> => {
      await removeJobs(client, NAMESPACE, ground.jobs);
      return await bench.progress.step(`their ${jobCount} Jobs bare, work: ${work}`, () =>
        secondsOf(() =>
          Promise.all(
            chains.map((chain, index) => runInTurn(client, ground.jobs, chain, `bare-${work}-${index}`, work)),
          ),
        ),
      );
    };
    const bareSeconds = await control("none");
    // As the operator found them, so that every Job has its own work again, the Apply too.
    for (const database of databases) await database.sql(`DROP TABLE ${TABLE}`);
    const workingSeconds = await control("all");
    const rate: Figure = {
      name: "cold",
      what: `${count} schemas declared at once, cold to InSync, apply: Always, in ${seconds.toFixed(1)} s`,
      unit: "per minute",
      value: (count * 60) / seconds,
      controls: [
        {
          what: `their ${jobCount} Jobs bare: all schemas at once, of each its Jobs in turn, in ${bareSeconds.toFixed(1)} s`,
          value: (count * 60) / bareSeconds,
        },
        {
          what: `the same with their own work in them, in ${workingSeconds.toFixed(1)} s`,
          value: (count * 60) / workingSeconds,
        },
      ],
      targets: [
        { of: "ratio", atLeast: 0.8 },
        { of: "ratio", control: 2, atLeast: 0.8 },
      ],
    };
    return [
      rate,
      {
        name: "manager-memory-converged",
        what: `resident memory of the leading manager's Pod with ${count} converged schemas`,
        unit: "MiB",
        value: memory.residentMiB,
        controls: [{ what: "the same process before they were declared", value: before.residentMiB }],
        targets: [{ of: "value", atMost: 96 }],
        notes: [
          `of it ${memory.anonymousMiB.toFixed(1)} MiB its own pages (${before.anonymousMiB.toFixed(1)} before); ` +
            `at the most ${memory.peakMiB.toFixed(1)} MiB`,
        ],
      },
    ];
  } finally {
    await removeGround(lab, ground);
  }
};

/** @returns seconds from the declaration of all to the last one's InSync */
async function converge(
  lab: Lab,
  ground: Ground,
  names: readonly string[],
  databases: readonly Database[],
): Promise<number> {
  const { namespace, schemas } = ground;
  const objects = databases.flatMap(({ secret }, index) =>
    declaration({ namespace, name: names[index] ?? "", secret, table: TABLE, apply: "Always" }, 1),
  );
  const began = performance.now();
  await lab.apply(...objects);
  await schemas.until("that every schema is InSync", limits.coldMsMax, () =>
    names.every((name) => stands(schemas.seen.get(name), "InSync")) ? true : undefined,
  );
  return (performance.now() - began) / 1000;
}
