import { expect, test } from "bun:test";
import { storedContractVersions } from "./contract.ts";
import { annotation } from "./names.ts";

const highest = (spec: unknown, status?: unknown, mirror?: string): number =>
  Math.max(
    ...storedContractVersions({
      metadata: mirror === undefined ? {} : { annotations: { [annotation.unsettledApply]: mirror } },
      spec,
      status,
    }),
  );

test("the highest version that a spec, a binding or a mirror names is found", () => {
  expect(highest({ controllerStateVersion: 2 })).toBe(2);
  expect(highest({}, { executionBinding: { controllerStateVersion: 3 } })).toBe(3);
  expect(highest({ controllerStateVersion: 1 }, {}, '{"version":4}')).toBe(4);
});

test("a plan of an unknown plan contract is beyond every version", () => {
  expect(highest({ controllerStateVersion: 1, contractVersion: 2 })).toBe(1);
  expect(highest({ controllerStateVersion: 1, contractVersion: 3 })).toBe(Number.MAX_SAFE_INTEGER);
});

test("what is absent or cannot be read is no version, and hides none of the others", () => {
  expect(highest(undefined)).toBe(0);
  expect(highest("odd", { executionBinding: "odd" }, "{")).toBe(0);
  expect(highest({ controllerStateVersion: "two" }, { executionBinding: { controllerStateVersion: 2 } }, "[]")).toBe(2);
});
