import { pino } from "pino";

/** What a part that talks to the API server writes down: fields and a constant message. */
export type Log = Pick<ReturnType<typeof pino>, "info" | "warn" | "error">;

/**
 * JSON lines on standard output, written at once, in the manager's form. Entered by this file's name and not by the front
 * door: the plugin writes no log, and need not load what does.
 */
export function jsonLog(): Log {
  return pino(
    { base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
    pino.destination({ fd: 1, sync: true }),
  );
}
