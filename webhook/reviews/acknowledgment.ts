import { parsePtahMigrationRunAcknowledgment } from "../../crds/fields.ts";
import { annotation } from "../../crds/names.ts";
import type { PtahMigration } from "../../crds/ptahmigration.ts";
import type { Custom } from "../../kube/index.ts";
import type { WebhookConfig } from "../config.ts";
import type { Reads } from "../reads.ts";
import { ALLOWED, deny, firstOf, type ReviewRequest, type Verdict } from "../review.ts";
import { writtenByNewer } from "./contract.ts";
import { ACKNOWLEDGMENT, keepsWord, stampProblem } from "./person-stamp.ts";

/**
 * Judges an acknowledgment as it is written: it names the run that nothing has settled, by the operation id that only that
 * run ever had (and with it the plan and Job of the record). A deleting migration may be acknowledged. Whether somebody may
 * still write is not asked: the manager ends the record once nobody may (lifecycle, settle).
 */
export async function reviewAcknowledgment(
  request: ReviewRequest,
  reads: Reads,
  config: WebhookConfig,
  now: Date,
): Promise<Verdict> {
  if (request.operation === "UPDATE") {
    const changed = keepsWord(request, ACKNOWLEDGMENT);
    return changed === undefined ? ALLOWED : deny(changed, 422);
  }
  const parsed = parsePtahMigrationRunAcknowledgment(request.object);
  if (!parsed.ok) return deny(parsed.message, 422);
  const unstamped = stampProblem(request, now, ACKNOWLEDGMENT);
  if (unstamped !== undefined) return deny(unstamped);
  const { migrationRef, operationID } = parsed.value.spec;
  const migration = await reads.migration(request.namespace, migrationRef.name);
  if (migration === undefined)
    return deny(`PtahMigration "${migrationRef.name}" does not exist; check its name and the namespace`, 404);
  const wrong = firstOf([
    () =>
      migration.metadata.uid === migrationRef.uid
        ? undefined
        : `PtahMigration "${migrationRef.name}" was replaced by another of the same name; read it again`,
    () => writtenByNewer(migration, config.stateVersion),
    () => runProblem(migration, operationID),
  ]);
  return wrong === undefined ? ALLOWED : deny(wrong);
}

function runProblem({ status, metadata }: Custom<PtahMigration>, operationID: string): string | undefined {
  const record = status?.unresolvedRun;
  if (record?.operationID === operationID) return undefined;
  if (status?.activeOperation?.id === operationID) {
    return "this run is still under way and may yet end by itself; acknowledge it only once status.unresolvedRun names it";
  }
  if (status?.resolvedRun?.operationID === operationID) {
    return `this run is settled already (status.resolvedRun: ${status.resolvedRun.resolution}); there is nothing left to acknowledge`;
  }
  if (record !== undefined) {
    return "this is another run than the one nobody has accounted for; see status.unresolvedRun, establish what that run did, and name its operationID";
  }
  return metadata.annotations?.[annotation.unsettledApply] === undefined
    ? "no run of this migration is unresolved, so there is nothing to acknowledge"
    : "the operator has not put this run into status.unresolvedRun yet; try again once it is there";
}
