import { execFile } from "node:child_process";
import { Refused } from "../contract.ts";
import { DUMP_TIMEOUT_MS, MAX_DUMP_BYTES } from "../limits.ts";
import type { Session } from "./session.ts";
import type { Target } from "./url.ts";

/** Fills a clone from `pg_dump --schema-only` of the target; the password travels in the child's environment, never in argv. */
export function fillByDump(binary: string, target: Target, signal: AbortSignal): (clone: Session) => Promise<void> {
  return async (clone) => {
    const sql = await dump(binary, target, signal);
    await clone.query(sql);
    await clone.query("RESET ALL");
  };
}

function dump(binary: string, target: Target, signal: AbortSignal): Promise<string> {
  const args = [
    "--schema-only",
    "-h",
    target.host,
    "-p",
    String(target.port),
    "-U",
    target.user,
    "--no-password",
    target.database,
  ];
  const env = {
    PATH: process.env["PATH"] ?? "",
    PGSSLMODE: target.sslMode,
    ...(target.password === undefined ? {} : { PGPASSWORD: target.password }),
    ...(target.sslRootCert === undefined ? {} : { PGSSLROOTCERT: target.sslRootCert }),
  };
  return new Promise((resolve, reject) => {
    execFile(binary, args, { env, signal, timeout: DUMP_TIMEOUT_MS, maxBuffer: MAX_DUMP_BYTES }, (error, stdout) => {
      if (error === null) resolve(withoutMetaCommands(stdout));
      else
        reject(
          new Refused(
            "clone_not_reproduced",
            "pg_dump could not read the target's structure; is it of the target's major version and may the role read every schema?",
          ),
        );
    });
  });
}

/** Recent minor versions frame a dump in psql's \restrict and \unrestrict. The public schema is there already. */
function withoutMetaCommands(sql: string): string {
  return sql
    .split("\n")
    .filter((line) => !/^\\(un)?restrict /.test(line) && line !== "CREATE SCHEMA public;")
    .join("\n");
}
