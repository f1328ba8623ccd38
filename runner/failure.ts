import type { OperationResult } from "../workload/result.ts";

/** Why an operation ended in an error, on its way to the frame: a stable code and a sentence without secrets or SQL. */
export class Failed extends Error {
  readonly code: string;
  /** Fields of the result known at this point (a refusal, a server version). */
  readonly detail: Partial<OperationResult>;
  constructor(code: string, message: string, detail: Partial<OperationResult> = {}) {
    super(message);
    this.name = "Failed";
    this.code = code;
    this.detail = detail;
  }
}

/** A wrong flag or argument: nothing can be framed, a sentence on stderr and exit status 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}
