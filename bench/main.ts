/**
 * `make bench`: every figure beside a control of the same run, printed and written to build/bench.json. A missed target is
 * said and ends nothing; exit status 1 only where a figure could not be measured.
 * BENCH=name measures one; KEEP=1 leaves the cluster (one that ran before stays anyway); AS_IS=1 uses the cluster and the operator that run already.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { repositoryRoot } from "../e2e/cluster/paths.ts";
import { createProgress } from "../e2e/cluster/progress.ts";
import { ensureCluster, leaveCluster, type UsedCluster } from "../e2e/lab/cluster.ts";
import { installOperator } from "../e2e/lab/install.ts";
import { openLab } from "../e2e/lab/lab.ts";
import { connect } from "../kube/index.ts";
import { admission } from "./admission.ts";
import { approve } from "./approve.ts";
import type { Bench, Measure } from "./bench.ts";
import { cold } from "./cold.ts";
import { describe, type Judged, judge, MIB } from "./figure.ts";
import { image } from "./image.ts";
import { managerStart } from "./manager-start.ts";
import { runner } from "./runner.ts";

/** In this order: what needs an idle machine comes before the whole cluster. */
const MEASURES: Readonly<Record<string, Measure>> = {
  image,
  runner,
  "manager-start": managerStart,
  admission,
  approve,
  cold,
};

function openBench(ptah: string): Bench & { readonly used: () => UsedCluster | undefined } {
  const progress = createProgress();
  let used: UsedCluster | undefined;
  let lab: ReturnType<Bench["lab"]> | undefined;
  const open: Bench["lab"] = async () => {
    const asIs = process.env["AS_IS"] === "1";
    if (!asIs) used = await ensureCluster();
    const opened = await openLab();
    if (!asIs) await progress.step("the operator", () => installOperator(opened));
    const { client } = await connect({ kubeconfig: opened.kubeconfig }, {}, "ptah-bench");
    return { lab: opened, client };
  };
  return {
    progress,
    ptah,
    used: () => used,
    lab: () => {
      lab ??= open();
      return lab;
    },
  };
}

async function main(): Promise<number> {
  const only = process.env["BENCH"] || undefined;
  const chosen = Object.entries(MEASURES).filter(([name]) => only === undefined || name === only);
  if (chosen.length === 0) {
    process.stderr.write(`no such figure: ${only}; there are ${Object.keys(MEASURES).join(", ")}\n`);
    return 2;
  }
  const ptah = join(repositoryRoot, "build", "ptah");
  const { commit } = JSON.parse(execFileSync(ptah, ["version", "--json"]).toString()) as { commit: string };
  const bench = openBench(ptah);
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? "processor"}, ${(totalmem() / MIB / 1024).toFixed(0)} GiB`;
  const began = new Date().toISOString();
  process.stdout.write(`commit ${commit}, ${machine}\n\n`);
  const figures: Judged[] = [];
  const failures: string[] = [];
  for (const [name, measure] of chosen) {
    try {
      const measured = (await bench.progress.step(name, () => measure(bench))).map(judge);
      figures.push(...measured);
      process.stdout.write(`${measured.map((figure) => `${describe(figure)}\n    commit ${commit}\n`).join("\n")}\n`);
    } catch (error) {
      const failure = `${name}: could not be measured: ${error instanceof Error ? error.message : String(error)}`;
      failures.push(failure);
      process.stdout.write(`${failure}\n\n`);
    }
  }
  const used = bench.used();
  if (used !== undefined) await leaveCluster(used);
  mkdirSync(join(repositoryRoot, "build"), { recursive: true });
  const report = { commit, machine, began, ended: new Date().toISOString(), figures, failures };
  writeFileSync(join(repositoryRoot, "build", "bench.json"), `${JSON.stringify(report, null, 2)}\n`);
  process.stdout.write(summary(figures, failures));
  return failures.length === 0 ? 0 : 1;
}

function summary(figures: readonly Judged[], failures: readonly string[]): string {
  const verdicts = figures.flatMap((figure) => figure.verdicts.map((verdict) => ({ name: figure.name, ...verdict })));
  const missed = verdicts.filter(({ met }) => !met).map(({ name, target }) => `${name} (${target})`);
  const head = `${figures.length} figures, ${verdicts.length} targets, ${verdicts.length - missed.length} met`;
  const tail = missed.length === 0 ? "" : `; missed: ${missed.join(", ")}`;
  return `${head}${tail}${failures.length === 0 ? "" : `; ${failures.length} could not be measured`}\n`;
}

process.exit(await main());
