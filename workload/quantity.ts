/**
 * Resource quantities in the canonical form the API server stores (`0.5` → `500m`, `1024Mi` → `1Gi`), so that a template
 * we build and the one read back are equal. Rules: k8s.io/apimachinery, api/resource, Quantity.CanonicalizeBytes.
 */
const DECIMAL = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"] as const;
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] as const;
const NANO = 1_000_000_000n;

const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d{1,2})?$/;

interface Parsed {
  readonly nano: bigint;
  readonly form: "decimal" | "binary" | "exponent";
}

/** The canonical spelling; undefined when the text is no quantity that Kubernetes accepts. */
export function canonicalQuantity(value: string | number): string | undefined {
  const parsed = parseQuantity(String(value));
  if (parsed === undefined) return undefined;
  if (parsed.nano === 0n) return "0";
  const sign = parsed.nano < 0n ? "-" : "";
  const nano = parsed.nano < 0n ? -parsed.nano : parsed.nano;
  // A binary quantity that is no whole number of Ki is written in decimal form, as the API server does.
  if (parsed.form === "binary" && nano >= 1024n * NANO && nano % NANO === 0n) return sign + binary(nano / NANO);
  return sign + decimal(nano, parsed.form === "exponent");
}

function parseQuantity(text: string): Parsed | undefined {
  const match = QUANTITY.exec(text);
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = "", suffix = ""] = match;
  if (whole === "" && fraction === "") return undefined;
  const scale = scaleOf(suffix);
  const digits = BigInt(whole + fraction) * scale.multiplier * NANO;
  const divisor = 10n ** BigInt(fraction.length + scale.down);
  // Below a billionth Kubernetes rounds up, away from zero.
  const nano = (digits + divisor - 1n) / divisor;
  return { nano: sign === "-" ? -nano : nano, form: scale.form };
}

function scaleOf(suffix: string): { multiplier: bigint; down: number; form: Parsed["form"] } {
  const binaryAt = suffix === "" ? -1 : BINARY.indexOf(suffix as (typeof BINARY)[number]);
  if (binaryAt > 0) return { multiplier: 1024n ** BigInt(binaryAt), down: 0, form: "binary" };
  const exponent = /^[eE]([+-]?\d+)$/.exec(suffix);
  const power = exponent === null ? 3 * (DECIMAL.indexOf(suffix as (typeof DECIMAL)[number]) - 3) : Number(exponent[1]);
  const form = exponent === null ? "decimal" : "exponent";
  return power >= 0 ? { multiplier: 10n ** BigInt(power), down: 0, form } : { multiplier: 1n, down: -power, form };
}

function binary(value: bigint): string {
  let rest = value;
  let at = 0;
  while (rest % 1024n === 0n && at < BINARY.length - 1) {
    rest /= 1024n;
    at += 1;
  }
  return `${rest}${BINARY[at]}`;
}

function decimal(nano: bigint, exponent: boolean): string {
  let rest = nano;
  let at = 0;
  while (rest % 1000n === 0n && at < DECIMAL.length - 1) {
    rest /= 1000n;
    at += 1;
  }
  if (!exponent || DECIMAL[at] === "") return `${rest}${DECIMAL[at]}`;
  return `${rest}e${3 * (at - 3)}`;
}
