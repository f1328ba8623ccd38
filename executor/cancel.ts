import { Canceled, EXIT } from "./contract.ts";

/** The stop request of a command: set once by SIGTERM or SIGINT, never unset. */
export interface Stop {
  readonly signal: AbortSignal;
  /** Throws {@link Canceled} once a stop was requested. */
  check(): void;
  /** 143 or 130 after a stop, whatever the command reached. */
  exitCode(otherwise: number): number;
  /** Takes the signal handlers away again. */
  dispose(): void;
}

/**
 * Listens for SIGTERM and SIGINT. The first asks the command to cancel its statement and to report; a second one ends the
 * process at once, as the reference does.
 */
export function listenForStop(): Stop {
  const controller = new AbortController();
  let code: number | undefined;
  const on = (exit: number) => (): void => {
    if (code !== undefined) process.exit(exit);
    code = exit;
    process.stderr.write("stopping: the running statement is cancelled\n");
    controller.abort();
  };
  const onTerm = on(EXIT.terminated);
  const onInt = on(EXIT.interrupted);
  process.on("SIGTERM", onTerm);
  process.on("SIGINT", onInt);
  return {
    signal: controller.signal,
    check: () => {
      if (controller.signal.aborted) throw new Canceled();
    },
    exitCode: (otherwise) => code ?? otherwise,
    dispose: () => {
      process.off("SIGTERM", onTerm);
      process.off("SIGINT", onInt);
    },
  };
}
