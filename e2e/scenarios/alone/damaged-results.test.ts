import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { buildWrappedPtah } from "../../cluster/images/catalog.ts";
import { openCluster } from "../../cluster/open.ts";
import { cacheDir } from "../../cluster/paths.ts";
import { createProgress } from "../../cluster/progress.ts";
import { addDatabase, type Database, secretObject, startDatabase } from "../../lab/database.ts";
import { LOGGED, statementsOn } from "../../lab/evidence.ts";
import { type HostManagers, takeOver } from "../../lab/host-manager.ts";
import { freshNamespace, LAB_LIMITS, type Lab, openLab } from "../../lab/lab.ts";
import { approve, conditionOf, declareResource, waitForCondition } from "../../lab/subject.ts";

/**
 * The account of an operation comes out of its Pod cut, doubled, of another operation, or with one byte flipped. It is the
 * shipped executable that runs; a wrapper around it damages what it printed, as the URL's application_name asks.
 */

const NAMESPACE = "damaged-results";
const FILES = { "orders.sql": "CREATE TABLE orders (id bigint PRIMARY KEY);" };
const at = (name: string) => ({ namespace: NAMESPACE, name });

const WRAPPER = `#!/bin/sh
itself=/usr/local/bin/ptah-itself
case "$* $PTAH_DB_URL" in
  "runner "*"--operation apply"*application_name=apply-*|"runner "*"--operation plan"*application_name=plan-*) ;;
  *) exec "$itself" "$@" ;;
esac
PATH=/bin:$PATH
out=$PWD/out.$$
"$itself" "$@" > "$out"
code=$?
size=$(busybox wc -c < "$out")
half=$((size / 2))
case "$PTAH_DB_URL" in
  *-cut*) busybox head -c "$half" "$out" ;;
  *-doubled*) busybox cat "$out" "$out" ;;
  *-flipped*)
    byte=$(busybox head -c "$((half + 1))" "$out" | busybox tail -c 1)
    other=x; [ "$byte" = x ] && other=y
    busybox head -c "$half" "$out"; printf %s "$other"; busybox tail -c "+$((half + 2))" "$out" ;;
  *-foreign*)
    payload=$(busybox sed -n '/^PTAH_RUNNER_RESULT_V1 /{n;p;}' "$out")
    case "$payload" in gzip:*) payload=$(printf %s "\${payload#gzip:}" | busybox base64 -d | busybox gunzip) ;; esac
    payload=$(printf %s "$payload" | busybox sed "s/$PTAH_OPERATION_ID/another-operation/")
    sum=$(printf %s "$payload" | busybox sha256sum | busybox cut -d ' ' -f 1)
    printf 'PTAH_RUNNER_RESULT_V1 %s %s\\n%s\\nPTAH_RUNNER_RESULT_END_V1\\n' "\${#payload}" "$sum" "$payload" ;;
esac
exit "$code"
`;

let lab: Lab;
let server: Database;
let managers: HostManagers;

async function declare(name: string): Promise<void> {
  const database = await addDatabase(lab, server, name);
  await lab.apply(secretObject(NAMESPACE, database.secret, `${database.url}&application_name=${name}`));
  await declareResource(lab, { ...at(name), files: FILES, secret: database.secret });
}

const created = (name: string) => statementsOn(server, /CREATE TABLE/i, name);
const DAMAGED = ["apply-cut", "apply-flipped", "apply-foreign"];

beforeAll(async () => {
  const progress = createProgress();
  const image = await buildWrappedPtah({ cacheDir: cacheDir(), progress }, WRAPPER);
  await (await openCluster({ progress })).loadImages([image]);
  lab = await openLab();
  await freshNamespace(lab, NAMESPACE);
  server = await startDatabase(lab, { namespace: NAMESPACE, options: LOGGED });
  managers = await takeOver(lab, { namespace: NAMESPACE, operationImage: image.reference });
  managers.start();
  for (const name of [...DAMAGED, "apply-doubled", "plan-flipped"]) await declare(name);
  await Promise.all([...DAMAGED, "apply-doubled"].map((name) => approve(lab, at(name), name)));
}, 600_000);

afterAll(async () => {
  await managers.close();
}, LAB_LIMITS.setUpMs);

describe("an Apply whose account is damaged", () => {
  test.each(DAMAGED)("%s: it is unknown, is read afresh, and never runs again", async (name) => {
    const proved = await waitForCondition(lab, at(name), {
      type: "InSync",
      status: "True",
      reason: "ConvergedAfterUnknownOutcome",
    });
    expect(proved.status.journal.entries.map((entry: { type: string }) => entry.type)).toContain("ApplyFinished");
    expect(conditionOf(proved, "Ready")).toMatchObject({ status: "True" });
    expect(await created(name)).toHaveLength(1);
  });
});

test("the same account twice is one account", async () => {
  await waitForCondition(lab, at("apply-doubled"), { type: "InSync", status: "True", reason: "ScopedConverged" });
  expect(await created("apply-doubled")).toHaveLength(1);
});

test("a Plan whose account is damaged publishes nothing, is said, and is tried again", async () => {
  const failed = await waitForCondition(lab, at("plan-flipped"), { type: "ReconciliationFailed", status: "True" });
  expect(conditionOf(failed, "ReconciliationFailed")?.message).toContain("tried again");
  const plans = await lab.list("ptahschemaplan", NAMESPACE);
  expect(plans.filter((plan) => plan.spec.schemaRef.name === "plan-flipped")).toEqual([]);
  expect(await created("plan-flipped")).toEqual([]);
});
