/** Named bounds of the webhook. */
export const limits = {
  /** The largest AdmissionReview: two copies of the largest object an API server stores (1.5 MiB), and room. */
  bodySizeBytes: 8 * 1024 * 1024,
  /** One uncached read; the API server gives the whole review five seconds. */
  readTimeoutMs: 3_000,
  groupCount: 64,
  identityLength: 1024,
  /** How far apart this clock and the stamp's may be. */
  clockSkewMs: 5 * 60_000,
  messageLength: 1024,
  /** How often the certificate's files are looked at. */
  certificateIntervalMs: 5_000,
  /** How long a listener whose certificate was replaced goes on, asking each client to connect anew. */
  retireMs: 2_000,
  /** How long requests of the old listener may take to end after the certificate was swapped. */
  drainMs: 10_000,
  drainStepMs: 20,
  /** From SIGTERM to closing the listener: endpoints and kube-proxy need that long to send nothing new. */
  lameDuckMs: 5_000,
} as const;
