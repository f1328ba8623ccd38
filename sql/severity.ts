import { SEVERITIES, type Severity } from "../crds/common.ts";

export { SEVERITIES, type Severity };

/** @returns the stronger of two severities: a classification only ever raises. */
export function strongerSeverity(a: Severity, b: Severity): Severity {
  return SEVERITIES.indexOf(a) >= SEVERITIES.indexOf(b) ? a : b;
}
