/** Says what is being done and how long it took; on standard error, so that standard output stays machine-readable. */
export interface Progress {
  step<T>(what: string, work: () => Promise<T>): Promise<T>;
  note(what: string): void;
}

export function createProgress(write: (line: string) => void = (line) => process.stderr.write(`${line}\n`)): Progress {
  const began = performance.now();
  const seconds = (from: number) => ((performance.now() - from) / 1000).toFixed(1).padStart(6);
  return {
    async step(what, work) {
      const from = performance.now();
      write(`[${seconds(began)} s] ${what} ...`);
      try {
        const result = await work();
        write(`[${seconds(began)} s] ${what}: ok, ${seconds(from).trim()} s`);
        return result;
      } catch (error) {
        write(`[${seconds(began)} s] ${what}: failed after ${seconds(from).trim()} s`);
        throw error;
      }
    },
    note(what) {
      write(`[${seconds(began)} s] ${what}`);
    },
  };
}
