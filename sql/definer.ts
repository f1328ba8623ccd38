import type { Findings } from "./findings.ts";
import { child, type Tree, text } from "./tree.ts";

/** A view that stops running with its caller's rights runs with its owner's. */
export function securityInvoker(option: Tree, found: Findings, reset = false): void {
  if (text(option, "defname").toLowerCase() !== "security_invoker") return;
  if (reset || !switchedOn(option["arg"])) found.privilege("SecurityDefiner", "a view runs with its owner's rights");
}

function switchedOn(value: unknown): boolean {
  if (value === undefined) return true;
  return /"(?:sval|boolval|ival)":(?:"(?:true|on|yes|1|t|y)"|true\b|1\b)/i.test(JSON.stringify(value));
}

/** SECURITY DEFINER lets a routine's callers act with its owner's rights. */
export function securityDefiner(option: Tree, found: Findings): void {
  if (text(option, "defname") !== "security") return;
  if (child(child(option, "arg"), "Boolean")["boolval"] === true) {
    found.privilege("SecurityDefiner", "a routine runs with its owner's rights");
  }
}
