/** A whole node's addresses and ports are fixed, so that one machine has one cluster; whose it is stands in its processes. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { NODE_PORTS } from "./settings.ts";

/** The cluster of another directory that runs on this machine. */
export interface Holder {
  readonly pid: number;
  /** Where it keeps its state. */
  readonly directory: string;
}

export interface Started {
  readonly pid: number;
  readonly argv: readonly string[];
}

/** @param ownBin the directory of this cluster's own programs */
export function holderAmong(processes: Iterable<Started>, ownBin: string): Holder | undefined {
  for (const { pid, argv } of processes) {
    const [program = ""] = argv;
    if (!program.endsWith("/bin/kube-apiserver") || !argv.includes(`--secure-port=${NODE_PORTS.api}`)) continue;
    if (dirname(program) !== ownBin) return { pid, directory: dirname(dirname(program)) };
  }
  return undefined;
}

/** Whose cluster has this machine's addresses, where it is not our own. */
export const otherHolder = (ownBin: string): Holder | undefined => holderAmong(startedProcesses(), ownBin);

function* startedProcesses(): Generator<Started> {
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      yield { pid: Number(name), argv: readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0") };
    } catch {
      // It ended since the directory was read.
    }
  }
}

/** What a person is told who wants a cluster here, too. */
export const heldSentence = ({ pid, directory }: Holder): string =>
  `this machine has a cluster already, that of ${directory} (kube-apiserver, pid ${pid}), and both would use the same ` +
  "addresses; end it first, with make cluster-down in its checkout";
