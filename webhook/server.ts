import { type CertificateReading, readCertificate } from "./certificate.ts";
import { limits } from "./limits.ts";
import type { TlsListener } from "./listener.bun.ts";

/** What keeps the listener's certificate the one in the files. */
export interface CertificatePorts {
  readonly directory: string;
  readonly listener: Pick<TlsListener, "use">;
  readonly nowMs: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Told of a certificate that is served from now on. */
  readonly serving: (notAfterMs: number) => void;
  readonly problem: (sentence: string) => void;
}

/** Follows the certificate's files and says whether what is served can be used. */
export class CertificateKeeper {
  readonly #ports: CertificatePorts;
  #served: { readonly certificate: string; readonly key: string; readonly notAfterMs: number } | undefined;
  #problem = "there is no certificate yet";

  constructor(ports: CertificatePorts) {
    this.#ports = ports;
  }

  /** Why no request can be answered now, or undefined. */
  notReady(): string | undefined {
    if (this.#served === undefined) return `not listening: ${this.#problem}`;
    return this.#served.notAfterMs <= this.#ports.nowMs() ? "the serving certificate has expired" : undefined;
  }

  /** Looks at the files once. A problem leaves the certificate being served as it is. */
  async look(): Promise<void> {
    const reading: CertificateReading = await readCertificate(this.#ports.directory);
    if ("problem" in reading) {
      this.#report(reading.problem);
      return;
    }
    const { certificate, key, notAfterMs } = reading.serving;
    if (this.#served?.certificate === certificate && this.#served.key === key) return;
    try {
      this.#ports.listener.use({ certificate, key });
    } catch (error) {
      this.#report(`the listener could not start: ${error instanceof Error ? error.message : "unknown"}`);
      return;
    }
    this.#served = { certificate, key, notAfterMs };
    this.#ports.serving(notAfterMs);
  }

  /** Looks again and again until the signal fires. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look();
      await this.#ports.sleep(limits.certificateIntervalMs, signal);
    }
  }

  #report(problem: string): void {
    this.#problem = problem;
    this.#ports.problem(problem);
  }
}
