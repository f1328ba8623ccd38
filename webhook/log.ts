import { pino } from "pino";

export type Log = Pick<ReturnType<typeof pino>, "info" | "warn" | "error">;

/** JSON lines on standard output, written at once, in the manager's form. */
export function jsonLog(): Log {
  return pino(
    { base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
    pino.destination({ fd: 1, sync: true }),
  );
}
