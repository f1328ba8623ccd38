/** A measured figure: its value, the control of the same run, and what it is held to. Pure. */

export type Unit = "ms" | "s" | "MiB" | "MB" | "per minute" | "ratio";

export interface Control {
  /** What was done instead, as a phrase. */
  readonly what: string;
  readonly value: number;
}

/** A bound of the value, or of value ÷ control. */
export interface Target {
  readonly of: "value" | "ratio";
  /** Which control, from 1; the first where none is named. */
  readonly control?: number;
  readonly atMost?: number;
  readonly atLeast?: number;
}

export interface Figure {
  readonly name: string;
  /** What was measured, as a phrase. */
  readonly what: string;
  readonly unit: Unit;
  readonly value: number;
  /** In the figure's own unit. */
  readonly controls: readonly Control[];
  readonly targets: readonly Target[];
  /** What helps to read the value; printed under it. */
  readonly notes?: readonly string[];
}

export interface Judged extends Figure {
  /** value ÷ control, one for each control. */
  readonly ratios: readonly number[];
  readonly verdicts: readonly { readonly target: string; readonly met: boolean }[];
}

/** Adds the ratios and whether each target is met. */
export function judge(figure: Figure): Judged {
  const ratios = figure.controls.map((control) => figure.value / control.value);
  const ratioOf = ({ control = 1 }: Target) => ratios[control - 1];
  return { ...figure, ratios, verdicts: figure.targets.map((target) => verdictOf(target, figure, ratioOf(target))) };
}

function verdictOf(target: Target, figure: Figure, ratio: number | undefined): { target: string; met: boolean } {
  const subject = target.of === "value" ? figure.value : (ratio ?? Number.NaN);
  const which = target.control === undefined ? "its control" : `its control ${target.control}`;
  const unit = target.of === "value" ? ` ${figure.unit}` : ` × ${which}`;
  const met =
    !Number.isNaN(subject) &&
    (target.atMost === undefined || subject <= target.atMost) &&
    (target.atLeast === undefined || subject >= target.atLeast);
  const bound = target.atMost === undefined ? `≥ ${target.atLeast}` : `≤ ${target.atMost}`;
  return { target: `${bound}${unit}`, met };
}

/** The lines a person reads. */
export function describe(figure: Judged): string {
  const lines = [`${figure.name}: ${number(figure.value)} ${figure.unit} (${figure.what})`];
  for (const [index, control] of figure.controls.entries()) {
    const ratio = (figure.ratios[index] ?? Number.NaN).toFixed(2);
    lines.push(`    control ${number(control.value)} ${figure.unit} (${control.what}); ratio ${ratio}`);
  }
  for (const { target, met } of figure.verdicts) lines.push(`    target ${target}: ${met ? "met" : "MISSED"}`);
  for (const note of figure.notes ?? []) lines.push(`    ${note}`);
  return lines.join("\n");
}

/** Three significant digits, and no exponent for what a machine of today gives. */
export function number(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** The middle one of the sorted values; of an even number the mean of the two. @throws on none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[sorted.length >> 1];
  const lower = sorted[(sorted.length - 1) >> 1];
  if (upper === undefined || lower === undefined) throw new Error("no value was measured");
  return (upper + lower) / 2;
}

/** The value below which a part of all values lies, by nearest rank. @throws on none. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(sorted.length * part) - 1))];
  if (value === undefined) throw new Error("no value was measured");
  return value;
}

export const MIB = 1024 * 1024;
export const MB = 1_000_000;
