/** How long a manager takes to be ready, and what it holds in memory with a thousand resources that rest. */
import { custom, kinds } from "../kube/index.ts";
import type { Bench, Measure } from "./bench.ts";
import { type Figure, median } from "./figure.ts";
import { Followed } from "./followed.ts";
import { type ApiServer, startManager, withApiServer } from "./host-manager.ts";
import { limits } from "./limits.ts";
import { memoryAtRest, timed } from "./process.ts";

const NAMESPACE = "bench-suspended";
const LIST = "/apis/operator.ptah.run/v1alpha1/ptahschemas";

export const managerStart: Measure = (bench) =>
  withApiServer(bench, async (api) => [await startFigure(bench, api), await suspendedFigure(bench, api)]);

async function startFigure(bench: Bench, api: ApiServer): Promise<Figure> {
  const { kubectl, kubeconfig } = api.target;
  const samples = Array.from({ length: limits.startSamples }, (_, index) => index);
  const list = () => timed(kubectl, ["get", "--raw", LIST], { ...process.env, KUBECONFIG: kubeconfig });
  const version = () => timed(bench.ptah, ["version"]);
  // Both have run once, so that neither pays for reading its program from disk.
  version();
  list();
  const ready: number[] = [];
  for (const _ of samples) {
    const manager = await startManager(bench, api);
    ready.push(manager.readyMs);
    await manager.stop();
  }
  return {
    name: "manager-start",
    what: `start of the manager's process to /readyz on an idle API server, median of ${ready.length}`,
    unit: "ms",
    value: median(ready),
    controls: [
      { what: "`ptah version`, start to end", value: median(samples.map(version)) },
      { what: "kubectl start and one list of PtahSchemas", value: median(samples.map(list)) },
    ],
    targets: [{ of: "value", atMost: 300 }],
  };
}

async function suspendedFigure(bench: Bench, api: ApiServer): Promise<Figure> {
  const manager = await startManager(bench, api);
  try {
    const none = await memoryAtRest(manager.pid);
    await bench.progress.step(`${limits.suspendedCount} suspended schemas`, () => suspended(api));
    const many = await memoryAtRest(manager.pid);
    return {
      name: "manager-memory-suspended",
      what: `resident memory of the manager with ${limits.suspendedCount} suspended schemas`,
      unit: "MiB",
      value: many.residentMiB,
      controls: [{ what: "the same process before there was any", value: none.residentMiB }],
      targets: [{ of: "value", atMost: 160 }],
      notes: [
        `of it ${many.anonymousMiB.toFixed(1)} MiB its own pages (${none.anonymousMiB.toFixed(1)} before); ` +
          `at the most ${many.peakMiB.toFixed(1)} MiB, while they were created and settled`,
      ],
    };
  } finally {
    await manager.stop();
  }
}

/** Creates the schemas and waits until the manager has settled every one. */
async function suspended({ client }: ApiServer): Promise<void> {
  await client.create(kinds.Namespace, undefined, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: NAMESPACE },
  });
  const kind = custom.PtahSchema.raw;
  const schemas = await new Followed(kind, NAMESPACE).start(client);
  try {
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < limits.suspendedCount) {
        next += 1;
        await client.create(kind, NAMESPACE, suspendedSchema(`schema-${next}`));
      }
    };
    await Promise.all(Array.from({ length: limits.createsSideBySide }, worker));
    const settled = (): true | undefined => {
      let count = 0;
      for (const { status } of schemas.seen.values())
        if ((status as { phase?: string } | undefined)?.phase === "Suspended") count += 1;
      return count === limits.suspendedCount ? true : undefined;
    };
    await schemas.until("that every schema is Suspended", limits.settledMsMax, settled);
  } finally {
    await schemas.stop();
  }
}

function suspendedSchema(name: string): object {
  return {
    apiVersion: "operator.ptah.run/v1alpha1",
    kind: "PtahSchema",
    metadata: { name, namespace: NAMESPACE },
    spec: {
      target: { engine: "PostgreSQL", coordinationKey: name, urlFrom: { name: `${name}-url`, key: "url" } },
      desired: { configMap: { name: `${name}-sql` } },
      suspend: true,
    },
  };
}
