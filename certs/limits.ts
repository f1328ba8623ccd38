const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Named bounds and defaults of certificate rotation (the defaults follow the reference's rotator, operations A9). */
export const limits = {
  /** How often everything is looked at; a lost bundle makes the API server refuse, so this is short. */
  intervalMs: MINUTE,
  intervalMinMs: 10_000,
  intervalMaxMs: 6 * HOUR,
  /** Each wait is longer or shorter by up to this part, so that replicas do not move together. */
  jitter: 0.1,
  passTimeoutMs: 2 * MINUTE,
  backoffMinMs: 5_000,
  backoffMaxMs: 5 * MINUTE,
  servingValidityMs: 2160 * HOUR,
  servingValidityMinMs: HOUR,
  servingValidityMaxMs: 8760 * HOUR,
  servingRenewBeforeMs: 720 * HOUR,
  caValidityMs: 26_280 * HOUR,
  caValidityMaxMs: 87_600 * HOUR,
  /** From the new authority being trusted everywhere to the first certificate it signs. */
  switchDelayMs: HOUR,
  /** From the first certificate of the new authority to the old one being trusted no more. */
  retireDelayMs: HOUR,
  delayMinMs: MINUTE,
  /** Certificates start this much in the past, for clocks that are behind. */
  skewMs: 5 * MINUTE,
  /** Steps of one pass; a whole bootstrap takes 4, a whole rotation 6. */
  stepsMax: 16,
  dnsNamesMax: 16,
  /** Entries of one admission configuration that are looked at. */
  entriesMax: 64,
} as const;
