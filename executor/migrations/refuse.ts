import { Refused } from "../contract.ts";
import type { MigrationRefusal } from "./migration.ts";

/** A refusal of the directory or of a file on its way to the report. */
export function refusedBy(refusal: MigrationRefusal): Refused {
  const place = [refusal.path, refusal.line === undefined ? undefined : `line ${refusal.line}`, refusal.rule].filter(
    (part) => part !== undefined,
  );
  return new Refused(refusal.code, refusal.message, {
    ...(place.length === 0 ? {} : { objects: place }),
    ...(refusal.statement === undefined ? {} : { statement: refusal.statement }),
  });
}
