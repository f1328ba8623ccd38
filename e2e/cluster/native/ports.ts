import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { API_ONLY_PORTS, type Layout, type Ports } from "./settings.ts";

/**
 * The ports of an API server alone: those it was started with, so that several can run side by side on one machine,
 * each in its own directory. A whole node's ports are fixed; there can be only one.
 */
export function recordedPorts(layout: Layout): Ports {
  const file = portsFile(layout);
  if (!existsSync(file)) return API_ONLY_PORTS;
  return { ...API_ONLY_PORTS, ...(JSON.parse(readFileSync(file, "utf8")) as Partial<Ports>) };
}

/** Asks the system for ports that are free now, and records them. */
export async function chooseFreePorts(layout: Layout): Promise<Ports> {
  const names = ["etcdClient", "etcdPeer", "api", "controllerManager"] as const;
  const servers = names.map(() => createServer());
  const chosen: Partial<Ports> = {};
  try {
    // All are held at once, so that none is given twice.
    for (const [index, server] of servers.entries()) {
      const name = names[index];
      if (name) chosen[name] = await listen(server);
    }
  } finally {
    for (const server of servers) server.close();
  }
  mkdirSync(layout.config, { recursive: true });
  writeFileSync(portsFile(layout), `${JSON.stringify(chosen)}\n`);
  return { ...API_ONLY_PORTS, ...chosen };
}

function listen(server: ReturnType<typeof createServer>): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

function portsFile(layout: Layout): string {
  return join(layout.config, "ports.json");
}
