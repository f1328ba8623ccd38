/** Text for a terminal: fields, tables, escapes and colour. */
import pc from "picocolors";
import type { Io } from "./io.ts";

export type Colors = ReturnType<typeof pc.createColors>;

/** Colour only on a terminal and without NO_COLOR. */
export function colorsOf(io: Io): Colors {
  const wanted = io.outputIsTerminal && (io.env["NO_COLOR"] ?? "") === "" && io.env["TERM"] !== "dumb";
  return pc.createColors(wanted);
}

const FIELD_WIDTH = 16;

/** `Name:` padded to 16 columns, then the value; absent and empty values give no line. */
export function field(name: string, value: string | number | undefined): string[] {
  if (value === undefined || value === "") return [];
  const label = `${name}:`;
  return [`${label.length < FIELD_WIDTH ? label.padEnd(FIELD_WIDTH) : `${label} `}${value}`];
}

/** Columns padded to their widest cell, two spaces between them, nothing at a line's end. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** Control, direction-changing and invisible characters, which could make a terminal show something else than what runs. */
const DECEIVING = /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** The text with every character that could deceive its reader written as `\u{…}`. */
export function visible(text: string): string {
  return text.replace(DECEIVING, (c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`);
}

/** The same on one line. */
export const visibleLine = (text: string): string => visible(text).replaceAll("\n", " ");

/** On one line, with its end. */
export const sentence = (text: string): string => visibleLine(text).replace(/([^.!?])$/, "$1.");

/** An instant in UTC to the second, as every instant is printed. */
export function instant(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? visible(text) : `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** How long ago or how long still, coarse: `5s`, `3m`, `2h`, `4d`. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)}h` : `${Math.round(seconds / 86_400)}d`;
}
