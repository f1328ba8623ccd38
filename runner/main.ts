import { PATHS } from "../workload/environment.ts";
import { type OperationResult, WIRE_OPERATIONS, type WireOperation } from "../workload/result.ts";
import { apply } from "./apply.ts";
import { readBindings, readOperationID, requireCertificate, speaksOurProtocol } from "./bindings.ts";
import { createSupervisor, type Supervisor } from "./child.ts";
import { emit, emitProtocolMismatch, errorResult, openOutcome, writeTerminationLog } from "./emit.ts";
import type { Env } from "./env.ts";
import { Failed, UsageError } from "./failure.ts";
import { type Mode, readMode } from "./flags.ts";
import { history } from "./history.ts";
import { installTo } from "./install.ts";
import { migrationApply } from "./migration-apply.ts";
import { observe } from "./observe.ts";
import type { Body } from "./operation.ts";
import { plan } from "./plan.ts";
import { createRedactor } from "./redact.ts";
import { copySnapshot } from "./snapshot-copy.ts";

const USAGE = `usage: ptah runner OPERATION [flags]
Runs one operation in its Pod; its input is the Pod's environment, its result a frame on standard output.
Operations: ${WIRE_OPERATIONS.join(", ")}
  --ptah-binary FILE        the executor
  --max-result-bytes N      bound of the result
  --max-plan-bytes N        bound of a plan
  --termination-log FILE    where a sentence about the end goes
Alone: --install-to FILE (copies this executable), --snapshot-copy (copies the source)
`;

const OK = 0;
const USAGE_ERROR = 2;

const BODIES: Readonly<Record<WireOperation, Body>> = {
  observe,
  plan,
  apply,
  "migration-history": history,
  "migration-apply": migrationApply,
};

/**
 * The runner inside an operation Pod.
 * @param argv the arguments after `runner`
 * @returns exit status: 0 whenever a complete frame was written, also when the operation failed; 2 otherwise
 */
export async function main(argv: readonly string[]): Promise<number> {
  if (argv[0] === "--help" || argv[0] === "-h") {
    process.stdout.write(USAGE);
    return OK;
  }
  try {
    const mode = readMode(argv);
    switch (mode.kind) {
      case "install":
        installTo(mode.path);
        return OK;
      case "snapshot":
        return copy(process.env);
      case "operation":
        return await runOperation(mode, process.env);
    }
  } catch (error) {
    const text = error instanceof UsageError ? error.message : `the runner cannot go on (${codeOf(error)})`;
    process.stderr.write(`error: ${text}\n`);
    return USAGE_ERROR;
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException | undefined)?.code ?? "unknown error";

function copy(env: Env): number {
  try {
    copySnapshot(env);
    return OK;
  } catch (error) {
    const text = error instanceof Failed ? error.message : `The source snapshot cannot be copied (${codeOf(error)}).`;
    writeTerminationLog(PATHS.terminationLog, `${text}\n`);
    process.stderr.write(`error: ${text}\n`);
    return USAGE_ERROR;
  }
}

async function runOperation(mode: Extract<Mode, { kind: "operation" }>, env: Env): Promise<number> {
  const operationID = readOperationID(env);
  if (!speaksOurProtocol(env)) return emitProtocolMismatch(mode.operation, operationID) ? OK : USAGE_ERROR;
  const supervisor = createSupervisor(env);
  try {
    const result = await resultOf(mode, env, operationID, supervisor);
    return emit(result, mode.terminationLog) ? OK : USAGE_ERROR;
  } finally {
    supervisor.close();
  }
}

/** Runs the operation and turns whatever happened into its result; never throws. */
async function resultOf(
  mode: Extract<Mode, { kind: "operation" }>,
  env: Env,
  operationID: string,
  supervisor: Supervisor,
): Promise<OperationResult> {
  let known: { coordinationDigest?: string; targetIdentityDigest?: string } = {};
  const redactor = createRedactor(env);
  try {
    const bindings = readBindings(mode.operation, env, Date.now(), (learned) => {
      known = learned;
    });
    requireCertificate(env);
    const body = await BODIES[mode.operation]({
      env,
      bindings,
      supervisor,
      redactor,
      ptahBinary: mode.ptahBinary,
      resultBytesMax: mode.resultBytesMax,
      planBytesMax: mode.planBytesMax,
      workDirectory: env["TMPDIR"] || PATHS.work,
      nowMs: Date.now,
    });
    const { error: _none, ...base } = errorResult(mode.operation, operationID, { code: "", message: "" });
    return { ...base, ...known, ...childOf(supervisor), ...body };
  } catch (error) {
    const failed =
      error instanceof Failed
        ? error
        : new Failed("internal_error", `The runner failed (${codeOf(error)}); this is a defect of the operator.`);
    const message = redactor.text(failed.message);
    return {
      ...errorResult(mode.operation, operationID, { code: failed.code, message }),
      ...known,
      ...openOutcome(mode.operation, supervisor.started() > 0),
      ...failed.detail,
      ...childOf(supervisor),
    };
  }
}

const childOf = (supervisor: Supervisor): { childStarted: boolean; childExitCode: number } => ({
  childStarted: supervisor.started() > 0,
  childExitCode: supervisor.lastExitCode(),
});
