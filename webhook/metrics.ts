import { Counter, Gauge, Histogram, Registry } from "prom-client";

const PREFIX = "ptah_operator_";

/** The webhook's metrics; names of the certificate's two are the reference's. */
export class WebhookMetrics {
  readonly registry = new Registry();
  readonly #expiry = new Gauge({
    name: `${PREFIX}webhook_certificate_expiry_timestamp_seconds`,
    help: "When the certificate being served ends, in seconds since 1970.",
    registers: [this.registry],
  });
  readonly #readFailures = new Counter({
    name: `${PREFIX}webhook_certificate_read_failures_total`,
    help: "How often the certificate's files could not be used.",
    registers: [this.registry],
  });
  readonly #reviews = new Histogram({
    name: `${PREFIX}admission_review_seconds`,
    help: "Seconds one admission review took, by rule and outcome.",
    labelNames: ["rule", "outcome"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [this.registry],
  });

  serving(notAfterMs: number): void {
    this.#expiry.set(notAfterMs / 1000);
  }

  certificateProblem(): void {
    this.#readFailures.inc();
  }

  reviewed(rule: string, outcome: string, seconds: number): void {
    this.#reviews.observe({ rule, outcome }, seconds);
  }
}
