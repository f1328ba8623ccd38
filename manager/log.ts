import pino from "pino";

/** Structured logs: a constant message and fields. No secret, no SQL and no message of an executor is ever a field. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** JSON lines on standard output, written at once, so that nothing is lost when the process is killed. */
export function jsonLog(level: LogLevel): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pino.destination({ fd: 1, sync: true }),
  );
}

/** What of an error a log may hold: its code where it has one, else its name and message. */
export function errorFields(error: unknown): object {
  if (error instanceof Error) {
    const code = (error as { code?: unknown }).code;
    return {
      error: error.name,
      code: typeof code === "string" ? code : undefined,
      detail: error.message.slice(0, 1_000),
    };
  }
  return { error: "unknown" };
}
