/** Work of several kinds in one queue, a few at a time. */
export type Task = () => Promise<void>;

/** Begins the tasks in their order. @throws what the first failing one threw; those begun then are not waited for */
export async function sideBySide(tasks: readonly Task[], atOnce: number): Promise<void> {
  const waiting = [...tasks];
  const worker = async (): Promise<void> => {
    for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) await task();
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
