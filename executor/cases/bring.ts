/** The servers that this room's runs start, brought before any of them: two package managers at once would find each other's lock. */
import { bringServers } from "./mysql-flavor.ts";
import { bringServer } from "./server.ts";

/** Brings PostgreSQL, MariaDB and MySQL where they are not there yet. @throws where a package manager fails or passes its time */
export function bringEveryServer(): void {
  bringServer();
  bringServers();
}

if (import.meta.main) bringEveryServer();
