/** Durations as Go writes and reads them, because that is what the API's duration strings are. */
import * as v from "valibot";
import { kube } from "./meta.ts";

const UNIT_NS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
};
const NS_PER_MS = 1e6;
const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/gy;

/**
 * Reads a Go duration string (`time.ParseDuration`, without a sign).
 * @returns milliseconds, or undefined when the text is none
 */
export function parseDurationMs(text: string): number | undefined {
  if (text === "0") return 0;
  let ns = 0;
  let end = 0;
  for (const part of text.matchAll(PART)) {
    ns += Number(part[1]) * (UNIT_NS[part[2] ?? ""] ?? Number.NaN);
    end = (part.index ?? 0) + part[0].length;
  }
  return end === text.length && end > 0 ? Math.round(ns) / NS_PER_MS : undefined;
}

/**
 * The milliseconds of a duration the API server has admitted.
 * @throws RangeError when the text is no duration: the object never met our schema
 */
export function durationMs(text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined) throw new RangeError("a duration of the resource is no Go duration such as 30s or 5m");
  return ms;
}

/**
 * Writes a duration as Go's `Duration.String()` does (`5m` is `5m0s`), the spelling that goes into fingerprints.
 * @param ms milliseconds, not negative
 */
export function formatGoDuration(ms: number): string {
  const ns = Math.round(ms * NS_PER_MS);
  if (ns === 0) return "0s";
  if (ns < 1e3) return `${ns}ns`;
  if (ns < 1e6) return `${ns / 1e3}µs`;
  if (ns < 1e9) return `${ns / 1e6}ms`;
  const hours = Math.floor(ns / 3600e9);
  const minutes = Math.floor((ns % 3600e9) / 60e9);
  const seconds = `${(ns % 60e9) / 1e9}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}

/** A duration field between two bounds, both written as the API writes them. */
export function duration(min: string, max: string) {
  const [low, high] = [durationMs(min), durationMs(max)];
  return v.pipe(
    v.string(),
    v.maxLength(32),
    v.regex(
      /^([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*$/,
    ),
    v.check((text) => {
      const ms = parseDurationMs(text);
      return ms !== undefined && ms >= low && ms <= high;
    }, `must be a duration from ${min} to ${max}`),
    kube<string>({
      rules: [
        {
          rule: `duration(self) >= duration('${min}') && duration(self) <= duration('${max}')`,
          message: `must be a duration from ${min} to ${max}`,
        },
      ],
    }),
  );
}
