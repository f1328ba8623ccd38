import { ENV } from "../workload/environment.ts";
import type { Env } from "./env.ts";
import { Failed } from "./failure.ts";

/**
 * The server must be of the major its claim names, because the scratch server beside it is.
 * @throws Failed `server_version_changed`; a new claim then brings the right scratch server
 */
export function expectMajor(env: Env, server: { serverVersion?: string; serverMajor?: number }): void {
  const expected = env[ENV.expectedServerMajor] ?? "";
  if (expected === "" || server.serverMajor === undefined || String(server.serverMajor) === expected) return;
  throw new Failed(
    "server_version_changed",
    `The database server is of major version ${server.serverMajor} and was ${expected} when this operation was planned. It is read again.`,
    server,
  );
}
