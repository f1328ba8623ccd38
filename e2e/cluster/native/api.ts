import { readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { LIMITS } from "../limits.ts";
import type { Layout } from "./settings.ts";

export interface ApiAnswer {
  status: number;
  body: string;
}

/** One request to the cluster's API server as its administrator. */
export function callApi(
  layout: Layout,
  address: string,
  port: number,
  path: string,
  change?: ApiChange,
): Promise<ApiAnswer> {
  return new Promise((resolve, reject) => {
    const call = request(
      {
        host: address,
        port,
        path,
        method: change?.method ?? "GET",
        headers: change ? { "content-type": change.contentType, "content-length": Buffer.byteLength(change.body) } : {},
        ca: readFileSync(join(layout.pki, "ca.crt")),
        cert: readFileSync(join(layout.pki, "admin.crt")),
        key: readFileSync(join(layout.pki, "admin.key")),
        timeout: LIMITS.probeMs,
        agent: false,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") }),
        );
      },
    );
    call.on("timeout", () => call.destroy(new Error("the API server did not answer in time")));
    call.on("error", reject);
    call.end(change?.body);
  });
}

export interface ApiChange {
  method: "POST" | "PATCH";
  contentType: string;
  body: string;
}

export async function isApiReady(layout: Layout, address: string, port: number): Promise<boolean> {
  try {
    return (await callApi(layout, address, port, "/readyz")).status === 200;
  } catch {
    return false;
  }
}

/** Whether the node object says Ready; false while there is no such node. */
export async function isNodeReady(layout: Layout, address: string, port: number, node: string): Promise<boolean> {
  const answer = await callApi(layout, address, port, `/api/v1/nodes/${node}`);
  if (answer.status !== 200) return false;
  const parsed = JSON.parse(answer.body) as { status?: { conditions?: { type: string; status: string }[] } };
  return parsed.status?.conditions?.some((one) => one.type === "Ready" && one.status === "True") ?? false;
}
