import { readFileSync, writeFileSync } from "node:fs";
import { mustRun, runCommand } from "../command.ts";
import { packetRuleRemoval } from "./leftovers.ts";
import { NETWORK } from "./settings.ts";

/**
 * Makes the bridge that carries the node's address, and lets the kernel route between Pods and Services.
 * Only this machine's own addresses are involved; no route to the outside is made.
 */
export async function makeBridge(): Promise<void> {
  if ((await runCommand("ip", ["link", "show", "dev", NETWORK.bridge])).code !== 0) {
    await mustRun("ip", ["link", "add", "name", NETWORK.bridge, "type", "bridge"]);
  }
  const address = `${NETWORK.nodeAddress}/${NETWORK.podPrefixBits}`;
  await mustRun("ip", ["addr", "replace", address, "dev", NETWORK.bridge]);
  await mustRun("ip", ["link", "set", "dev", NETWORK.bridge, "up"]);
  // A bridge without ports is down for the kernel, and its address would not be usable before the first Pod.
  setKernelValue("net/ipv4/ip_forward", "1");
  // Packets between two Pods of the bridge must pass the packet rules, else Service addresses do not work among them.
  setKernelValue("net/bridge/bridge-nf-call-iptables", "1");
}

export async function removeBridge(): Promise<void> {
  if ((await runCommand("ip", ["link", "show", "dev", NETWORK.bridge])).code !== 0) return;
  await mustRun("ip", ["link", "delete", "dev", NETWORK.bridge]);
}

/** Removes the packet rules of Services and of the Pod network, for both address families. */
export async function removePacketRules(): Promise<void> {
  for (const family of ["iptables", "ip6tables"]) {
    const saved = await runCommand(`${family}-save`, []);
    if (saved.code !== 0) continue;
    const removal = packetRuleRemoval(saved.stdout, NETWORK.cniName);
    if (removal) await mustRun(`${family}-restore`, ["--noflush"], { input: removal });
  }
}

function setKernelValue(name: string, value: string): void {
  const path = `/proc/sys/${name}`;
  try {
    if (readFileSync(path, "utf8").trim() !== value) writeFileSync(path, value);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${path} must be ${value} for Pods to reach each other, and cannot be set: ${reason}`);
  }
}
