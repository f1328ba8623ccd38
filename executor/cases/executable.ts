import { join } from "node:path";
import { ROOT } from "./paths.ts";

/** Names the compiled executable to tests that start the product as a process of its own. */
export const EXECUTABLE_VARIABLE = "PTAH_TEST_EXECUTABLE";

const named = process.env[EXECUTABLE_VARIABLE];

/**
 * The words that start the product in a test: the compiled executable where `make cases`, which builds it first, names it (it
 * starts in half the processor time), else the sources, which cannot be older than what was just edited.
 */
export const PTAH: readonly [command: string, ...first: string[]] =
  named === undefined ? [process.execPath, join(ROOT, "main.ts")] : [named];

/** A shell script that is the product, for what asks for one file. */
export const PTAH_SCRIPT = `#!/bin/sh\nexec ${PTAH.map((word) => `'${word}'`).join(" ")} "$@"\n`;
