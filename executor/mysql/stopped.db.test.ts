import { afterAll, beforeAll, expect, test } from "bun:test";
import { createServer, connect as dial, type Server, type Socket } from "node:net";
import { type MysqlServer, runMysql, startMysqlServer } from "../cases/mysql-server.ts";
import { until } from "../cases/test-server.ts";
import { Canceled } from "../contract.ts";
import { connectMysql } from "./session.ts";
import { parseMysqlTarget } from "./url.ts";

let server: MysqlServer;

beforeAll(async () => {
  server = await startMysqlServer();
});

afterAll(async () => {
  await server.stop();
});

/** A line to the server that goes dead: both ends stay open, and nothing comes through any more. */
async function deadLine(): Promise<{ port: number; die: () => void; close: () => void }> {
  const sockets: Socket[] = [];
  let dead = false;
  const listening: Server = createServer((near) => {
    const far = dial(server.port, "127.0.0.1");
    sockets.push(near, far);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on("error", () => undefined);
      from.on("data", (bytes: Buffer) => {
        if (!dead) to.write(bytes);
      });
    }
  });
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  const address = listening.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    die: () => {
      dead = true;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      listening.close();
    },
  };
}

test("a server that answers nothing any more is not waited for once a stop is asked for", async () => {
  const line = await deadLine();
  const stop = new AbortController();
  const target = parseMysqlTarget(`mysql://root@127.0.0.1:${line.port}/mysql`, "url");
  const session = await connectMysql(target, { connectTimeoutMs: 5_000, signal: stop.signal, role: "the target" });
  const ended = session.send("DO SLEEP(600) /* dead line */").then(
    () => "answered",
    () => "given up",
  );
  await until("the statement to run", async () => (await running()) > 0, 5_000);
  line.die();
  stop.abort();
  expect(await ended).toBe("given up");
  expect(session.lost()).toBe(true);
  await session.end();
  line.close();
});

async function running(): Promise<number> {
  const sql = "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'DO SLEEP(600)%'";
  return (await runMysql(server.url("mysql"), sql)).length;
}

test("a peer that says nothing is left at once when a stop is asked for", async () => {
  const sockets: Socket[] = [];
  const silent: Server = createServer((socket) => void sockets.push(socket.on("error", () => undefined)));
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const address = silent.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const stop = new AbortController();
  const target = parseMysqlTarget(`mysql://root@127.0.0.1:${port}/mysql`, "url");
  const started = performance.now();
  const connecting = connectMysql(target, { connectTimeoutMs: 60_000, signal: stop.signal, role: "the target" });
  await until("the connection", async () => sockets.length > 0, 5_000);
  stop.abort();
  await expect(connecting).rejects.toBeInstanceOf(Canceled);
  expect(performance.now() - started).toBeLessThan(5_000);
  for (const socket of sockets) socket.destroy();
  silent.close();
});
