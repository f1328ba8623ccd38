import { execFileSync } from "node:child_process";
import pg from "pg";
import type { Stop } from "../cancel.ts";
import { type LocalServer, startServer } from "./server.ts";

/** A server for database tests: a container where a Docker daemon answers, a local server otherwise. */
export interface TestServer {
  readonly kind: "container" | "local";
  url(database: string): string;
  stop(): Promise<void>;
}

/** Image of the container variant; any official PostgreSQL image serves. */
const IMAGE = process.env["PTAH_TEST_POSTGRES_IMAGE"] ?? "postgres:17";
const DOCKER_PROBE_TIMEOUT_MS = 5_000;

function dockerHasImage(): boolean {
  try {
    execFileSync("docker", ["image", "inspect", IMAGE], { stdio: "ignore", timeout: DOCKER_PROBE_TIMEOUT_MS });
    return true;
  } catch {
    return false;
  }
}

async function startContainer(): Promise<TestServer> {
  const { GenericContainer, Wait } = await import("testcontainers");
  const container = await new GenericContainer(IMAGE)
    .withEnvironment({ POSTGRES_HOST_AUTH_METHOD: "trust" })
    .withExposedPorts(5432)
    .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/, 2))
    .start();
  const at = `${container.getHost()}:${container.getMappedPort(5432)}`;
  return {
    kind: "container",
    url: (database) => `postgres://postgres@${at}/${database}?sslmode=disable`,
    stop: async () => {
      await container.stop();
    },
  };
}

async function startLocal(): Promise<TestServer> {
  const server: LocalServer = await startServer();
  return { kind: "local", url: (database) => server.url(database), stop: server.stop };
}

/** Starts a server. The daemon must have the image already: a test does not depend on a registry. */
export function testServer(): Promise<TestServer> {
  return dockerHasImage() ? startContainer() : startLocal();
}

/** Runs SQL on its own connection. @returns the rows of the last statement */
export async function runSql(url: string, sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const result = (await client.query(sql)) as pg.QueryResult | pg.QueryResult[];
    return (Array.isArray(result) ? result.at(-1) : result)?.rows ?? [];
  } finally {
    await client.end();
  }
}

/** A new database with this content. @returns its URL */
export async function database(server: TestServer, name: string, sql: string): Promise<string> {
  await runSql(server.url("postgres"), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  await runSql(server.url("postgres"), `CREATE DATABASE ${name} TEMPLATE template0`);
  await runSql(server.url(name), sql);
  return server.url(name);
}

/** Waits for a condition with a deadline. */
export async function until(what: string, condition: () => Promise<boolean>, timeoutMs = 20_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`timed out waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** What a schema command that runs in the test's own process is given beside its input: ample times, and nobody who stops it. */
export const TIMING = { connectTimeoutMs: 10_000, lockTimeoutMs: 10_000, expectedMajor: undefined };
export const NEVER_STOPPED: Stop = {
  signal: new AbortController().signal,
  check: () => undefined,
  exitCode: (code) => code,
  dispose: () => undefined,
};
