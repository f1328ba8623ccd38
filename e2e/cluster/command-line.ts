/**
 * Runs a command of a person's and sets the exit status: its own, or 1 with one sentence where it throws; a stack trace would
 * say nothing to whoever typed it.
 */
export async function runAs(name: string, main: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await main();
  } catch (error) {
    process.stderr.write(`${name}: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
