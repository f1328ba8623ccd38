/** One certificate as far as rotation cares; times are Unix milliseconds. */
export interface CertificateFacts {
  readonly fingerprint: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** What is stored now. Everything here was read in this pass; nothing is remembered between passes. */
export interface RotationState {
  readonly authority: {
    /** Signs; absent also where the stored pair cannot be used. */
    readonly current?: CertificateFacts;
    /** Trusted already, signs next. */
    readonly next?: CertificateFacts;
    /** Trusted still, signs no more. */
    readonly previous?: CertificateFacts;
    readonly stagedAtMs?: number;
    readonly switchedAtMs?: number;
  };
  /** Absent also where certificate and key do not belong together. */
  readonly serving?: CertificateFacts & {
    readonly signedByCurrent: boolean;
    readonly names: readonly string[];
  };
  /** The authorities each admission entry of ours trusts, by fingerprint, in their order. */
  readonly bundles: readonly (readonly string[])[];
}

export interface RotationPolicy {
  readonly names: readonly string[];
  readonly renewBeforeMs: number;
  readonly authorityRenewBeforeMs: number;
  readonly switchDelayMs: number;
  readonly retireDelayMs: number;
}

export type Step =
  /** A first authority, or one in place of one that cannot be used any more. */
  | { readonly kind: "create-authority"; readonly why: "absent" | "expired" }
  /** Store the next authority beside the current one (expand). */
  | { readonly kind: "stage-authority" }
  /** The staged authority signs from now on, the current one stays trusted (switch). */
  | { readonly kind: "switch-authority"; readonly why: "delay-passed" | "current-unusable" }
  /** The previous authority is trusted no more (retire). */
  | { readonly kind: "retire-authority" }
  /** The recorded start of a delay lies in the future, the clock stepped back: count again from now. */
  | { readonly kind: "restart-delay"; readonly of: "switch" | "retire" }
  /** Make every admission entry of ours trust exactly these authorities. */
  | { readonly kind: "publish-bundle"; readonly fingerprints: readonly string[] }
  | { readonly kind: "issue-serving"; readonly why: "absent" | "expiring" | "names" | "authority" }
  | { readonly kind: "rest"; readonly untilMs: number };

/**
 * The next step of bootstrap or rotation. Each step is one conditional write and leads to a state this function knows,
 * so a stop after any of them is only another stored state. The order keeps two things true: no certificate is served
 * whose authority is not in every bundle, and no authority leaves a bundle while something it signed may be served.
 */
export function nextStep(state: RotationState, policy: RotationPolicy, nowMs: number): Step {
  const { current, next, previous } = state.authority;
  if (!usable(current, nowMs)) {
    if (usable(next, nowMs)) return { kind: "switch-authority", why: "current-unusable" };
    return { kind: "create-authority", why: current === undefined ? "absent" : "expired" };
  }
  const trusted = trustedAuthorities(state.authority);
  if (state.bundles.some((bundle) => !sameList(bundle, trusted))) {
    return { kind: "publish-bundle", fingerprints: trusted };
  }
  const reissue = whyReissue(state, policy, nowMs);
  if (reissue !== undefined) return { kind: "issue-serving", why: reissue };
  if (previous !== undefined) {
    const wait = waited(state.authority.switchedAtMs, policy.retireDelayMs, nowMs);
    if (wait === "stepped-back") return { kind: "restart-delay", of: "retire" };
    return wait === "passed" ? { kind: "retire-authority" } : rest(state, policy, wait);
  }
  if (next !== undefined) {
    const wait = waited(state.authority.stagedAtMs, policy.switchDelayMs, nowMs);
    if (wait === "stepped-back") return { kind: "restart-delay", of: "switch" };
    return wait === "passed" ? { kind: "switch-authority", why: "delay-passed" } : rest(state, policy, wait);
  }
  if (current.notAfterMs - nowMs <= policy.authorityRenewBeforeMs) return { kind: "stage-authority" };
  return rest(state, policy, Number.POSITIVE_INFINITY);
}

/** @returns the authorities that a bundle holds, in the order they are written. */
export function trustedAuthorities(authority: RotationState["authority"]): string[] {
  return [authority.current, authority.next, authority.previous].flatMap((one) =>
    one === undefined ? [] : [one.fingerprint],
  );
}

/** notBefore lies in the past by our own skew allowance; a clock that stepped back must not make a new authority. */
function usable(certificate: CertificateFacts | undefined, nowMs: number): certificate is CertificateFacts {
  return certificate !== undefined && certificate.notAfterMs > nowMs;
}

function whyReissue(
  state: RotationState,
  policy: RotationPolicy,
  nowMs: number,
): "absent" | "expiring" | "names" | "authority" | undefined {
  const serving = state.serving;
  if (serving === undefined) return "absent";
  if (!serving.signedByCurrent) return "authority";
  if (serving.notAfterMs - nowMs <= policy.renewBeforeMs && !cappedByAuthority(state, policy)) return "expiring";
  if (!sameList([...serving.names].sort(), [...policy.names].sort())) return "names";
  return undefined;
}

/** A certificate that ends with its authority cannot be made to last longer; the authority's own turn is under way. */
function cappedByAuthority(state: RotationState, policy: RotationPolicy): boolean {
  const { current } = state.authority;
  if (current === undefined || state.serving === undefined) return false;
  return state.serving.notAfterMs >= current.notAfterMs && policy.authorityRenewBeforeMs >= policy.renewBeforeMs;
}

function waited(sinceMs: number | undefined, delayMs: number, nowMs: number): "passed" | "stepped-back" | number {
  if (sinceMs === undefined || sinceMs > nowMs) return "stepped-back";
  return nowMs - sinceMs >= delayMs ? "passed" : sinceMs + delayMs;
}

function rest(state: RotationState, policy: RotationPolicy, atMs: number): Step {
  const renewAtMs = (state.serving?.notAfterMs ?? Number.POSITIVE_INFINITY) - policy.renewBeforeMs;
  const authorityAtMs =
    (state.authority.current?.notAfterMs ?? Number.POSITIVE_INFINITY) - policy.authorityRenewBeforeMs;
  return { kind: "rest", untilMs: Math.min(atMs, renewAtMs, authorityAtMs) };
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index]);
}
