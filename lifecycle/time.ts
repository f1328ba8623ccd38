/** Instants: RFC 3339 text in status, milliseconds in decisions. */

/** Milliseconds of a stored instant; NaN never compares as passed or ahead, so an unreadable one holds nothing back. */
export function msOf(instant: string): number {
  return Date.parse(instant);
}

/** RFC 3339 text of an instant; whole seconds carry no fraction, as Kubernetes writes them. */
export function instantOf(ms: number): string {
  const text = new Date(ms).toISOString();
  return text.endsWith(".000Z") ? `${text.slice(0, -5)}Z` : text;
}

/** Whether a stored instant lies ahead; an absent one does not. */
export function ahead(instant: string | undefined, nowMs: number): boolean {
  return instant !== undefined && msOf(instant) > nowMs;
}

const RFC3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

/** Whether a text is an RFC 3339 instant. */
export function isInstant(text: string): boolean {
  return RFC3339.test(text) && !Number.isNaN(Date.parse(text));
}
